// Regions of the program that are to be quiet (tarn::quiet_region): what is heard in them, counted.
#pragma once

#include <cstdint>

#include "format/counts.hpp"
#include "record/stack.hpp"
#include "record/threads.hpp"

namespace tarn::record {

// The innermost region of the calling thread, plus one; 0 where it is in none. In a region malloc and its family go the
// long way.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit says that it is not
extern constinit thread_local std::uint32_t region_now;
inline bool is_in_region() noexcept { return region_now != 0; }

// Counts a noise at a site, of the thread that is in a region. By the recorder, as all that follows.
void hear(thread& self, format::noise_counter what, std::uint32_t site) noexcept;
// Of the heap, where the thread has not entered the recorder.
void hear_heap(const caller& from) noexcept;

// In a child of fork: the rest of a region is not heard.
void begin_regions_anew() noexcept;

}  // namespace tarn::record
