// What malloc's family needs beyond allocate and deallocate, for the drop-in and
// the C API alike. All functions: any thread, null when there is no memory.
#pragma once

#include <cstddef>

#include <tarn/detail/fast_path.hpp>

namespace tarn::front {

/// No object may be larger: pointer differences must fit into ptrdiff_t.
inline constexpr std::size_t largest_request = PTRDIFF_MAX;

/// Bytes that may be used in a block; 0 for null. `entry` names the caller in the
/// message when the pointer is none of ours.
std::size_t usable_bytes(const char* entry, const void* block) noexcept;

/// Zeroed.
void* allocate_zeroed(detail::heap_front* at, std::size_t count, std::size_t each) noexcept;

/// realloc: a block of at least `bytes` with the old contents, in place where that
/// is possible. On null the old block is untouched. `block` may be null. A block that
/// had to move is given back through `give_back`.
using give_back_function = void (*)(detail::heap_front*, void*) noexcept;
void* reallocate(detail::heap_front* at, void* block, std::size_t bytes,
                 give_back_function give_back = detail::deallocate_slow) noexcept;

/// Gives free memory of the calling thread's heap and of the process back to the
/// system. Returns whether there was any.
bool trim() noexcept;

}  // namespace tarn::front
