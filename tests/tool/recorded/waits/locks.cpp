// Uses locks of every kind with known counts, for `tarn report` to find:
//   locks ROUNDS            all kinds
//   locks samples ROUNDS    some of them so often that the recorder samples them
//   locks crowd ROUNDS      four threads that take one lock all the time, so that many wait
//   locks tries ROUNDS      locks of every kind that two threads try until they have them
//   locks permits ROUNDS    four threads that share the one permit of a std::counting_semaphore
//   locks herd ROUNDS       twenty threads that are all woken for each item that one of them takes
//   locks heir ROUNDS       the same, and one of them is woken
//   locks kept ROUNDS       a lock that three threads wait for, and one more that gives up, until the program ends
//   locks convoy ROUNDS     threads that wait one behind the other, all because of the first holder
//   locks queue ROUNDS      a hundred threads that wait for one holder
//   locks foreign ROUNDS    a lock that a child process holds
//   locks stopped ROUNDS    a thread that does not run when the lock for which it waits is released
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <semaphore>
#include <shared_mutex>
#include <thread>

#define CHECK(condition)                                           \
  do {                                                             \
    if (!(condition)) {                                            \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      std::_Exit(9);                                               \
    }                                                              \
  } while (0)

namespace {

int rounds = 0;

[[gnu::noinline]] void of_one_thread() {
  static pthread_mutex_t uncontended = PTHREAD_MUTEX_INITIALIZER;
  for (int round = 0; round < rounds; ++round) {
    CHECK(pthread_mutex_lock(&uncontended) == 0);
    CHECK(pthread_mutex_unlock(&uncontended) == 0);
  }
}

std::mutex common;
[[gnu::noinline]] void by_turns() {
  for (int round = 0; round < rounds; ++round) {
    const std::lock_guard lock(common);
  }
}

std::mutex contended_mutex;
std::atomic<int> holding = 0, waiting = 0, finished = 0;
[[gnu::noinline]] void hold_it(int round) {
  while (finished != round - 1) std::this_thread::yield();
  const std::lock_guard lock(contended_mutex);
  holding = round;
  while (waiting != round) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}
[[gnu::noinline]] void wait_for_it(int round) {
  while (holding != round) std::this_thread::yield();
  waiting = round;
  const std::lock_guard lock(contended_mutex);
  finished = round;
}

pthread_mutex_t of_kind(int kind, int robust) {
  pthread_mutexattr_t attributes;
  pthread_mutex_t mutex;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, kind);
  pthread_mutexattr_setrobust(&attributes, robust);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  CHECK(pthread_mutex_init(&mutex, &attributes) == 0);
  return mutex;
}

[[gnu::noinline]] void kinds() {
  static pthread_mutex_t recursive = of_kind(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
  static pthread_mutex_t checking = of_kind(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
  static pthread_mutex_t robust = of_kind(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
  for (int round = 0; round < rounds; ++round) {
    CHECK(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_lock(&recursive) == 0);
    CHECK(pthread_mutex_trylock(&recursive) == 0);
    for (int depth = 0; depth < 3; ++depth) CHECK(pthread_mutex_unlock(&recursive) == 0);
    CHECK(pthread_mutex_unlock(&recursive) == EPERM);
    CHECK(pthread_mutex_lock(&checking) == 0);
    CHECK(pthread_mutex_lock(&checking) == EDEADLK && pthread_mutex_trylock(&checking) == EBUSY);
    CHECK(pthread_mutex_unlock(&checking) == 0);
  }
  std::thread([] { CHECK(pthread_mutex_lock(&robust) == 0); }).join();  // dies with it
  CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD);
  CHECK(pthread_mutex_consistent(&robust) == 0 && pthread_mutex_unlock(&robust) == 0);
  std::thread([] { CHECK(pthread_mutex_lock(&robust) == 0); }).join();
  CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD && pthread_mutex_unlock(&robust) == 0);
  CHECK(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
}

[[gnu::noinline]] void readers_and_writers() {
  static std::shared_mutex table;
  for (int round = 0; round < rounds; ++round) {
    {
      const std::shared_lock reads(table);
      const std::shared_lock second_read(table);
      CHECK(!table.try_lock());
    }
    const std::unique_lock writes(table);
  }
}

[[gnu::noinline]] void spins() {
  static pthread_spinlock_t spin;
  CHECK(pthread_spin_init(&spin, 0) == 0);
  for (int round = 0; round < rounds; ++round) {
    CHECK(pthread_spin_lock(&spin) == 0 && pthread_spin_trylock(&spin) == EBUSY && pthread_spin_unlock(&spin) == 0);
  }
  CHECK(pthread_spin_destroy(&spin) == 0);
}

[[gnu::noinline]] void c11() {
  static mtx_t lock;
  CHECK(mtx_init(&lock, mtx_timed) == thrd_success);
  const timespec past{0, 0};
  for (int round = 0; round < rounds; ++round) {
    CHECK(mtx_lock(&lock) == thrd_success && mtx_trylock(&lock) == thrd_busy);
    CHECK(mtx_timedlock(&lock, &past) == thrd_timedout && mtx_unlock(&lock) == thrd_success);
  }
  mtx_destroy(&lock);
}

[[gnu::noinline]] void short_lived() {
  for (int round = 0; round < rounds; ++round) {
    alignas(pthread_mutex_t) static char storage[sizeof(pthread_mutex_t)];
    auto* const mutex = new (storage) pthread_mutex_t;
    CHECK(pthread_mutex_init(mutex, nullptr) == 0);
    CHECK(pthread_mutex_lock(mutex) == 0 && pthread_mutex_unlock(mutex) == 0 && pthread_mutex_destroy(mutex) == 0);
  }
}

pthread_mutex_t at_one_place;
[[gnu::noinline]] void first_tenant() {
  CHECK(pthread_mutex_init(&at_one_place, nullptr) == 0 && pthread_mutex_lock(&at_one_place) == 0);
  CHECK(pthread_mutex_unlock(&at_one_place) == 0 && pthread_mutex_destroy(&at_one_place) == 0);
}
[[gnu::noinline]] void second_tenant() {
  CHECK(pthread_mutex_init(&at_one_place, nullptr) == 0);
  for (int round = 0; round < rounds; ++round) {
    CHECK(pthread_mutex_lock(&at_one_place) == 0 && pthread_mutex_unlock(&at_one_place) == 0);
  }
  CHECK(pthread_mutex_destroy(&at_one_place) == 0);
}

std::mutex turn_lock;
std::condition_variable turn_changed;
int turn = 0;
[[gnu::noinline]] void take_turns(int own_turn) {
  for (int round = 0; round < rounds; ++round) {
    std::unique_lock lock(turn_lock);
    turn_changed.wait(lock, [own_turn] { return turn == own_turn; });
    turn = 1 - own_turn;
    turn_changed.notify_one();
  }
}

pthread_mutex_t cancel_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
void* cancelled(void* ready) {
  pthread_mutex_lock(&cancel_lock);
  pthread_cleanup_push([](void* lock) { pthread_mutex_unlock(static_cast<pthread_mutex_t*>(lock)); }, &cancel_lock);
  sem_post(static_cast<sem_t*>(ready));
  for (;;) pthread_cond_wait(&never, &cancel_lock);
  pthread_cleanup_pop(0);
}
[[gnu::noinline]] void cancels() {
  sem_t ready;
  sem_init(&ready, 0, 0);
  pthread_t waits;
  void* result;
  CHECK(pthread_create(&waits, nullptr, cancelled, &ready) == 0);
  sem_wait(&ready);
  CHECK(pthread_mutex_lock(&cancel_lock) == 0 && pthread_mutex_unlock(&cancel_lock) == 0);  // it waits now
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(pthread_cancel(waits) == 0 && pthread_join(waits, &result) == 0 && result == PTHREAD_CANCELED);
  CHECK(pthread_mutex_trylock(&cancel_lock) == 0 && pthread_mutex_unlock(&cancel_lock) == 0);
  timespec past{0, 0};
  CHECK(pthread_mutex_lock(&cancel_lock) == 0);
  CHECK(pthread_cond_timedwait(&never, &cancel_lock, &past) == ETIMEDOUT);
  CHECK(pthread_mutex_unlock(&cancel_lock) == 0);
}

[[gnu::noinline]] void held_around() {
  static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
  for (int round = 0; round < rounds; ++round) {
    CHECK(pthread_mutex_lock(&outer) == 0);
    CHECK(pthread_mutex_lock(&inner) == 0);
    CHECK(pthread_mutex_unlock(&inner) == 0);
    CHECK(pthread_mutex_unlock(&outer) == 0);
  }
}

[[gnu::noinline]] void tries_in_vain() {
  static pthread_mutex_t busy_mutex = PTHREAD_MUTEX_INITIALIZER;
  CHECK(pthread_mutex_lock(&busy_mutex) == 0);
  for (int round = 0; round < rounds; ++round) CHECK(pthread_mutex_trylock(&busy_mutex) == EBUSY);
  CHECK(pthread_mutex_unlock(&busy_mutex) == 0);
}

// Takes the locks in another order than they are released.
[[gnu::noinline]] void hand_over_hand() {
  static pthread_mutex_t chain[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
  CHECK(pthread_mutex_lock(&chain[0]) == 0);
  for (int round = 0; round < rounds; ++round) {
    CHECK(pthread_mutex_lock(&chain[(round + 1) % 3]) == 0);
    CHECK(pthread_mutex_unlock(&chain[round % 3]) == 0);
  }
  CHECK(pthread_mutex_unlock(&chain[rounds % 3]) == 0);
}

pthread_mutex_t seldom_shared = PTHREAD_MUTEX_INITIALIZER;
[[gnu::noinline]] void takes_it_often() {
  for (int round = 0; round < rounds; ++round) {
    CHECK(pthread_mutex_lock(&seldom_shared) == 0 && pthread_mutex_unlock(&seldom_shared) == 0);
  }
}
[[gnu::noinline]] void takes_it_once() {
  CHECK(pthread_mutex_lock(&seldom_shared) == 0 && pthread_mutex_unlock(&seldom_shared) == 0);
}

void hold_and_wait() {
  std::thread waiter([] {
    for (int round = 1; round <= 20; ++round) wait_for_it(round);
  });
  for (int round = 1; round <= 20; ++round) hold_it(round);
  waiter.join();
}

int take_samples() {
  of_one_thread();
  held_around();
  tries_in_vain();
  hand_over_hand();
  takes_it_often();
  std::thread(takes_it_once).join();
  hold_and_wait();
  return 5;
}

struct tried_mutex : std::mutex {};
struct tried_writer : std::shared_mutex {};
struct tried_reader : std::shared_mutex {  // the other thread writes
  std::atomic<int> threads = 0;
  bool try_lock() { return is_writer() ? std::shared_mutex::try_lock() : try_lock_shared(); }
  void unlock() { is_writer() ? std::shared_mutex::unlock() : unlock_shared(); }
  bool is_writer() {
    thread_local const bool is_first = threads++ == 0;
    return is_first;
  }
};
struct tried_spin {
  pthread_spinlock_t lock;
  tried_spin() { CHECK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE) == 0); }
  bool try_lock() { return pthread_spin_trylock(&lock) == 0; }
  void unlock() { pthread_spin_unlock(&lock); }
};
struct tried_c11 {
  mtx_t lock;
  tried_c11() { CHECK(mtx_init(&lock, mtx_plain) == thrd_success); }
  bool try_lock() { return mtx_trylock(&lock) == thrd_success; }
  void unlock() { mtx_unlock(&lock); }
};
struct tried_semaphore {
  sem_t lock;
  tried_semaphore() { CHECK(sem_init(&lock, 0, 1) == 0); }
  bool try_lock() { return sem_trywait(&lock) == 0; }
  void unlock() { sem_post(&lock); }
};

template <class Lock>
[[gnu::noinline]] void tries_until_it_has(Lock& lock, std::atomic<long>& successes, std::atomic<long>& failures) {
  using namespace std::chrono;
  for (int round = 0; round < rounds; ++round) {
    for (; !lock.try_lock(); ++failures) std::this_thread::yield();
    const auto end = steady_clock::now() + nanoseconds(200);
    while (steady_clock::now() < end) continue;
    lock.unlock();
    ++successes;
  }
}
template <class Lock>
void try_in_turn(const char* name) {
  static Lock lock;
  std::atomic<long> successes = 0, failures = 0;
  std::thread helper([&] { tries_until_it_has(lock, successes, failures); });
  tries_until_it_has(lock, successes, failures);
  helper.join();
  std::fprintf(stderr, "%s: %ld, %ld in vain\n", name, successes.load(), failures.load());
}
int try_all_kinds() {
  try_in_turn<tried_mutex>("tried_mutex");
  try_in_turn<tried_writer>("tried_writer");
  try_in_turn<tried_reader>("tried_reader");
  try_in_turn<tried_spin>("tried_spin");
  try_in_turn<tried_c11>("tried_c11");
  try_in_turn<tried_semaphore>("tried_semaphore");
  return 5;
}

std::counting_semaphore<1> permit(1);
[[gnu::noinline]] void takes_the_permit() {
  for (int round = 0; round < rounds; ++round) {
    permit.acquire();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    permit.release();
  }
}
int share_a_permit() {
  std::thread threads[4];
  for (std::thread& thread : threads) thread = std::thread(takes_the_permit);
  for (std::thread& thread : threads) thread.join();
  return 5;
}

constexpr int herd_threads = 20;
std::mutex herd_mutex;
std::condition_variable herd_item;
int herd_waiting = 0, herd_woken = 0, herd_items = 0;
bool is_herd_over = false;
[[gnu::noinline]] void take_items() {
  std::unique_lock lock(herd_mutex);
  for (;;) {
    ++herd_waiting;
    herd_item.wait(lock);
    --herd_waiting;
    ++herd_woken;
    if (is_herd_over) return;
    if (herd_items == 0) continue;
    --herd_items;
    lock.unlock();
    lock.lock();
  }
}
int feed_a_herd(bool wakes_all) {
  std::thread threads[herd_threads];
  for (std::thread& thread : threads) thread = std::thread(take_items);
  const int woken_in_round = wakes_all ? herd_threads : 1;
  for (int round = 0; round <= rounds; ++round) {
    std::unique_lock lock(herd_mutex);
    for (; herd_waiting != herd_threads || herd_woken < round * woken_in_round; lock.lock()) {
      lock.unlock();
      std::this_thread::yield();
    }
    is_herd_over = round == rounds;
    ++herd_items;
    wakes_all || is_herd_over ? herd_item.notify_all() : herd_item.notify_one();
  }
  for (std::thread& thread : threads) thread.join();
  return 5;
}

std::mutex crowd_mutex;
long crowd_count = 0;
[[gnu::noinline]] void push_in() {
  for (int round = 0; round < rounds; ++round) {
    const std::lock_guard lock(crowd_mutex);
    ++crowd_count;
  }
}
int form_a_crowd() {
  std::thread crowd[4];
  for (std::thread& member : crowd) member = std::thread(push_in);
  for (std::thread& member : crowd) member.join();
  CHECK(crowd_count == 4L * rounds);
  return 5;
}

std::mutex kept_mutex;
std::timed_mutex timed_mutex;
[[gnu::noinline]] void wants_what_is_kept() { const std::lock_guard lock(kept_mutex); }
[[gnu::noinline]] void gives_up() { CHECK(!timed_mutex.try_lock_for(std::chrono::milliseconds(100))); }
[[noreturn, gnu::noinline]] void keeps_both() {
  kept_mutex.lock();
  timed_mutex.lock();
  for (int number = 0; number < 3; ++number) std::thread(wants_what_is_kept).detach();
  std::thread(gives_up).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  _exit(5);
}

std::mutex convoy_mutex;
std::atomic<bool> is_held_slowly = false;
[[gnu::noinline]] void holds_slowly() {
  const std::lock_guard lock(convoy_mutex);
  is_held_slowly = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}
[[gnu::noinline]] void holds_quickly() { const std::lock_guard lock(convoy_mutex); }
[[gnu::noinline]] void comes_first() {
  holds_quickly();
  asm volatile("");  // else the call is a jump, and this function is not on the stack
}
[[gnu::noinline]] void comes_later() {
  holds_quickly();
  asm volatile("");
}
[[gnu::noinline]] void wait_in_a_convoy() {
  std::thread slow(holds_slowly);
  while (!is_held_slowly) std::this_thread::yield();
  std::thread quick[4];
  for (std::thread& thread : quick) thread = std::thread(&thread == quick ? comes_first : comes_later);
  for (std::thread& thread : quick) thread.join();
  slow.join();
}

constexpr int queue_length = 100;
std::mutex queue_mutex;
std::atomic<int> arrived = 0;
[[gnu::noinline]] void stands_in_line() {
  ++arrived;
  const std::lock_guard lock(queue_mutex);
}
[[gnu::noinline]] void keeps_all_waiting(std::thread (&queue)[queue_length]) {
  const std::lock_guard lock(queue_mutex);
  for (std::thread& thread : queue) thread = std::thread(stands_in_line);
  while (arrived != queue_length) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

int wait_in_line() {
  std::thread queue[queue_length];
  keeps_all_waiting(queue);
  for (std::thread& thread : queue) thread.join();
  return 5;
}

struct shared_memory {
  pthread_mutex_t mutex;
  std::atomic<bool> is_held;
};
[[gnu::noinline]] void waits_for_a_process(shared_memory& memory) {
  CHECK(pthread_mutex_lock(&memory.mutex) == 0);
  CHECK(pthread_mutex_unlock(&memory.mutex) == 0);
}
int share_with_a_child() {
  void* const mapping = mmap(nullptr, sizeof(shared_memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(mapping != MAP_FAILED);
  auto& memory = *new (mapping) shared_memory{};
  pthread_mutexattr_t settings;
  CHECK(pthread_mutexattr_init(&settings) == 0);
  CHECK(pthread_mutexattr_setpshared(&settings, PTHREAD_PROCESS_SHARED) == 0);
  CHECK(pthread_mutex_init(&memory.mutex, &settings) == 0);
  // Without a wait: this thread is known to have held it, and then another one.
  waits_for_a_process(memory);
  std::thread([&] { waits_for_a_process(memory); }).join();
  const pid_t child = fork();
  if (child == 0) {
    pthread_mutex_lock(&memory.mutex);
    memory.is_held = true;
    usleep(200'000);
    pthread_mutex_unlock(&memory.mutex);
    _exit(0);
  }
  while (!memory.is_held) usleep(1000);
  waits_for_a_process(memory);
  CHECK(waitpid(child, nullptr, 0) == child);
  return 5;
}

std::atomic<int> stops = 0, waiter_id = 0;

// Returns whether a thread sleeps in the kernel.
bool is_asleep(int thread) {
  char path[64], state = '?';
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  std::FILE* const file = std::fopen(path, "re");
  CHECK(file != nullptr);
  CHECK(std::fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
  std::fclose(file);
  return state == 'S';
}

// In each round the waiting thread is in a signal handler for a tenth of a second after the lock was released, as if it
// had no processor.
[[gnu::noinline]] void wait_without_running() {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  struct sigaction action = {};
  action.sa_handler = [](int) {
    stops.fetch_add(1);
    timespec tenth = {0, 100'000'000};
    nanosleep(&tenth, nullptr);
  };
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
  for (int round = 0; round < rounds; ++round) {
    CHECK(pthread_mutex_lock(&lock) == 0);
    std::thread waiter([] {
      waiter_id.store(gettid());
      CHECK(pthread_mutex_lock(&lock) == 0);
      CHECK(pthread_mutex_unlock(&lock) == 0);
    });
    while (waiter_id.load() == 0 || !is_asleep(waiter_id.load())) std::this_thread::yield();
    waiter_id.store(0);
    CHECK(pthread_kill(waiter.native_handle(), SIGUSR1) == 0);
    while (stops.load() <= round) std::this_thread::yield();
    CHECK(pthread_mutex_unlock(&lock) == 0);
    waiter.join();
  }
}

}  // namespace

int main(int count, char** arguments) {
  rounds = std::atoi(arguments[count - 1]);
  if (count > 2 && std::strcmp(arguments[1], "kept") == 0) keeps_both();
  if (count > 2 && std::strcmp(arguments[1], "convoy") == 0) {
    for (int round = 0; round < rounds; ++round) takes_it_once();  // then samples are taken
    wait_in_a_convoy();
    return 5;
  }
  if (count > 2 && std::strcmp(arguments[1], "samples") == 0) return take_samples();
  if (count > 2 && std::strcmp(arguments[1], "crowd") == 0) return form_a_crowd();
  if (count > 2 && std::strcmp(arguments[1], "tries") == 0) return try_all_kinds();
  if (count > 2 && std::strcmp(arguments[1], "permits") == 0) return share_a_permit();
  if (count > 2 && std::strcmp(arguments[1], "herd") == 0) return feed_a_herd(true);
  if (count > 2 && std::strcmp(arguments[1], "heir") == 0) return feed_a_herd(false);
  if (count > 2 && std::strcmp(arguments[1], "queue") == 0) return wait_in_line();
  if (count > 2 && std::strcmp(arguments[1], "foreign") == 0) return share_with_a_child();
  if (count > 2 && std::strcmp(arguments[1], "stopped") == 0) {
    wait_without_running();
    return 5;
  }
  of_one_thread();
  std::thread(by_turns).join();
  by_turns();
  hold_and_wait();
  kinds();
  readers_and_writers();
  spins();
  c11();
  short_lived();
  first_tenant();
  second_tenant();
  std::thread partner(take_turns, 1);
  take_turns(0);
  partner.join();
  cancels();
  return 5;
}
