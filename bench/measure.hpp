// Runs one row: warm-up, all threads together, wall time.
#pragma once
#include <algorithm>
#include <barrier>
#include <optional>
#include <thread>
#include <vector>

#include "idle_thread.hpp"
#include "process.hpp"
#include "rows.hpp"

namespace bench {

struct outcome {
  std::int64_t wall_ns;       // from the first thread's start to the last one's end
  std::int64_t processor_ns;  // the sum over all threads
  std::uint64_t checksum;
};

/// Thread 0 is the caller. The warm-up is a sixteenth of the work, by the same threads, and is not counted.
inline outcome measure(const row& measured, std::uint64_t repetitions) {
  struct alignas(128) lap {
    std::int64_t start, end;
    std::uint64_t checksum;
  };
  std::vector<lap> laps(measured.threads);
  std::int64_t processor_start = 0;
  const auto all_are_here = [&]() noexcept { processor_start = processor_ns(); };
  std::barrier barrier(static_cast<std::ptrdiff_t>(measured.threads), all_are_here);
  const auto body = [&](unsigned thread) {
    barrier.arrive_and_wait();
    measured.run({thread, measured.threads, repetitions / 16 + 1});
    barrier.arrive_and_wait();
    lap& own_lap = laps[thread];
    own_lap.start = now_ns();
    own_lap.checksum = measured.run({thread, measured.threads, repetitions});
    own_lap.end = now_ns();
  };

  std::optional<idle_thread> idle;
  if (!measured.is_alone) idle.emplace();
  std::vector<std::thread> others;
  for (unsigned thread = 1; thread < measured.threads; ++thread) others.emplace_back(body, thread);
  body(0);
  for (std::thread& thread : others) thread.join();

  outcome result{0, processor_ns() - processor_start, 0};
  std::int64_t start = laps[0].start, end = laps[0].end;
  for (const lap& lap_of_thread : laps) {
    start = std::min(start, lap_of_thread.start);
    end = std::max(end, lap_of_thread.end);
    result.checksum += lap_of_thread.checksum;
  }
  result.wall_ns = end - start;
  return result;
}

}  // namespace bench
