#include "actors.hpp"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>

namespace soak {

std::atomic<header*> slots[slot_count];
std::atomic<bool> is_over{false};
events event_counts;

namespace {

constexpr std::size_t worker_count = lane_count;
constexpr std::size_t max_actors = worker_count + 8;
constexpr std::size_t stack_bytes = 128 << 10;
constexpr unsigned hang_seconds = 300;

pthread_t actors[max_actors];
std::size_t actor_count = 0;
std::atomic<bool> must_rest{false};
std::atomic<std::size_t> resting{0};
pthread_key_t key;
timer_t timer;
bool has_timer = false;

void rest_if_asked() noexcept {
  if (!must_rest.load(std::memory_order_acquire)) return;
  resting.fetch_add(1, std::memory_order_acq_rel);
  while (must_rest.load(std::memory_order_acquire)) usleep(1000);
  resting.fetch_sub(1, std::memory_order_acq_rel);
}

bool goes_on() noexcept {
  rest_if_asked();
  return !is_over.load(std::memory_order_relaxed);
}

// Starts a thread with a small stack. False: the system refuses it.
bool start_thread(pthread_t& thread, void* (*function)(void*), void* argument) noexcept {
  pthread_attr_t attributes;
  require(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, stack_bytes) == 0, "attr\n");
  const bool is_started = pthread_create(&thread, &attributes, function, argument) == 0;
  pthread_attr_destroy(&attributes);
  require(is_started || is_scarce, "a thread does not start\n");
  event_counts.threads.fetch_add(is_started, std::memory_order_relaxed);
  return is_started;
}

void* number_argument(std::size_t number) noexcept { return reinterpret_cast<void*>(number); }
std::size_t number_of(void* argument) noexcept { return reinterpret_cast<std::size_t>(argument); }

// -------------------------------------------------------------- a thread's end

// Destructors of keys run in up to four rounds, and the last ones after the heap of the thread has gone.
void end_key(void* value) {
  thread_local int rounds = 0;
  random dice(reinterpret_cast<std::uintptr_t>(value));
  void* const before = std::malloc(dice.next_below(3000));
  end_block(dice, static_cast<header*>(value));
  if (++rounds < 4 && dice.next_below(2) == 0) pthread_setspecific(key, make_block(dice));
  std::free(before);
}

struct thread_object {
  header* block = nullptr;
  ~thread_object() {
    random dice(77);
    end_block(dice, block);
    end_block(dice, make_block(dice));
  }
};
thread_local thread_object object;

// -------------------------------------------------------------- actors

void use_lane(random& dice, std::uint32_t number) noexcept {
  lane& own_lane = *lanes[number];
  for (int count = 0; count < 50; ++count) {
    header* const block = make_lane_block(dice, number);
    if (block == nullptr) break;
    check_block(block);
    if (dice.next_below(2) == 0) {
      end_block(dice, block);
    } else {  // goes with the release
      own_lane.abroad.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  // acquire: other threads' work on blocks of the heap is complete.
  if (own_lane.abroad.load(std::memory_order_acquire) == 0) {
    own_lane.heap.release();
    event_counts.releases.fetch_add(1, std::memory_order_relaxed);
  } else if (dice.next_below(8) == 0) {
    own_lane.heap.trim();
  }
}

void* run_worker(void* argument) {
  const auto number = static_cast<std::uint32_t>(number_of(argument) % lane_count);
  random dice(number_of(argument));
  while (goes_on()) {
    work(dice, 200);
    if (dice.next_below(8) == 0) {  // gives the others time to free the blocks abroad
      for (int count = 0; count < 20; ++count) {
        end_block(dice, slots[dice.next_below(slot_count)].exchange(make_lane_block(dice, number)));
      }
    }
    use_lane(dice, number);
    call_oddly(dice);
  }
  return nullptr;
}

// Stays until it is cancelled, which happens between two rounds: malloc and free are no cancellation points.
void* wait_for_cancel(void* argument) {
  random dice(number_of(argument));
  for (;;) {
    work(dice, 10);
    pthread_testcancel();
  }
}

void* visit(void* argument) {
  random dice(number_of(argument));
  if (!is_scarce) {  // glibc ends the process when it has no memory to note the destructor
    object.block = make_block(dice);
  }
  pthread_setspecific(key, make_block(dice));
  work(dice, static_cast<int>(dice.next_below(300)));
  if (dice.next_below(4) == 0) pthread_exit(nullptr);
  return nullptr;
}

// Threads start in bunches, leave blocks, take those of others, and end; some end by a cancellation.
void* run_visitors(void* argument) {
  random dice(number_of(argument));
  while (goes_on()) {
    pthread_t threads[12];
    std::size_t count = 0;
    for (std::size_t thread_count = 1 + dice.next_below(11); count < thread_count; ++count) {
      if (!start_thread(threads[count], visit, number_argument(dice.next_below(1 << 30)))) break;
    }
    pthread_t cancelled;
    if (start_thread(cancelled, wait_for_cancel, number_argument(dice.next_below(1 << 30)))) {
      usleep(static_cast<useconds_t>(dice.next_below(2000)));
      pthread_cancel(cancelled);
      void* result = nullptr;
      require(pthread_join(cancelled, &result) == 0 && result == PTHREAD_CANCELED, "a thread was not cancelled\n");
      event_counts.cancelled.fetch_add(1, std::memory_order_relaxed);
    }
    while (count != 0) require(pthread_join(threads[--count], nullptr) == 0, "join\n");
  }
  return nullptr;
}

constexpr std::size_t slept_on = 3000;
struct sleeping_blocks {
  header* blocks[slept_on];
  std::atomic<bool> are_there{false}, are_gone{false};
};

void* free_for_sleeper(void* argument) {
  auto& own_blocks = *static_cast<sleeping_blocks*>(argument);
  random dice(5);
  for (header* const block : own_blocks.blocks) end_block(dice, block);
  malloc_trim(0);
  return nullptr;
}

// The blocks of a thread come back while it sleeps, and others reclaim its memory.
void* run_sleeper(void* argument) {
  random dice(number_of(argument));
  static sleeping_blocks bed;
  while (goes_on()) {
    for (header*& block : bed.blocks) block = make_block(dice);
    pthread_t partner;
    if (start_thread(partner, free_for_sleeper, &bed)) {
      require(pthread_join(partner, nullptr) == 0, "join\n");
    } else {
      free_for_sleeper(&bed);
    }
    usleep(static_cast<useconds_t>(dice.next_below(60'000)));
    event_counts.sleeps.fetch_add(1, std::memory_order_relaxed);
  }
  return nullptr;
}

void* work_in_child(void* argument) {
  random dice(number_of(argument));
  work(dice, 200);
  return nullptr;
}

// The child has one thread, and every heap but its own stays as it was.
[[noreturn]] void be_child(random& dice, int generation) noexcept {
  alarm(hang_seconds);
  is_child = true;
  work(dice, 200);
  if (dice.next_below(3) == 0) empty_slots(dice);
  pthread_t thread;
  if (dice.next_below(3) == 0 && start_thread(thread, work_in_child, number_argument(dice.next_below(1 << 30)))) {
    require(pthread_join(thread, nullptr) == 0, "join\n");
  }
  if (generation < 3 && dice.next_below(4) == 0) {
    const pid_t child = fork();
    if (child == 0) be_child(dice, generation + 1);
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    require(child < 0 || status == 0, "a grandchild of a fork went wrong\n");
  }
  malloc_trim(0);
  _exit(0);
}

void* run_forker(void* argument) {
  random dice(number_of(argument));
  while (goes_on()) {
    work(dice, 100);
    const pid_t child = fork();
    require(child >= 0 || is_scarce, "fork fails\n");
    if (child == 0) be_child(dice, 0);
    int status = child > 0 ? -1 : 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    require(status == 0, "the child of a fork went wrong\n");
    event_counts.forks.fetch_add(child > 0, std::memory_order_relaxed);
    usleep(static_cast<useconds_t>(dice.next_below(20'000)));
  }
  return nullptr;
}

void* run_trimmer(void* argument) {
  random dice(number_of(argument));
  while (goes_on()) {
    malloc_trim(0);
    require(mallinfo2().arena != 0, "mallinfo2\n");
    usleep(static_cast<useconds_t>(dice.next_below(200'000)));
  }
  return nullptr;
}

void count_signal(int) noexcept { event_counts.signals.fetch_add(1, std::memory_order_relaxed); }

void start_timer() noexcept {
  struct sigaction action = {};
  action.sa_handler = count_signal;
  action.sa_flags = SA_RESTART;
  require(sigaction(SIGUSR1, &action, nullptr) == 0, "sigaction\n");
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  const itimerspec each_millisecond = {{0, 1'000'000}, {0, 1'000'000}};
  has_timer = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
  require(!has_timer || timer_settime(timer, 0, &each_millisecond, nullptr) == 0, "timer\n");
}

void start_actor(void* (*function)(void*), std::uint64_t seed) noexcept {
  if (start_thread(actors[actor_count], function, number_argument(seed))) ++actor_count;
}

void* exit_at_once(void*) { pthread_exit(nullptr); }

}  // namespace

void load_unwinder() {
  pthread_t thread;
  require(start_thread(thread, exit_at_once, nullptr) && pthread_join(thread, nullptr) == 0, "a first thread\n");
}

void work(random& dice, int steps) {
  for (int step = 0; step < steps; ++step) {
    header* const previous = slots[dice.next_below(slot_count)].exchange(make_block(dice), std::memory_order_acq_rel);
    end_block(dice, previous);
  }
  event_counts.operations.fetch_add(static_cast<std::uint64_t>(steps), std::memory_order_relaxed);
}

void empty_slots(random& dice) {
  for (auto& slot : slots) end_block(dice, slot.exchange(nullptr, std::memory_order_acq_rel));
}

void start_actors(const cast_options& options) {
  require(pthread_key_create(&key, end_key) == 0, "key\n");
  for (lane*& entry : lanes) {
    entry = new (std::nothrow) lane;
    require(entry != nullptr, "no memory for a heap object\n");
  }
  if (options.sends_signals) start_timer();
  for (std::uint64_t number = 0; number < worker_count; ++number) {
    start_actor(run_worker, lane_count * options.seed + number);
  }
  start_actor(run_visitors, options.seed);
  start_actor(run_visitors, options.seed + 1);
  start_actor(run_sleeper, options.seed);
  start_actor(run_trimmer, options.seed);
  if (options.may_fork) {
    start_actor(run_forker, options.seed);
    start_actor(run_forker, options.seed + 1);
  }
}

void inspect_at_rest(void (*inspect)()) {
  random dice(3);
  must_rest.store(true, std::memory_order_release);
  while (resting.load(std::memory_order_acquire) != actor_count) usleep(1000);
  empty_slots(dice);
  // Blocks that wait for the next release are as many as the owners' luck on a loaded machine, and say nothing.
  for (lane* const entry : lanes) {
    require(entry->abroad.load(std::memory_order_acquire) == 0, "a block of a heap object is lost\n");
    entry->heap.release();
  }
  inspect();
  must_rest.store(false, std::memory_order_release);
  while (resting.load(std::memory_order_acquire) != 0) usleep(1000);
}

void end_actors() {
  is_over = true;
  while (actor_count != 0) require(pthread_join(actors[--actor_count], nullptr) == 0, "join\n");
  if (has_timer) timer_delete(timer);
  random dice(9);
  empty_slots(dice);
  for (lane*& entry : lanes) {
    require(entry->abroad.load() == 0 && entry->heap.is_valid(), "a heap object is not whole\n");
    delete entry;
    entry = nullptr;
  }
}

}  // namespace soak
