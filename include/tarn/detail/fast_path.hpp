// The owner's path, inline: take a block from the calling thread's heap, give
// one back. No call, no lock, no atomic read-modify-write, no system call.
//
//   allocate    load local, load top, load top[-1], test, store top
//   deallocate  load the page map entry, compare with local ⊕ class,
//               load top, test, store the block, store top
//
// A *magazine* is an array of block addresses. `top` points one past the last
// address; the entry below the first is null, so that "empty" is seen by the
// load that takes a block; the array ends on a multiple of its own size, so
// that "full" is seen in the pointer. A heap that must see every call (no heap
// yet, a shared heap, a heap that counts) has *closed* magazines, which look
// empty and full at once: then each call takes the slow path, and the fast
// path needs no further test.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/detail/size_class.hpp>

// 1 in a build of the library for AddressSanitizer: free blocks are poisoned then. The
// inline paths and the library must agree, so it is the library's build that decides.
#ifndef TARN_ADDRESS_SANITIZER
#define TARN_ADDRESS_SANITIZER 0
#endif
#if TARN_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

#ifndef TARN_SMALL
#define TARN_SMALL 0
#endif

namespace tarn {
class heap;
}

namespace tarn::detail {

/// Addresses in one magazine's array, the null entry included. Fewer in the
/// builds that hunt for errors: rare paths are common there.
inline constexpr std::size_t magazine_slots = TARN_SMALL ? 8 : 256;
inline constexpr std::size_t magazine_bytes = magazine_slots * sizeof(void*);

/// What the fast path sees of a heap. The rest follows in heap/heap.hpp.
/// Aligned so that a heap's address and a class fit into one word.
struct alignas(128) heap_front {
  void** top[class_count];  ///< owner only
  tarn::heap* resource;     ///< the public face of this heap; null until asked for
};

/// Address space is mapped in units; each has one key:
/// address of the owning heap | size class, 0 where no block can be.
/// Written by the owner of the unit, read by any thread that holds a block.
inline constexpr unsigned unit_shift = 16;

/// The page map: keys of the units [first, first + count).
struct page_map_view {
  std::uintptr_t* keys;
  std::uintptr_t first;
  std::uintptr_t count;
};

extern constinit page_map_view page_map;

/// The calling thread's heap: never null, a static empty heap until the thread
/// first allocates. Constant-initialised and trivially destructible, so that a
/// read costs one load and works at any time in a thread's life.
extern constinit thread_local heap_front* local [[gnu::tls_model("initial-exec")]];

/// The paths that are not inline. `at` is the heap that the caller found in
/// `local`. Null when no memory is left.
void* allocate_slow(heap_front* at, size_class index) noexcept;
void deallocate_slow(heap_front* at, void* block) noexcept;
/// A block for any size and alignment; null when no memory is left.
void* allocate_any(heap_front* at, std::size_t bytes, std::size_t alignment) noexcept;
/// A block of whole units; `zeroed`, if not null, learns whether its bytes are zero.
void* allocate_large(heap_front* at, std::size_t bytes, std::size_t alignment, bool* zeroed) noexcept;
/// Gives back a block that should have `index`; reports a fault if it has not. Null is allowed.
void deallocate_slow(heap_front* at, void* block, size_class index) noexcept;

inline void mark_allocated([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes) noexcept {
#if TARN_ADDRESS_SANITIZER
  if (block != nullptr) {
    __asan_unpoison_memory_region(block, bytes);
  }
#endif
}
inline void mark_free([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes) noexcept {
#if TARN_ADDRESS_SANITIZER
  __asan_poison_memory_region(block, bytes);
#endif
}

/// A block of class `index` from `at`; null when no memory is left.
[[gnu::always_inline]] inline void* allocate(heap_front* at, size_class index) noexcept {
  void** const top = at->top[index];
  void* block = top[-1];
  if (block != nullptr) [[likely]] {
    at->top[index] = top - 1;
  } else {
    block = allocate_slow(at, index);
  }
  mark_allocated(block, size_of(index));
  return block;
}

/// The key of the unit in which `address` lies, 0 when there is none. Acquire for who goes
/// on to the heap that it names: a thread that took the slab over, perhaps, and that the
/// caller never met.
template <int Order = __ATOMIC_RELAXED>
[[gnu::always_inline]] inline std::uintptr_t key_of(const void* address) noexcept {
  const std::uintptr_t unit = (reinterpret_cast<std::uintptr_t>(address) >> unit_shift) - page_map.first;
  if (unit >= page_map.count) [[unlikely]] {
    return 0;
  }
  return __atomic_load_n(&page_map.keys[unit], Order);
}

/// Gives back a block of class `index` that any heap may own; null is allowed.
[[gnu::always_inline]] inline void deallocate(heap_front* at, void* block, size_class index) noexcept {
  if (key_of(block) != reinterpret_cast<std::uintptr_t>(at) + index) [[unlikely]] {
    deallocate_slow(at, block, index);
    return;
  }
  void** const top = at->top[index];
  if (reinterpret_cast<std::uintptr_t>(top) % magazine_bytes == 0) [[unlikely]] {
    deallocate_slow(at, block, index);
    return;
  }
  *top = block;
  at->top[index] = top + 1;
  mark_free(block, size_of(index));
}

/// Gives back a block of any class or size; null is allowed.
[[gnu::always_inline]] inline void deallocate(heap_front* at, void* block) noexcept {
  const std::uintptr_t own = key_of(block) ^ reinterpret_cast<std::uintptr_t>(at);
  if (own >= class_count) [[unlikely]] {
    deallocate_slow(at, block);
    return;
  }
  void** const top = at->top[own];
  if (reinterpret_cast<std::uintptr_t>(top) % magazine_bytes == 0) [[unlikely]] {
    deallocate_slow(at, block);
    return;
  }
  *top = block;
  at->top[own] = top + 1;
  mark_free(block, size_of(static_cast<size_class>(own)));
}

/// class_of for sizes that are known at run time only: a table where most sizes are,
/// because the steps of class_of there are branches that nobody can predict.
inline constexpr std::size_t tabled_bytes = 1024;
struct class_table {
  std::uint8_t of[tabled_bytes / block_alignment + 1];
  consteval class_table() noexcept : of{} {
    for (std::size_t step = 0; step < sizeof of; ++step) {
      of[step] = static_cast<std::uint8_t>(class_of(step * block_alignment));
    }
  }
};
inline constexpr class_table classes;
[[gnu::always_inline]] inline size_class quick_class_of(std::size_t bytes) noexcept {
  if (__builtin_constant_p(bytes) || bytes > tabled_bytes) {
    return class_of(bytes);
  }
  return classes.of[(bytes + block_alignment - 1) / block_alignment];
}

/// A block for `bytes` at `alignment`; null when no memory is left.
[[gnu::always_inline]] inline void* allocate(heap_front* at, std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes <= largest_class_size && alignment <= block_alignment) [[likely]] {
    return allocate(at, quick_class_of(bytes));
  }
  return allocate_any(at, bytes, alignment);
}

/// Gives back what allocate(at, bytes, alignment) gave; null is allowed.
[[gnu::always_inline]] inline void deallocate(heap_front* at, void* block, std::size_t bytes,
                                              std::size_t alignment) noexcept {
  if (bytes <= largest_class_size && alignment <= block_alignment) [[likely]] {
    deallocate(at, block, quick_class_of(bytes));
  } else {
    deallocate_slow(at, block);
  }
}

/// Throws std::bad_alloc; ends the program where exceptions are compiled out.
[[noreturn]] void throw_bad_alloc();

}  // namespace tarn::detail
