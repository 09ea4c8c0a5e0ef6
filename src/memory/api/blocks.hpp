// Provides what malloc's family needs beyond allocate and deallocate, for the drop-in and the C API. All functions
// may be called on any thread, and return null when there is no memory.
#pragma once

#include <cstddef>

#include <tarn/detail/fast_path.hpp>

namespace tarn::api {

/// No object may be larger, because pointer differences must fit into ptrdiff_t.
inline constexpr std::size_t largest_request = PTRDIFF_MAX;

/// Returns the usable bytes of a block; 0 for null. `entry` names the caller in the message when the pointer is not a
/// block of ours.
std::size_t usable_bytes(const char* entry, const void* block) noexcept;

/// Returns a zeroed block for `count` elements of `element_bytes` bytes.
void* allocate_zeroed(detail::heap_front* current, std::size_t count, std::size_t element_bytes) noexcept;

/// Does what realloc does: returns a block of at least `bytes` with the old contents, in place where that is
/// possible. If it returns null, the old block is untouched. `block` may be null. If it has to move, `ways` says how
/// the new block is allocated and the old one freed.
struct resize_ways {
  void (*give_back)(detail::heap_front*, void*) noexcept = detail::deallocate_slow;
  void* (*allocate)(detail::heap_front*, std::size_t bytes, std::size_t alignment) noexcept = detail::allocate_any;
};
void* reallocate(detail::heap_front* current, void* block, std::size_t bytes, resize_ways ways = {}) noexcept;

/// Returns free memory of the calling thread's heap and of the process's heap to the system, and tells whether there
/// was any.
bool trim() noexcept;

}  // namespace tarn::api
