// Counts the violations in the program's quiet regions (tarn::quiet_region).
#pragma once

#include <cstdint>

#include "profiler/format/counts.hpp"
#include "profiler/preload/stacks/stack.hpp"
#include "profiler/preload/threads.hpp"

namespace tarn::preload {

// Holds the number of the calling thread's innermost region plus one; 0 when it is in none. In a region, malloc and
// its family take the slow path.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit says that it is not
extern constinit thread_local std::uint32_t current_region;
inline bool is_in_region() noexcept { return current_region != 0; }

// Counts a violation at a site, for a thread that is in a region. Call it in the recorder.
void count_violation(thread& self, format::violation_counter counter, std::uint32_t site) noexcept;
// Counts a heap call as a violation, for a thread that has not entered the recorder.
void count_heap_violation(const caller& caller) noexcept;

// Lets the calling thread be in no region.
void leave_all_regions() noexcept;
// Leaves all regions in a child of fork: the rest of a region counts no violations there.
void begin_regions_anew() noexcept;

}  // namespace tarn::preload
