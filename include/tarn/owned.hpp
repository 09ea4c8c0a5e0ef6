// Strings and containers that remember their heap: for classes whose objects are transient here and shared there.
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
/// From `home`; where that is a thread's own heap, from the calling thread's own. Null when there is no memory.
void* allocate_owned(heap& home, std::size_t bytes, std::size_t alignment) noexcept;
}  // namespace detail

/// A standard allocator that keeps to one heap, wherever the container is used later: the current heap where it is
/// made, or the one that is given. (P. Sommerlad, "Some Performance Patterns", 2002: "keep track which allocator was
/// used".) With tarn::allocator a session's string that a request appends to would move into the request's heap and
/// end with it; this one stays.
///
///   copy construction     the copy is the copier's own: in the current heap
///   copy assignment       the target keeps its heap
///   move construction     the heap goes with the buffer
///   move assignment       the target keeps its heap: a move between two of one heap, else a copy
///   elements              that use such an allocator, too, are made in the container's heap
///
/// Threads: memory may be freed by any thread. Who grows it must be allowed to allocate from its heap; if that is a
/// thread's own heap (and not an object or tarn::global()), another thread grows it in its own. The heap must live as
/// long as the container. Errors: throws std::bad_alloc. Cost: inline while its heap is the current one, and a call
/// else; 8 bytes in the container.
template <class T>
class owned_allocator {
 public:
  using value_type = T;
  using propagate_on_container_swap = std::true_type;

  owned_allocator() : home_(&current()) {}
  owned_allocator(heap& home) noexcept : home_(&home) {}
  template <class U>
  owned_allocator(const owned_allocator<U>& other) noexcept : home_(&other.home()) {}

  [[nodiscard]] T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) [[unlikely]] {
      detail::throw_bad_alloc();
    }
    const bool here = __atomic_load_n(&detail::local->resource, __ATOMIC_RELAXED) == home_;
    void* const block = here ? detail::allocate(detail::local, n * sizeof(T), alignof(T))
                             : detail::allocate_owned(*home_, n * sizeof(T), alignof(T));
    if (block == nullptr) [[unlikely]] {
      detail::throw_bad_alloc();
    }
    return static_cast<T*>(block);
  }
  void deallocate(T* block, std::size_t n) noexcept {
    detail::deallocate(detail::local, block, n * sizeof(T), alignof(T));
  }

  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    std::uninitialized_construct_using_allocator(place, *this, std::forward<Arguments>(arguments)...);
  }
  owned_allocator select_on_container_copy_construction() const { return {}; }

  /// The heap that it keeps to.
  heap& home() const noexcept { return *home_; }

  friend bool operator==(const owned_allocator& a, const owned_allocator& b) noexcept { return a.home_ == b.home_; }

 private:
  heap* home_;
};

/// tarn::owned_string name(tarn::global());   // of a shared object: stays there, whoever appends
/// tarn::owned_string line;                   // of this request: in the current heap
/// name = line;                               // copied into the process's heap
using owned_string = std::basic_string<char, std::char_traits<char>, owned_allocator<char>>;
template <class T>
using owned_vector = std::vector<T, owned_allocator<T>>;

}  // namespace tarn
