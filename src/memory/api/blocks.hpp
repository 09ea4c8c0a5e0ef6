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
/// possible. If it returns null, the old block is untouched. `block` may be null. A block that had to move is freed
/// with `give_back`.
using give_back_function = void (*)(detail::heap_front*, void*) noexcept;
void* reallocate(detail::heap_front* current, void* block, std::size_t bytes,
                 give_back_function give_back = detail::deallocate_slow) noexcept;

/// Returns free memory of the calling thread's heap and of the process's heap to the system, and tells whether there
/// was any.
bool trim() noexcept;

}  // namespace tarn::api
