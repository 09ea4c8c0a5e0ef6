// Holds locks in unusual ways:
//   holds handed ROUNDS     locks are released by another thread than the one that acquired them
//   holds nested ROUNDS     a recursive lock, inside of another lock
//   holds reused            a mutex, and at its address a reader-writer lock
//   holds many COUNT        so many locks at once
//   holds crowd COUNT       so many locks, one after the other
//   holds deep              one lock in a deep recursion
//   holds signals COUNT     a signal's handler takes a lock, in a thread that takes another one all the time
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <thread>

namespace {

constexpr int max_locks = 100;
pthread_mutex_t handed[max_locks], several[max_locks], later = PTHREAD_MUTEX_INITIALIZER;
std::atomic<int> acquired = 0, released = 0;

[[gnu::noinline]] void take_handed(int number) { pthread_mutex_lock(&handed[number]); }
[[gnu::noinline]] void take_later() { pthread_mutex_lock(&later); }

void release_handed(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    while (acquired != round + 1) std::this_thread::yield();
    pthread_mutex_unlock(&handed[round]);
    released = round + 1;
  }
  take_later();
  take_handed(0);
  pthread_mutex_unlock(&handed[0]);
  pthread_mutex_unlock(&later);
}

void hand_over(int rounds) {
  for (int number = 0; number < rounds; ++number) pthread_mutex_init(&handed[number], nullptr);
  std::thread releasing(release_handed, rounds);
  for (int round = 0; round < rounds; ++round) {
    take_handed(round);
    acquired = round + 1;
    while (released != round + 1) std::this_thread::yield();
  }
  releasing.join();
  for (int round = 0; round < rounds; ++round) {
    take_later();
    pthread_mutex_unlock(&later);
  }
}

std::recursive_mutex inner;
std::mutex outer;
[[gnu::noinline]] void take_inner(int depth) {
  const std::lock_guard lock(inner);
  if (depth > 0) return take_inner(depth - 1);
  usleep(2000);
}
[[gnu::noinline]] void nest(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const std::lock_guard lock(outer);
    take_inner(3);
  }
}

alignas(64) unsigned char storage[128];
[[gnu::noinline]] void use_mutex() {
  auto* const lock = new (storage) std::mutex;
  lock->lock();
  lock->unlock();
  lock->~mutex();
}
[[gnu::noinline]] void use_shared_mutex() {
  std::memset(storage, 0, sizeof storage);
  auto* const lock = new (storage) std::shared_mutex;
  lock->lock_shared();
  lock->unlock_shared();
  lock->~shared_mutex();
}

[[gnu::noinline]] void take_many(int count) {
  for (int number = 0; number < count; ++number) pthread_mutex_lock(&several[number]);
  for (int number = count; number-- > 0;) pthread_mutex_unlock(&several[number]);
}

[[gnu::noinline]] void take_crowd(int count) {
  auto* const crowd =
      static_cast<pthread_mutex_t*>(std::calloc(static_cast<std::size_t>(count), sizeof(pthread_mutex_t)));
  for (int number = 0; number < 2 * count; ++number) {
    pthread_mutex_lock(&crowd[number % count]);
    pthread_mutex_unlock(&crowd[number % count]);
  }
  std::free(crowd);
}

pthread_mutex_t of_handler = PTHREAD_MUTEX_INITIALIZER, of_thread = PTHREAD_MUTEX_INITIALIZER;
std::atomic<int> handled = 0;
[[gnu::noinline]] void take_in_handler() {
  pthread_mutex_lock(&of_handler);
  pthread_mutex_unlock(&of_handler);
}
void handle(int) {
  take_in_handler();
  ++handled;
}
void take_signals(int count) {
  struct sigaction action = {};
  action.sa_handler = handle;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often = {{0, 40}, {0, 40}}, never = {};
  setitimer(ITIMER_REAL, &often, nullptr);
  while (handled < count) {
    pthread_mutex_lock(&of_thread);
    pthread_mutex_unlock(&of_thread);
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  std::printf("%d signals\n", handled.load());
}

}  // namespace

int main(int count_of_arguments, char** arguments) {
  if (count_of_arguments < 2) return 2;
  const char* const mode = arguments[1];
  const int count = count_of_arguments == 3 ? std::atoi(arguments[2]) : 0;
  if (std::strcmp(mode, "handed") == 0) hand_over(count);
  if (std::strcmp(mode, "nested") == 0) nest(count);
  if (std::strcmp(mode, "many") == 0) take_many(count);
  if (std::strcmp(mode, "crowd") == 0) take_crowd(count);
  if (std::strcmp(mode, "deep") == 0) take_inner(100);
  if (std::strcmp(mode, "signals") == 0) take_signals(count);
  if (std::strcmp(mode, "reused") == 0) {
    use_mutex();
    use_shared_mutex();
  }
  std::puts("done");
}
