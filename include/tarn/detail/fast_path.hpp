// The owner's path, inline: takes a block from the calling thread's heap or gives one back. It makes no call and no
// system call, and has no lock and no atomic read-modify-write.
//
//   allocate    load local_heap, load top, load top[-1], test, store top
//   deallocate  load the page map entry, compare with local ⊕ class,
//               load top, test, store the block, store top
//
// A *magazine* is an array of block addresses. `top` points one past the last address. The entry below the first is
// null, so that the load that takes a block also detects "empty". The array ends on a multiple of its own size, so
// that the pointer itself shows "full". A heap that must see every call (no heap yet, a shared heap, a heap that
// counts) has *shut* magazines, which look empty and full at once: each call then takes the slow path, and the fast
// path needs no further test.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/detail/config.hpp>
#include <tarn/detail/free_check.hpp>
#include <tarn/detail/size_class.hpp>

#if TARN_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace tarn {
class heap;
}

namespace tarn::detail {

/// Addresses in one magazine's array, including the null entry. Builds that hunt for errors have fewer, so that rare
/// paths become common.
inline constexpr std::size_t magazine_slots = TARN_SMALL ? 8 : 256;
inline constexpr std::size_t magazine_bytes = magazine_slots * sizeof(void*);

/// Tells where the heap's thread puts the next block of another heap that it frees: memory/heap/remote_batch.hpp.
struct batch_cursor {
  void** next = nullptr;
  /// The room, the blocks and their bytes in one number; 0: the batch is empty, full, or there is none. Statistics read
  /// it in other threads.
  std::int64_t content = 0;
  std::uintptr_t first_key = 0;       ///< page map key of the first block
  std::uintptr_t key_difference = 0;  ///< the bits in which any other block's key differs from it
};

/// Has the class of each size up to tabled_bytes, in steps of the block alignment.
inline constexpr std::size_t tabled_bytes = 8192;
struct class_table {
  std::uint8_t classes[tabled_bytes / block_alignment + 1];
  consteval class_table() noexcept : classes{} {
    for (std::size_t step = 0; step < sizeof classes; ++step) {
      classes[step] = static_cast<std::uint8_t>(class_of(step * block_alignment));
    }
  }
};

/// The part of a heap that the fast path sees. The rest follows in memory/heap/heap.hpp. It is aligned so that a heap's
/// address and a class fit into one word.
struct alignas(128) heap_front {
  void** top[class_count];  ///< only the owner writes them
  tarn::heap* resource;     ///< the public interface of this heap; null until first requested
  batch_cursor cursor;      ///< in the remote-free batch
  class_table served;       ///< the class from which malloc takes a size: heap::share_blocks() says why
  std::uint32_t ends;       ///< counts the heap objects of this record that have ended; scoped_current_heap looks at it
  std::uintptr_t user;      ///< of a heap object, with TARN_CHECKS: see inside_heap
};

/// Returns where a heap keeps `top` of a class. A class that is known only at run time is added to the address first:
/// recent Intel cores forward a store to the next load at no cost only if both name the address by one register, and
/// malloc and free load what the last call stored (docs/design/magazines.md).
[[gnu::always_inline]] inline void*** top_in(heap_front* front, size_class index) noexcept {
  void*** class_top = &front->top[index];
  if (!__builtin_constant_p(index)) {
    asm("" : "+r"(class_top));  // else the compiler adds the class again in the load and the store
  }
  return class_top;
}

/// The blocks of this class and of all larger ones take more than tabled_bytes.
inline constexpr size_class first_large_class = class_of(tabled_bytes + 1);

/// Takes the newest block out of a magazine; null if it is empty. Here and in push(), the accesses are atomic, and in
/// this order, because another thread may take the older blocks while the owner sleeps (memory/heap/idle_fronts.cpp).
/// They are the same instructions as without that.
[[gnu::always_inline]] inline void* pop(void*** class_top) noexcept {
  void** const top = __atomic_load_n(class_top, __ATOMIC_RELAXED);
  void* const block = __atomic_load_n(top - 1, __ATOMIC_RELAXED);
  if (block != nullptr) [[likely]] {
    __atomic_store_n(class_top, top - 1, __ATOMIC_RELAXED);
  }
  return block;
}

/// Does the same for any class, and must be used from first_large_class on: there the other thread takes the newest
/// block, too. So this looks at the entry again after it has changed `top`, and changes it back if the block is gone.
/// The first look keeps it from writing to a shut magazine, which many threads share.
[[gnu::always_inline]] inline void* pop_watched(void*** class_top) noexcept {
  void** const top = __atomic_load_n(class_top, __ATOMIC_RELAXED);
  if (__atomic_load_n(top - 1, __ATOMIC_RELAXED) == nullptr) [[unlikely]] {
    return nullptr;
  }
  __atomic_store_n(class_top, top - 1, __ATOMIC_RELAXED);
  // The compiler keeps the order. The processor need not, because the other thread runs a barrier in all threads.
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  void* const block = __atomic_load_n(top - 1, __ATOMIC_RELAXED);
  if (block == nullptr) [[unlikely]] {
    __atomic_store_n(class_top, top, __ATOMIC_RELAXED);
  }
  return block;
}

/// Puts a block into a magazine that is not full. `top` is the value of `*class_top`.
[[gnu::always_inline]] inline void push(void*** class_top, void** top, void* block) noexcept {
  __atomic_store_n(top, block, __ATOMIC_RELAXED);
  __atomic_store_n(class_top, top + 1, __ATOMIC_RELEASE);
}

/// Returns true if a magazine has no block.
[[gnu::always_inline]] inline bool is_empty(void* const* top) noexcept {
  return __atomic_load_n(top - 1, __ATOMIC_RELAXED) == nullptr;
}

/// Address space is mapped in units. Each unit has one key: address of the owning heap | size class, or 0 where no
/// block can be. The owner of the unit writes the key; any thread that holds a block reads it.
inline constexpr unsigned unit_shift = 16;

/// The page map is a root of leaves, each for 4 GiB of a 48-bit address space, with two entries for each unit. A leaf
/// is null where Tarn never mapped anything, and is never removed. The slabs belong to memory/pages/slab.hpp; they are
/// separate from the keys, so that twice as many keys, which free reads, fit in a cache line.
inline constexpr unsigned leaf_shift = 32;
inline constexpr std::uintptr_t page_leaf_count = std::uintptr_t{1} << (48 - leaf_shift);
inline constexpr std::size_t leaf_units = std::size_t{1} << (leaf_shift - unit_shift);
struct page_leaf {
  std::uintptr_t keys[leaf_units];
  void* slabs[leaf_units];
};

extern constinit page_leaf* page_map[page_leaf_count];

/// Returns the leaf of an address; null where there is none. Relaxed: memory/pages/page_map.cpp says why.
[[gnu::always_inline]] inline page_leaf* leaf_of(const void* address) noexcept {
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(address) >> leaf_shift;
  if (number >= page_leaf_count) [[unlikely]] {
    return nullptr;
  }
  return __atomic_load_n(&page_map[number], __ATOMIC_RELAXED);
}
[[gnu::always_inline]] inline std::size_t unit_in_leaf(const void* address) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address)) >> unit_shift;
}

/// The calling thread's heap. It is never null: it is a static empty heap until the thread first allocates. It is
/// constant-initialised and trivially destructible, so that a read costs one load and works at any time in a thread's
/// life.
extern constinit thread_local heap_front* local_heap [[gnu::tls_model("initial-exec")]];

/// The paths that are not inline. `front` is the heap that the caller found in `local_heap`. They return null when no
/// memory is left.
void* allocate_slow(heap_front* front, size_class index) noexcept;
void deallocate_slow(heap_front* front, void* block) noexcept;
/// Returns a block for any size and alignment; null when no memory is left.
void* allocate_any(heap_front* front, std::size_t bytes, std::size_t alignment) noexcept;
/// Returns a block of whole units; sets `is_zeroed`, if not null: true if its bytes are zero.
void* allocate_large(heap_front* front, std::size_t bytes, std::size_t alignment, bool* is_zeroed) noexcept;
/// Gives back a block that should have `index`; reports a fault if it has another class. Null is allowed.
void deallocate_slow(heap_front* front, void* block, size_class index) noexcept;

/// Ends the program: two threads are inside of one heap object.
[[noreturn, gnu::cold]] void report_two_threads(const heap_front* front) noexcept;

/// With TARN_CHECKS, names two threads that use one heap object at the same moment, before they hand out one block
/// twice. The exchange lets one of them in. Both its orders are relaxed, so that a race of the program stays one for
/// ThreadSanitizer.
class [[nodiscard]] inside_heap {
 public:
  /// The word of a heap that is no heap object: it has one thread, or a lock.
  static constexpr std::uintptr_t unwatched = 1;

#if TARN_CHECKS
  [[gnu::always_inline]] explicit inside_heap(heap_front* front) noexcept : front_(nullptr) {
    const auto caller = reinterpret_cast<std::uintptr_t>(&local_heap);
    const std::uintptr_t before = __atomic_load_n(&front->user, __ATOMIC_RELAXED);
    if (before != unwatched && before != caller) {  // else this thread is inside already
      if (__atomic_exchange_n(&front->user, caller, __ATOMIC_RELAXED) != 0) [[unlikely]] {
        report_two_threads(front);
      }
      front_ = front;
      asm volatile("" ::: "memory");
    }
  }
  [[gnu::always_inline]] ~inside_heap() {
    if (front_ != nullptr) {
      asm volatile("" ::: "memory");
      __atomic_store_n(&front_->user, 0, __ATOMIC_RELAXED);
    }
  }
  inside_heap(const inside_heap&) = delete;
  inside_heap& operator=(const inside_heap&) = delete;

 private:
  heap_front* front_;
#else
  [[gnu::always_inline]] explicit inside_heap(heap_front*) noexcept {}
#endif
};

inline void mark_allocated([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes) noexcept {
#if TARN_ADDRESS_SANITIZER
  if (block != nullptr) __asan_unpoison_memory_region(block, bytes);
#endif
}
// It comes before the block is pushed: a visitor may take a pushed block away at any moment, and its memory may be in
// use again when the owner goes on (memory/heap/idle_fronts.cpp).
inline void mark_free([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes) noexcept {
#if TARN_ADDRESS_SANITIZER
  __asan_poison_memory_region(block, bytes);
#endif
}

/// Returns a block of class `index` from `front`; null when no memory is left.
[[gnu::always_inline]] inline void* allocate(heap_front* front, size_class index) noexcept {
  [[maybe_unused]] const inside_heap use(front);
  void* block = index < first_large_class ? pop(top_in(front, index)) : pop_watched(top_in(front, index));
  if (block == nullptr) [[unlikely]] {
    block = allocate_slow(front, index);
  }
  mark_allocated(block, size_of(index));
  note_allocated(block);
  return block;
}

/// Returns the key of the unit in which `address` lies; 0 when there is none. Acquire is for callers that go on to
/// use the heap that the key names: its thread may have taken the slab over and never have synchronised with the
/// caller.
template <int Order = __ATOMIC_RELAXED>
[[gnu::always_inline]] inline std::uintptr_t key_of(const void* address) noexcept {
  const page_leaf* const leaf = leaf_of(address);
  if (leaf == nullptr) [[unlikely]] {
    return 0;
  }
  return __atomic_load_n(&leaf->keys[unit_in_leaf(address)], Order);
}

/// Gives back a block of class `index` that any heap may own; null is allowed.
[[gnu::always_inline]] inline void deallocate(heap_front* front, void* block, size_class index) noexcept {
  if (key_of(block) != reinterpret_cast<std::uintptr_t>(front) + index) [[unlikely]] {
    deallocate_slow(front, block, index);
    return;
  }
  [[maybe_unused]] const inside_heap use(front);
  void*** const class_top = top_in(front, index);
  void** const top = *class_top;
  if (reinterpret_cast<std::uintptr_t>(top) % magazine_bytes == 0) [[unlikely]] {
    deallocate_slow(front, block, index);
    return;
  }
  note_free(block);
  mark_free(block, size_of(index));
  push(class_top, top, block);
}

/// Gives back a block of any class or size; null is allowed.
[[gnu::always_inline]] inline void deallocate(heap_front* front, void* block) noexcept {
  const std::uintptr_t index = key_of(block) ^ reinterpret_cast<std::uintptr_t>(front);
  if (index >= class_count) [[unlikely]] {
    deallocate_slow(front, block);
    return;
  }
  [[maybe_unused]] const inside_heap use(front);
  void*** const class_top = top_in(front, static_cast<size_class>(index));
  void** const top = *class_top;
  if (reinterpret_cast<std::uintptr_t>(top) % magazine_bytes == 0) [[unlikely]] {
    deallocate_slow(front, block);
    return;
  }
  note_free(block);
  mark_free(block, size_of(static_cast<size_class>(index)));
  push(class_top, top, block);
}

/// Does what class_of does, for sizes that are known only at run time. It uses a table for the most common sizes,
/// because class_of has branches there that are hard to predict.
inline constexpr class_table classes;
[[gnu::always_inline]] inline size_class quick_class_of(std::size_t bytes) noexcept {
  if (__builtin_constant_p(bytes) || bytes > tabled_bytes) return class_of(bytes);
  return classes.classes[(bytes + block_alignment - 1) / block_alignment];
}

/// Returns a block for `bytes` at `alignment`; null when no memory is left.
[[gnu::always_inline]] inline void* allocate(heap_front* front, std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes <= largest_class_size && alignment <= block_alignment) [[likely]] {
    return allocate(front, quick_class_of(bytes));
  }
  return allocate_any(front, bytes, alignment);
}

/// Gives back a block of allocate(front, bytes, alignment); null is allowed.
[[gnu::always_inline]] inline void deallocate(heap_front* front, void* block, std::size_t bytes,
                                              std::size_t alignment) noexcept {
  if (bytes <= largest_class_size && alignment <= block_alignment) [[likely]] {
    deallocate(front, block, quick_class_of(bytes));
  } else {
    deallocate_slow(front, block);
  }
}

/// Throws std::bad_alloc; ends the program where exceptions are compiled out.
[[noreturn]] void throw_bad_alloc();

}  // namespace tarn::detail
