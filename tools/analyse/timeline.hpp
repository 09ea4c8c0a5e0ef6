// The course of a run by category: what the program allocated, waited and called, and what memory it had, in time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyse/findings.hpp"
#include "analyse/history.hpp"
#include "analyse/locks.hpp"
#include "analyse/syscalls.hpp"

namespace tarn::analyse {

inline constexpr std::array categories = {category::transient, category::shared, category::start_up, category::kept};
inline constexpr std::array lock_categories = {lock_category::contended, lock_category::uncontended,
                                               lock_category::one_thread, lock_category::condition};
inline constexpr std::array call_categories = {call_category::small,  call_category::repeated, call_category::batch,
                                               call_category::memory, call_category::waits,    call_category::needed};

// Of one category, a number for each interval.
using line = std::vector<std::uint64_t>;

struct timeline {
  // Of the sites of a category: blocks and bytes that were allocated; bytes in use at the end of the interval, reckoned
  // with the mean size of each site's blocks.
  std::array<line, categories.size()> blocks, bytes, in_use;
  std::array<line, lock_categories.size()> taken, waited_ns;
  std::array<line, call_categories.size()> calls, calls_ns;
};

timeline timeline_of(const format::recording& in, const history& of, const heap_findings& heap,
                     const lock_findings& locks, const call_findings& calls);

}  // namespace tarn::analyse
