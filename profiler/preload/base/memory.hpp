// Provides the recorder's own memory from the kernel, never from the program's malloc.
#pragma once

#include <cstddef>

#include "profiler/format/region.hpp"

namespace tarn::preload {

// Returns zeroed pages, which the kernel provides when they are touched, or null. Leaves errno as it was.
void* map(std::size_t bytes) noexcept;

// Maps much memory, of which few pages are touched: the kernel provides no other page, also where the program locks its
// future mappings (mlockall), and a core file has none. Returns an errno as its negative.
long map_sparsely(std::size_t bytes, int flags, long file) noexcept;

// Returns memory of map() to the kernel; null is allowed.
void unmap(void* start, std::size_t bytes) noexcept;

// Returns zeroed memory for small structures, aligned to 16 bytes, or null. It is never given back. Any thread may
// call this.
void* take(std::size_t bytes) noexcept;

// Reserves memory for the time when the kernel may not be asked for more.
void set_memory_aside() noexcept;

// Notes the addresses of map() in this list of `max_own_ranges` from now on, with those of earlier calls.
void note_ranges_in(format::own_range* list) noexcept;

// Starts afresh in a child of fork: memory that a thread of the parent may have been changing is left alone, and so is
// the list of note_ranges_in().
void begin_memory_anew() noexcept;

}  // namespace tarn::preload
