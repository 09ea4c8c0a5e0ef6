// The page map leads from an address to a key and a slab, in two levels. The root has a leaf for each 4 GiB of a
// 48-bit address space; a leaf has the entries of the units in it.
//
// Leaves are made where units are mapped, and stay. So the map reaches every address that the kernel may give,
// wherever the program's own reservations lie, and a process pays only for what it uses. The root lies in zeroed
// memory of the library itself: it costs address space, but no page that is not used. (docs/design/page-map.md)
//
// A slab has an entry for each of its units, because a block may start in any of them. A large block of any size has
// one entry, for its first unit.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/detail/fast_path.hpp>

#include "base/bits.hpp"
#include "platform/mutex.hpp"

namespace tarn::pages {

inline constexpr std::size_t unit_bytes = std::size_t{1} << detail::unit_shift;

struct slab;

/// The low bits of a key, below the heap's address, hold a size class, or this mark.
inline constexpr std::uintptr_t large_mark = 126;  ///< the first unit of a large block
inline constexpr std::uintptr_t mark_mask = 127;
static_assert(detail::class_count <= large_mark && alignof(detail::heap_front) == mark_mask + 1);

class page_map {
 public:
  /// Maps whole units with platform::map; the entries for the first `covered` bytes can be set. Returns null without
  /// memory. Any thread may call it.
  static void* map(std::size_t bytes, std::size_t alignment, std::size_t covered) noexcept;

  /// Makes the leaves for [start, start + bytes). Returns false if the system refuses memory for them, and the entries
  /// cannot be set. Any thread may call it.
  [[nodiscard]] static bool cover(const void* start, std::size_t bytes) noexcept;

  /// Sets the entries of `units` units from `start`, which are covered. Any thread that owns the units may call it.
  /// Release: a slab can change hands while its blocks are out, and a thread that then finds the new owner in a key
  /// (detail::key_of, acquire) has never met that owner before.
  static void set(const void* start, std::size_t units, std::uintptr_t key, slab* s) noexcept;
  /// Sets the entry of a large block, which is that of its first unit.
  static void set_large(const void* start, std::uintptr_t owner, slab* s) noexcept {
    set(start, 1, owner | large_mark, s);
  }
  /// Marks a large block as free, as retire() does. Returns false if another thread has done so since the caller read
  /// `key`.
  [[nodiscard]] static bool claim_large(const void* start, std::uintptr_t key) noexcept {
    // relaxed: the program orders a free after everything else that it does with the block.
    return __atomic_exchange_n(&key_at(start), 0, __ATOMIC_RELAXED) == key;
  }
  /// Undoes claim_large() for a block that is handed out again, perhaps by another owner's heap.
  static void revive_large(const void* start, std::uintptr_t owner) noexcept {
    __atomic_store_n(&key_at(start), owner | large_mark, __ATOMIC_RELEASE);  // as in set()
  }
  /// Marks the units as free: no block is there, but the entry keeps the former slab, which explains a late free.
  static void retire(const void* start, std::size_t units) noexcept;
  /// Clears the entries of units that no longer belong to the allocator.
  static void clear(const void* start, std::size_t units) noexcept { set(start, units, 0, nullptr); }

  /// Returns the lock, which is held around a fork.
  static platform::mutex& lock() noexcept;

  /// Returns the slab of the unit in which `address` lies; null if there is none, and beyond the first unit of a
  /// large block.
  static slab* slab_of(const void* address) noexcept {
    const detail::page_leaf* const leaf = detail::leaf_of(address);
    return leaf == nullptr
               ? nullptr
               : static_cast<slab*>(__atomic_load_n(&leaf->slabs[detail::unit_in_leaf(address)], __ATOMIC_RELAXED));
  }

  /// Returns the key of a block that was handed out before: its leaf exists. Acquire: set() says why.
  static std::uintptr_t key_of_block(const void* block) noexcept {
    return __atomic_load_n(&key_at(block), __ATOMIC_ACQUIRE);
  }
  /// Returns the slab of a block that was handed out before: its leaf exists.
  static slab* slab_of_block(const void* block) noexcept {
    const detail::page_leaf* const leaf = detail::leaf_of(block);
    if (leaf == nullptr) __builtin_unreachable();
    return static_cast<slab*>(__atomic_load_n(&leaf->slabs[detail::unit_in_leaf(block)], __ATOMIC_RELAXED));
  }

  /// Returns the large block in whose memory `address` lies, in its first unit or beyond it; null if there is none.
  /// Cost: it reads the entries below one by one. It serves faults, and guarded blocks with a large alignment.
  static slab* large_around(const void* address) noexcept;

 private:
  static std::uintptr_t& key_at(const void* covered) noexcept {
    const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(covered) >> detail::leaf_shift;
    return detail::page_map[number]->keys[detail::unit_in_leaf(covered)];
  }
};

}  // namespace tarn::pages
