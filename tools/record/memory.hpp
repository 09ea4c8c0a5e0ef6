// The recorder's own memory, from the kernel: never from the program's malloc.
#pragma once

#include <cstddef>

namespace tarn::record {

// Zeroed pages, used as they are touched; null when there are none. Leaves errno as it was.
void* map(std::size_t bytes) noexcept;

// Gives back what map() gave; null is allowed.
void unmap(void* start, std::size_t bytes) noexcept;

// Zeroed memory for small structures, aligned to 16 bytes; null when there is none. Never given back. Any thread.
void* take(std::size_t bytes) noexcept;

// In a child of fork: what a thread of the parent may have been changing is left alone.
void begin_memory_anew() noexcept;

}  // namespace tarn::record
