// Threads that do their work at the same time, and the time that it took.
#pragma once
#include <sched.h>
#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "bench/idle_thread.hpp"
#include "work.hpp"

namespace lab {

/// In each of `threads` threads, the calling one among them, `prepare(thread)`, and when all have done that
/// `work(thread)`. They wait for each other without sleeping, so that none has to be woken while the others work
/// already. The time is that from the first's beginning to the last's end, and the processor's of all of them
/// meanwhile.
template <class Prepare, class Work>
void run_together(unsigned threads, outcome& of, Prepare prepare, Work work) {
  struct times {
    std::int64_t began, ended, processor;
  };
  std::vector<times> all(threads);
  std::atomic<unsigned> ready = 0;
  const auto processor_of_thread = [] {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  };
  const auto run = [&](unsigned thread) {
    prepare(thread);
    // Release and acquire: who begins sees what all have prepared.
    ready.fetch_add(1, std::memory_order_acq_rel);
    while (ready.load(std::memory_order_acquire) < threads) sched_yield();
    const std::int64_t processor = processor_of_thread(), began = bench::now_ns();
    work(thread);
    all[thread] = {began, bench::now_ns(), processor_of_thread() - processor};
  };
  std::vector<std::thread> others;
  others.reserve(threads);
  for (unsigned thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  for (std::thread& each : others) each.join();
  const auto earlier = [](const times& one, const times& other) { return one.began < other.began; };
  const auto ends_earlier = [](const times& one, const times& other) { return one.ended < other.ended; };
  of.ns = std::max_element(all.begin(), all.end(), ends_earlier)->ended -
          std::min_element(all.begin(), all.end(), earlier)->began;
  of.processor_ns = 0;
  for (const times& each : all) of.processor_ns += each.processor;
}

/// Processors that this process may use.
inline unsigned cores() noexcept {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&allowed));
}

/// body(thread, repetitions) by each of the threads: a sixteenth as the warm-up, then all. What it returns is added to
/// the checksum. A single thread has one beside it that sleeps: for a process of one thread some take short cuts.
template <class Body>
void repeat_together(unsigned threads, std::uint64_t repetitions, outcome& of, Body body) {
  std::optional<bench::idle_thread> idle;
  if (threads == 1) idle.emplace();
  std::atomic<std::uint64_t> sum{0};
  run_together(
      threads, of, [&](unsigned thread) { body(thread, repetitions / 16 + 1); },
      [&](unsigned thread) { sum.fetch_add(body(thread, repetitions), std::memory_order_relaxed); });
  of.checksum += sum.load();
}

/// Units as one processor does them: divided by how many threads can run at once, so that a time which does not change
/// with the threads says that they do not hold up each other.
inline std::uint64_t units_of_a_core(std::uint64_t units_of_a_thread, std::uint64_t threads) {
  return std::max<std::uint64_t>(1, units_of_a_thread * threads / std::min<std::uint64_t>(threads, cores()));
}

}  // namespace lab
