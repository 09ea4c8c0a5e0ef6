// Starts and joins THREADS brief threads, at most 8 at one time. Each allocates a block of 100 bytes and frees it,
// takes a lock, and exchanges a block of 200 bytes for the one that the thread before it in its slot has left. With a
// second argument, each takes the lock so often instead, and allocates nothing.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int slots = 8;
pthread_mutex_t common = PTHREAD_MUTEX_INITIALIZER;
void* left[slots] = {};

[[gnu::noinline]] void* make_own() { return std::malloc(100); }
[[gnu::noinline]] void* make_left() { return std::malloc(200); }
[[gnu::noinline]] void take_common() {
  pthread_mutex_lock(&common);
  pthread_mutex_unlock(&common);
}

int acquisitions = 0;

void* lock_only(void*) {
  for (int left_acquisitions = acquisitions; left_acquisitions > 0; --left_acquisitions) take_common();
  return nullptr;
}

void* work(void* slot) {
  void* volatile block = make_own();
  std::free(block);
  take_common();
  std::free(*static_cast<void**>(slot));
  *static_cast<void**>(slot) = make_left();
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 && count != 3) return 2;
  const int threads = std::atoi(arguments[1]);
  if (count == 3) acquisitions = std::atoi(arguments[2]);
  pthread_t running[slots];
  for (int started = 0; started < threads; ++started) {
    if (started >= slots && pthread_join(running[started % slots], nullptr) != 0) return 3;
    if (pthread_create(&running[started % slots], nullptr, count == 3 ? lock_only : work, &left[started % slots]) != 0)
      return 3;
  }
  for (pthread_t thread : running) pthread_join(thread, nullptr);
  for (void* block : left) std::free(block);
  std::puts("done");
}
