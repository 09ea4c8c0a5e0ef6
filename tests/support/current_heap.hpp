// Allocates and frees a block of the thread's current heap as the drop-in does.
#pragma once

#include <cstddef>

#include <tarn/detail/fast_path.hpp>

namespace support {

inline void* take(std::size_t bytes) { return tarn::detail::allocate(tarn::detail::local_heap, bytes, 16); }
inline void give(void* block) { tarn::detail::deallocate(tarn::detail::local_heap, block); }

}  // namespace support
