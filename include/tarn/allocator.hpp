// A standard allocator on the calling thread's heap: stateless, inline.
#pragma once

#include <cstddef>
#include <limits>

#include <tarn/detail/fast_path.hpp>

namespace tarn {

/// An allocator for standard containers. It allocates from the heap that is current at the
/// time; any thread may free. All instances are equal. Errors: allocate throws std::bad_alloc.
/// Cost: with n == 1, as in node-based containers, the size class is a constant, and both
/// paths take a few instructions.
template <class T>
class allocator {
 public:
  using value_type = T;

  constexpr allocator() noexcept = default;
  template <class U>
  constexpr allocator(const allocator<U>&) noexcept {}

  /// Allocates room for `n` elements.
  [[nodiscard, gnu::always_inline]] T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) [[unlikely]] {
      detail::throw_bad_alloc();
    }
    void* const block = detail::allocate(detail::local_heap, n * sizeof(T), alignof(T));
    if (block == nullptr) [[unlikely]] {
      detail::throw_bad_alloc();
    }
    return static_cast<T*>(block);
  }

  /// Frees what allocate(n) returned.
  [[gnu::always_inline]] void deallocate(T* block, std::size_t n) noexcept {
    detail::deallocate(detail::local_heap, block, n * sizeof(T), alignof(T));
  }

  friend constexpr bool operator==(const allocator&, const allocator&) noexcept { return true; }
};

}  // namespace tarn
