// Strings and containers that remember their heap, for classes with both transient and shared objects.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tarn/heap.hpp>

namespace tarn {
namespace detail {
/// Allocates from `home`, or from the calling thread's own heap if `home` is the heap of another thread. Returns null
/// without memory.
void* allocate_owned(heap& home, std::size_t bytes, std::size_t alignment) noexcept;
}  // namespace detail

/// A standard allocator that keeps to one heap, wherever the container is used later: the heap that is current at its
/// construction, or the one that is passed in. With tarn::allocator, a session's string would move into the heap of the
/// request that appends to it, and end with that heap; with this allocator it stays.
///
///   copy construction     the copy uses the current heap
///   copy assignment       the target keeps its heap
///   move construction     the heap moves along with the buffer
///   move assignment       the target keeps its heap; it moves within one heap and copies otherwise
///   elements              elements with such an allocator are created in the container's heap
///
/// Threads: any thread may free. A thread that grows the container must be allowed to allocate from its heap; if that
/// is another thread's own heap (not a heap object or tarn::process_heap()), it grows in the calling thread's heap
/// instead. The heap must outlive the container. Errors: throws std::bad_alloc. Cost: inline while its heap is current,
/// otherwise one call; 8 bytes in the container. Source: P. Sommerlad, "Some Performance Patterns", 2002.
template <class T>
class owned_allocator {
 public:
  using value_type = T;
  using propagate_on_container_swap = std::true_type;

  owned_allocator() : home_(&current_heap()) {}
  /// Keeps to `home`, which must outlive the container.
  owned_allocator(heap& home) noexcept : home_(&home) {}
  template <class U>
  owned_allocator(const owned_allocator<U>& source) noexcept : home_(&source.home()) {}

  /// Allocates room for `n` elements. Throws std::bad_alloc.
  [[nodiscard]] T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) [[unlikely]] {
      detail::throw_bad_alloc();
    }
    const bool is_local = __atomic_load_n(&detail::local_heap->resource, __ATOMIC_RELAXED) == home_;
    void* const block = is_local ? detail::allocate(detail::local_heap, n * sizeof(T), alignof(T))
                                 : detail::allocate_owned(*home_, n * sizeof(T), alignof(T));
    if (block == nullptr) [[unlikely]] {
      detail::throw_bad_alloc();
    }
    return static_cast<T*>(block);
  }
  /// Frees room for `n` elements. Any thread may call it.
  void deallocate(T* block, std::size_t n) noexcept {
    detail::deallocate(detail::local_heap, block, n * sizeof(T), alignof(T));
  }

  /// Creates an element; one that uses such an allocator gets this one.
  template <class U, class... Arguments>
  void construct(U* memory, Arguments&&... arguments) {
    std::uninitialized_construct_using_allocator(memory, *this, std::forward<Arguments>(arguments)...);
  }
  owned_allocator select_on_container_copy_construction() const { return {}; }

  /// Returns the heap that this allocator keeps to.
  heap& home() const noexcept { return *home_; }

  friend bool operator==(const owned_allocator& a, const owned_allocator& b) noexcept { return a.home_ == b.home_; }

 private:
  heap* home_;
};

/// A string that keeps to one heap.
///   tarn::owned_string name(tarn::process_heap());   // stays in the process's heap, whoever appends
///   tarn::owned_string line;                   // uses the current heap
///   name = line;                               // copies into the process's heap
using owned_string = std::basic_string<char, std::char_traits<char>, owned_allocator<char>>;
/// A vector that keeps to one heap, as owned_string does.
template <class T>
using owned_vector = std::vector<T, owned_allocator<T>>;

}  // namespace tarn
