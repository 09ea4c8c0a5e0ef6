// Keeps the changes of each interval of a run, cell by cell: a timeline shows them, and any part can be added up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::analyse {

// The counters of a cell that are kept, in this order.
inline constexpr std::array heap_series = {format::blocks, format::bytes, format::frees, format::freed_bytes};
inline constexpr std::array lock_series = {format::acquisitions, format::contended,  format::wait_ticks,
                                           format::holds,        format::held_ticks, format::refused};
inline constexpr std::array wait_series = {format::waits, format::waited_ticks};
inline constexpr std::array call_series = {format::calls,          format::errors,     format::requested_bytes,
                                           format::returned_bytes, format::call_ticks, format::same_arguments,
                                           format::in_a_row};
// A time that moves to another cell is below 0, in two's complement (format::may_fall).
inline constexpr std::array cpu_series = {format::running_ns, format::runnable_ns, format::waiting_ns,
                                          format::unknown_ns};

// The increase of a cell in one interval; an interval without an increase has no point.
template <std::size_t Counters>
struct point {
  std::uint32_t interval = 0;
  std::array<std::uint64_t, Counters> increase{};
};
template <class Key, std::size_t Counters>
using series = std::map<Key, std::vector<point<Counters>>>;

// An interval between two moments of the recording.
struct history_interval {
  std::uint64_t from_ns = 0, to_ns = 0;  // since the program's start
  std::uint64_t resident_bytes = 0;      // at the end of the interval
  std::uint64_t cpu_us = 0;              // CPU time in the interval
  std::uint32_t images = 0;              // at the end of the interval, as of recording::images
};

struct history {
  std::vector<history_interval> intervals;  // consecutive; empty for a recording without moments
  series<format::heap_key, heap_series.size()> heap;
  series<format::lock_key, lock_series.size()> locks;
  series<format::wait_key, wait_series.size()> waits;
  series<format::call_key, call_series.size()> calls;
  series<format::cpu_key, cpu_series.size()> cpu;

  std::size_t points() const;
};

// Returns the history of the recording in `bytes`, in at most `limit` intervals of about equal length if the moments
// allow. It contains the kinds of cells that `recording` has. A recording with samples of the processor comes from
// with_cpu_sites().
history history_of(const format::recording& recording, std::string_view bytes, std::size_t limit);

// The bytes in use of one site at the end of each interval.
using levels = std::vector<double>;
// Returns the levels of each site of the recording that changed. Where a program became another by exec, its blocks
// ended with it.
std::map<std::uint32_t, levels> levels_of(const format::recording& recording, const history& course);

}  // namespace tarn::analyse
