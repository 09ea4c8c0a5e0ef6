// Runs threads at the same time and measures them.
#pragma once
#include <sched.h>
#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "bench/idle_thread.hpp"
#include "bench/processors.hpp"
#include "work.hpp"

namespace lab {

/// Runs `prepare(thread)` in each of `threads` threads, including the calling one, and `work(thread)` when all are
/// prepared. They wait for each other without sleeping, so that none has to be woken while others already work.
/// Stores the wall time from the first start to the last end, and the CPU time of all threads meanwhile.
template <class Prepare, class Work>
void run_together(unsigned threads, outcome& result, Prepare prepare, Work work) {
  struct times {
    std::int64_t began, end, processor;
  };
  std::vector<times> times_of_threads(threads);
  std::atomic<unsigned> ready = 0;
  const auto run = [&](unsigned thread) {
    prepare(thread);
    // acquire and release: each thread sees what the others prepared.
    ready.fetch_add(1, std::memory_order_acq_rel);
    while (ready.load(std::memory_order_acquire) < threads) sched_yield();
    const std::int64_t processor = bench::thread_ns(), began = bench::now_ns();
    work(thread);
    times_of_threads[thread] = {began, bench::now_ns(), bench::thread_ns() - processor};
  };
  std::vector<std::thread> others;
  others.reserve(threads);
  for (unsigned thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  for (std::thread& thread : others) thread.join();
  const auto earlier = [](const times& first, const times& second) { return first.began < second.began; };
  const auto ends_earlier = [](const times& first, const times& second) { return first.end < second.end; };
  result.ns = std::max_element(times_of_threads.begin(), times_of_threads.end(), ends_earlier)->end -
              std::min_element(times_of_threads.begin(), times_of_threads.end(), earlier)->began;
  result.processor_ns = 0;
  for (const times& thread : times_of_threads) result.processor_ns += thread.processor;
}

/// Returns the number of processors that this process may use.
inline unsigned cores() noexcept {
  const cpu_set_t allowed = bench::allowed_processors();
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&allowed)));
}

/// Runs body(thread, repetitions) in each of the threads: first a sixteenth as warm-up, then all. Adds the results to
/// the checksum. A single thread gets a sleeping one beside it, because some allocators take short cuts in a process
/// of one thread.
template <class Body>
void repeat_together(unsigned threads, std::uint64_t repetitions, outcome& result, Body body) {
  std::optional<bench::idle_thread> idle;
  if (threads == 1) idle.emplace();
  std::atomic<std::uint64_t> sum{0};
  run_together(
      threads, result, [&](unsigned thread) { body(thread, repetitions / 16 + 1); },
      [&](unsigned thread) { sum.fetch_add(body(thread, repetitions), std::memory_order_relaxed); });
  result.checksum += sum.load();
}

/// Returns the units per processor: the total divided by the number of threads that can run at once. A time that does
/// not change with the number of threads then means that they do not hold each other up.
inline std::uint64_t units_of_a_core(std::uint64_t units_of_a_thread, std::uint64_t threads) {
  return std::max<std::uint64_t>(1, units_of_a_thread * threads / std::min<std::uint64_t>(threads, cores()));
}

}  // namespace lab
