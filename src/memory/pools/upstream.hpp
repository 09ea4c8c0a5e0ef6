// Memory for arenas and pools, from a memory resource or from the current heap.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>

#include <tarn/detail/fast_path.hpp>

namespace tarn::pools {

/// Returns null without memory. A null `upstream` selects the current heap.
inline void* take_upstream(std::pmr::memory_resource* upstream, std::size_t bytes, std::size_t alignment) {
  if (upstream == nullptr) return detail::allocate(detail::local_heap, bytes, alignment);
#if defined(__cpp_exceptions)
  try {
    return upstream->allocate(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
#else
  return upstream->allocate(bytes, alignment);
#endif
}

/// Returns what take_upstream took.
inline void give_upstream(std::pmr::memory_resource* upstream, void* block, std::size_t bytes,
                          std::size_t alignment) noexcept {
  detail::mark_allocated(block, bytes);  // as it came
  if (upstream == nullptr) {
    detail::deallocate(detail::local_heap, block, bytes, alignment);
  } else {
    upstream->deallocate(block, bytes, alignment);
  }
}

}  // namespace tarn::pools
