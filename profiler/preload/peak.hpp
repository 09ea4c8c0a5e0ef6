// Keeps each cell's blocks and bytes in use at the time when the process had the most bytes in use. Costs one
// comparison for each event.
//
// Each new peak has a number. Before its first change since the newest peak, a cell notes its blocks and bytes in use,
// which are still those at the peak. With several threads an event may count before or after a peak that
// another thread reaches meanwhile, so a peak is exact to 4 KiB for each of these threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/base/recorder_clock.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/threads.hpp"

namespace tarn::preload {

// Call this before each change of the cell's blocks or bytes in use. Only the cell's own thread calls it.
[[gnu::always_inline]] inline void keep_peak(format::cell& cell) noexcept {
  const std::uint64_t newest = header().peaks.load(std::memory_order_relaxed);
  if (cell.peak.load(std::memory_order_relaxed) == newest) return;
  const auto value = [&](format::counter counter) { return cell.value[counter].load(std::memory_order_relaxed); };
  const auto keep = [&](format::counter counter, std::uint64_t amount) {
    cell.value[counter].store(amount, std::memory_order_relaxed);
  };
  keep(format::peak_blocks, value(format::blocks) - value(format::frees));
  keep(format::peak_bytes, value(format::bytes) - value(format::freed_bytes));
  cell.peak.store(newest, std::memory_order_relaxed);
}

inline void note_peak(std::int64_t bytes) noexcept {
  std::int64_t highest = header().max_bytes_in_use.load(std::memory_order_relaxed);
  do {
    if (bytes <= highest) return;
  } while (!header().max_bytes_in_use.compare_exchange_weak(highest, bytes, std::memory_order_relaxed));
  header().peaks.fetch_add(1, std::memory_order_relaxed);
  header().peak_image.store(image(), std::memory_order_relaxed);
  constexpr unsigned exact_to = 10;  // reading the clock for each block would be most of the cost
  if (bytes >> exact_to != highest >> exact_to) header().peak_ticks.store(clock_ticks(), std::memory_order_relaxed);
}

// Call this after each change of a cell, with the bytes by which the process's bytes in use have grown. A thread
// collects small changes, so that threads seldom write the same line of memory; an atomic addition for each event would
// be most of its cost. One that runs alone knows the sum nevertheless, and sends each new peak.
[[gnu::always_inline]] inline void change_in_use(thread& self, std::int64_t bytes) noexcept {
  constexpr std::int64_t max_unsent = 4096;
  const std::int64_t unsent = self.unsent_bytes += bytes;
  if (unsent < max_unsent && unsent > -max_unsent &&
      (threads_running() > 1 || header().bytes_in_use.load(std::memory_order_relaxed) + unsent <=
                                    header().max_bytes_in_use.load(std::memory_order_relaxed)))
    return;
  self.unsent_bytes = 0;
  note_peak(header().bytes_in_use.fetch_add(unsent, std::memory_order_relaxed) + unsent);
}

}  // namespace tarn::preload
