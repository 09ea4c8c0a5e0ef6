// Computes the course of a run by category: allocations, waits, calls and memory over time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "profiler/findings/heap/findings.hpp"
#include "profiler/findings/heap/history.hpp"
#include "profiler/findings/waits/locks.hpp"
#include "profiler/findings/waits/system_calls.hpp"

namespace tarn::analyse {

inline constexpr std::array categories = {heap_category::same_thread, heap_category::cross_thread,
                                          heap_category::start_up, heap_category::kept};
inline constexpr std::array lock_categories = {lock_category::contended, lock_category::uncontended,
                                               lock_category::one_thread, lock_category::condition};
inline constexpr std::array call_categories = {call_category::small,  call_category::repeated, call_category::batch,
                                               call_category::memory, call_category::waits,    call_category::needed};

// The numbers of one category, one for each interval.
using line = std::vector<std::uint64_t>;

struct timeline {
  // Allocated blocks and bytes of the sites of a category, and their bytes in use at the end of each interval.
  std::array<line, categories.size()> blocks, bytes, in_use;
  std::array<line, lock_categories.size()> acquisitions, waited_ns;
  std::array<line, call_categories.size()> calls, calls_ns;
};

timeline timeline_of(const format::recording& recording, const history& history, const heap_findings& heap,
                     const lock_findings& locks, const call_findings& calls);

}  // namespace tarn::analyse
