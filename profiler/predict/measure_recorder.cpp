#include "profiler/predict/measure_recorder.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "profiler/format/clock.hpp"
#include "profiler/format/region.hpp"
#include "profiler/predict/pairs.hpp"

namespace tarn::command {
namespace {

constexpr int rounds = 5;

double process_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// The header of the region that this process counts in; null where it is not recorded.
const format::region_header* own_region() {
  const char* const path = std::getenv(format::region_variable);
  const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const start = ::mmap(nullptr, sizeof(format::region_header), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  return start == MAP_FAILED ? nullptr : static_cast<format::region_header*>(start);
}

// Returns the least time of an event over some rounds; other work on the machine only adds. `run` makes the events of
// a round and returns how many there were.
template <class Run>
double fastest_round_ns(const Run& run) {
  double best = -1;
  for (int round = 0; round < rounds; ++round) {
    const double before = thread_ns();
    const double events = run();
    const double each_ns = (thread_ns() - before) / std::max(events, 1.0);
    if (best < 0 || each_ns < best) best = each_ns;
  }
  return best;
}

void pairs_of_blocks(int pairs) {
  constexpr std::size_t bytes = 64;
  for (int pair = 0; pair < pairs; ++pair) {
    void* const block = std::malloc(bytes);
    touch(block);
    std::free(block);
  }
}

// A hook is a jump through a table after a count, as here (preload/functions/hooked_functions.S).
thread_local int steps_left = 0;
[[gnu::noinline]] void behind_hook() { asm volatile("" : : : "memory"); }
void (*volatile hooked)() = behind_hook;
[[gnu::noinline]] void hook() {
  if (--steps_left < 0) steps_left = 1 << 20;
  hooked();
}

// Reads the recorder's own counts of its work; they are 0 in a process that is not recorded.
class own_work {
 public:
  own_work() : header_(own_region()), first_tick_(format::ticks()), first_ns_(format::monotonic_nanoseconds()) {}
  double count(format::work_counter counter) const {
    return header_ == nullptr ? 0 : static_cast<double>(format::sum_of_work(*header_, counter));
  }
  double timed_ticks() const {
    double sum = count(format::lock_ticks);
    for (std::size_t counter = 0; counter < format::timed_counters; ++counter)
      sum += count(static_cast<format::work_counter>(counter));
    return sum;
  }
  // The result is exact when the object is some hundred microseconds old.
  double ns_per_tick() const {
    const auto passed_ns = static_cast<double>(format::monotonic_nanoseconds() - first_ns_);
    return passed_ns / static_cast<double>(std::max<std::uint64_t>(format::ticks() - first_tick_, 1));
  }
  bool counts_each() const { return header_ != nullptr && header_->interval == 0; }

 private:
  const format::region_header* header_;
  std::uint64_t first_tick_, first_ns_;
};

// Returns the median over some rounds of the CPU time of an event, without the work that the recorder times
// itself. Each round begins with memory that was used before, as in a program. `run` makes the events of a round and
// returns the nanoseconds that they took.
template <class Run>
double untimed_median(const own_work& work, int events, const Run& run) {
  std::array<double, rounds> results{};
  for (double& round : results) {
    const double before = work.timed_ticks(), spent = run();
    round = (spent - (work.timed_ticks() - before) * work.ns_per_tick()) / events;
  }
  std::sort(results.begin(), results.end());
  return results[rounds / 2];
}

double measure_calls_of_recorder(const own_work& work) {
  constexpr int calls = 60;
  return untimed_median(work, calls, [] {
    const double before = thread_ns();
    for (int call = 0; call < calls; ++call) ::syscall(SYS_getppid);
    return thread_ns() - before;
  });
}

void measure_threads(const own_work& work, analyse::work_times& times) {
  constexpr int threads = 20;
  const double dispatches = work.count(format::dispatches), changes = work.count(format::thread_changes);
  times.ns[format::thread_margin] = untimed_median(work, threads, [&] {
    const double before = process_ns();
    for (int number = 0; number < threads; ++number) std::thread([] { std::free(std::malloc(1)); }).join();
    return process_ns() - before;
  });
  times.dispatches_of_thread = (work.count(format::dispatches) - dispatches) / (threads * rounds);
  times.changes_of_thread = (work.count(format::thread_changes) - changes) / (threads * rounds);
}

void measure_locks(const own_work& work, analyse::work_times& times) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  constexpr int pairs_of_round = 3 * 251;  // of which three are timed for all
  const auto lock_pairs = [](int pairs) {
    for (int pair = 0; pair < pairs; ++pair) {
      ::pthread_mutex_lock(&lock);
      ::pthread_mutex_unlock(&lock);
    }
    return pairs;
  };
  // These pairs are so few that each one is recorded.
  double recorded_ns = 0;
  times.ns[format::recorded_lock_work] = untimed_median(work, pairs_of_round, [&] {
    const double before = thread_ns();
    lock_pairs(pairs_of_round);
    const double spent = thread_ns() - before, each_ns = spent / pairs_of_round;
    if (recorded_ns == 0 || each_ns < recorded_ns) recorded_ns = each_ns;
    return spent;
  });
  times.ns[format::lock_work] = recorded_ns;
  if (work.counts_each()) return;
  lock_pairs(60'000);  // until most of them pass
  double best = -1;
  for (int round = 0; round < rounds; ++round) {
    const double recorded_before = work.count(format::recorded_locks), before = thread_ns();
    const int pairs = lock_pairs(10 * pairs_of_round);
    const double recorded = work.count(format::recorded_locks) - recorded_before;
    const double each_ns = (thread_ns() - before - recorded * recorded_ns) / (pairs - recorded);
    if (best < 0 || each_ns < best) best = std::max(each_ns, 0.0);
  }
  times.ns[format::lock_work] = best;
}

// Returns the time that measuring a piece of work takes in addition to the measured time.
double clock_margin_ns(const own_work& work) {
  static std::atomic<std::uint64_t> sum, count;
  constexpr int pieces = 2000;
  const double ns = fastest_round_ns([&] {
    for (int piece = 0; piece < pieces; ++piece) {
      const std::uint64_t begun = format::ticks();
      asm volatile("" : : : "memory");
      sum.fetch_add(format::ticks() - begun, std::memory_order_relaxed);
      count.fetch_add(1, std::memory_order_relaxed);
    }
    return pieces;
  });
  const double timed_ns = static_cast<double>(sum.load()) * work.ns_per_tick() / static_cast<double>(count.load());
  return std::max(ns - timed_ns, 0.0);
}

}  // namespace

analyse::work_times measure_recorder(double started_ns) {
  analyse::work_times times{};
  const own_work work;
  times.ns[format::start_work] = started_ns;
  times.ns[format::dispatch_margin] = measure_calls_of_recorder(work);
  measure_threads(work, times);
  measure_locks(work, times);
  for (const auto item : {format::sample_margin, format::window_margin, format::walk_margin})
    times.ns[item] = clock_margin_ns(work);
  times.ns[format::step_work] = fastest_round_ns([] {
    constexpr int steps = 2000;
    for (int step = 0; step < steps; ++step) hook();
    return steps;
  });
  // The number of events must stay below the one at which the first excerpt begins.
  constexpr int pairs = 1000;
  times.ns[format::heap_work] = untimed_median(work, pairs, [] {
    const double before = thread_ns();
    pairs_of_blocks(pairs);
    return thread_ns() - before;
  });
  return times;
}

}  // namespace tarn::command
