// The recorder's own memory, from the kernel: never from the program's malloc, and never given back.
#pragma once

#include <cstddef>

namespace tarn::record {

// Zeroed pages, used as they are touched; null when there are none. Leaves errno as it was.
void* map(std::size_t bytes) noexcept;

// Zeroed memory for small structures, aligned to 16 bytes; null when there is none. Any thread.
void* take(std::size_t bytes) noexcept;

}  // namespace tarn::record
