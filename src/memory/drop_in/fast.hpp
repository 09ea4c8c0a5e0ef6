// Provides malloc and free as inline functions, for every name that they have.
//
//   allocate    local_heap, class table, top, top[-1], test, store          → ret
//   deallocate  page map, local_heap, compare, a start of a block?, top, test, store,
//               not free already?, mark, store top                     → ret
//
// Every other case is a tail call of one of the functions below.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/detail/fast_path.hpp>

#include "base/c_library.hpp"
#include "memory/guard/guard.hpp"
#include "memory/heap/free_mark.hpp"
#include "memory/pages/slab.hpp"

/// Marks a name that the drop-in replaces in the C or C++ library.
#define TARN_EXPORT __attribute__((visibility("default")))
/// Marks a function whose every instruction counts, and starts it on a cache line of its own.
#define TARN_EXPORT_FAST __attribute__((visibility("default"), aligned(64)))

namespace tarn::drop_in {

/// Does malloc for any size. Returns null and sets errno when there is no memory. `site`, here and below, is the
/// address that the program's call returns to: guarded blocks remember it (memory/guard/guard.hpp).
[[gnu::noinline]] void* allocate_slow(std::size_t bytes, const void* site) noexcept;
[[gnu::noinline]] void* allocate_aligned_slow(std::size_t bytes, std::size_t alignment, const void* site) noexcept;
/// Does free for any pointer, null included. `difference` is the key of its address ⊕ the thread's heap. `stated_bytes`
/// is the size that the program states.
[[gnu::noinline]] void deallocate_slow(void* block, std::size_t stated_bytes, std::uintptr_t difference,
                                       const void* site) noexcept;
/// Does free for a block of class `index` of the calling thread's heap, whose magazine is full.
[[gnu::noinline]] void deallocate_full(void* block, std::size_t stated_bytes, const void* site,
                                       detail::size_class index) noexcept;
/// Reports the free of a block that is marked, so that it is free already.
[[gnu::noinline]] void report_freed_twice(void* block, std::size_t stated_bytes, const void* site) noexcept;

static_assert(detail::class_of(detail::tabled_bytes) < pages::first_wide, "larger blocks need a check");

/// Takes a block for a size of at most tabled_bytes out of a magazine, with its mark. Returns null if the magazine is
/// empty.
[[gnu::always_inline]] inline void* take_tabled(std::size_t bytes) noexcept {
  detail::heap_front* const front = detail::local_heap;
  const detail::size_class index =
      front->served.classes[(bytes + detail::block_alignment - 1) / detail::block_alignment];
  return detail::pop(detail::top_in(front, index));
}

/// Does malloc; `slow` is called when the magazine is empty or the size is large.
template <class Slow>
[[gnu::always_inline]] inline void* allocate(std::size_t bytes, Slow slow) {
  if (bytes <= detail::tabled_bytes) [[likely]] {
    if (void* block = take_tabled(bytes)) [[likely]] {
#if defined(__x86_64__)
      asm("" : "+a"(block));  // in the register of the result from the start: the compiler copies it there otherwise
#endif
      heaps::mark_of(block) = 0;
      return block;
    }
  }
  return slow(bytes, __builtin_return_address(0));
}

template <class Slow>
[[gnu::always_inline]] inline void* allocate_aligned(std::size_t bytes, std::size_t alignment, Slow slow) {
  if (bytes <= detail::tabled_bytes && alignment <= detail::tabled_bytes) [[likely]] {
    // The class of a multiple of the alignment has that alignment, too (detail::class_of says why).
    const std::size_t rounded = (bytes + (bytes == 0) + alignment - 1) & ~(alignment - 1);
    if (rounded <= detail::tabled_bytes) {
      return allocate(rounded, [=](std::size_t, const void* site) { return slow(bytes, alignment, site); });
    }
  }
  return slow(bytes, alignment, __builtin_return_address(0));
}

/// Frees a block, and ignores the size that a sized delete states: the page map knows the size, and programs that
/// state a wrong one run well with other allocators. Guarded blocks compare it.
[[gnu::always_inline]] inline void deallocate(void* block, std::size_t stated_bytes = guard::no_stated_size) noexcept {
  detail::heap_front* const front = detail::local_heap;
  const std::uintptr_t difference = detail::key_of(block) ^ reinterpret_cast<std::uintptr_t>(front);
  if (difference >= detail::class_count || !pages::may_start_at(block, difference)) [[unlikely]] {
    return deallocate_slow(block, stated_bytes, difference, __builtin_return_address(0));
  }
  const auto index = static_cast<detail::size_class>(difference);  // of a block of this thread's heap
  void*** const class_top = detail::top_in(front, index);
  void** const top = *class_top;
  if (reinterpret_cast<std::uintptr_t>(top) % detail::magazine_bytes == 0) [[unlikely]] {
    return deallocate_full(block, stated_bytes, __builtin_return_address(0), index);
  }
  // This is detail::push() in two steps. The entry means nothing before `top` is stored, but is loaded next by malloc.
  __atomic_store_n(top, block, __ATOMIC_RELAXED);
  if (heaps::is_marked(block)) [[unlikely]] {
    return report_freed_twice(block, stated_bytes, __builtin_return_address(0));
  }
  heaps::mark(block);
  __atomic_store_n(class_top, top + 1, __ATOMIC_RELEASE);
}

}  // namespace tarn::drop_in
