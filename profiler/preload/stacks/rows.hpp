// Tells how a function's frame is laid out at an address: a cached row of its call frame information (.eh_frame).
#pragma once

#include <cstdint>

#include "profiler/unwind/call_frames.hpp"

namespace tarn::preload {

using unwind::row;

// Returns the row for the instruction at `address`. It takes no lock and allocates nothing. It costs some nanoseconds
// when the row is cached, which is almost always. Any thread may call it.
row row_at(std::uintptr_t address) noexcept;

// Empties the cache of the rows for these addresses.
void forget_rows(std::uintptr_t start, std::uintptr_t end) noexcept;

// Returns the row without use of the cache.
row find_row(std::uintptr_t address) noexcept;

}  // namespace tarn::preload
