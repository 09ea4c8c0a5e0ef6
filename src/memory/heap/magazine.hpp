// Magazines: arrays of block addresses that move as a whole between their users.
//
// A magazine in front of a size class uses the last capacity_of(class) entries of its array and has null below them
// (see tarn/detail/fast_path.hpp). In a list its first entry is the link.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/detail/fast_path.hpp>

#include "base/bits.hpp"

namespace tarn::heaps {

using detail::magazine_slots;
using detail::size_class;

struct alignas(detail::magazine_bytes) magazine {
  void* slots[magazine_slots];

  void** end() noexcept { return slots + magazine_slots; }
  magazine*& next() noexcept { return *reinterpret_cast<magazine**>(slots); }
};
static_assert(sizeof(magazine) == detail::magazine_bytes);

inline bool is_full(void* const* top) noexcept {
  return reinterpret_cast<std::uintptr_t>(top) % detail::magazine_bytes == 0;
}

/// Returns the capacity of a class's front magazine: about 64 KiB of blocks, but no more blocks than the array can
/// hold and no fewer than four (two where one block exceeds 64 KiB).
constexpr std::size_t capacity_of(size_class index) noexcept {
  const std::size_t fit = (std::size_t{64} << 10) / detail::size_of(index);
  const std::size_t slots = fit < 4 ? (fit < 1 ? 2 : 4) : fit;
  return slots < magazine_slots - 1 ? slots : magazine_slots - 1;
}

/// Returns the first capacity of a front magazine: about 8 KiB of blocks. Other threads cannot reclaim its blocks while
/// the owner sleeps, so the capacity grows only when the class has needed blocks again that it had given up.
constexpr std::size_t first_capacity_of(size_class index) noexcept {
  const std::size_t fit = (std::size_t{8} << 10) / detail::size_of(index);
  return fit < 1 ? 1 : fit < capacity_of(index) ? fit : capacity_of(index);
}

struct capacity_table {
  std::uint16_t blocks[detail::class_count];
  std::uint16_t first[detail::class_count];
  consteval capacity_table() noexcept : blocks{}, first{} {
    for (size_class index = 0; index < detail::class_count; ++index) {
      blocks[index] = static_cast<std::uint16_t>(capacity_of(index));
      first[index] = static_cast<std::uint16_t>(first_capacity_of(index));
    }
  }
};
inline constexpr capacity_table capacities;

/// Returns the number of blocks that stay in front when a full magazine is exchanged: then neither the next frees nor
/// the next allocations reach the other end at once.
constexpr std::size_t front_count_of(size_class index) noexcept { return capacities.blocks[index] / 4; }

/// Returns the number of blocks that move together between the front and the depot or the slabs.
constexpr std::size_t batch_of(size_class index) noexcept { return capacities.blocks[index] - front_count_of(index); }

/// Returns the start of an empty magazine for class `index`; the entry before it is null.
inline void** bottom_of(magazine* array, size_class index) noexcept { return array->end() - capacities.blocks[index]; }

/// Holds the full batches of a class behind its front. Invariant: each batch has exactly batch_of(class) blocks, from
/// bottom_of on.
struct depot {
  magazine* first = nullptr;
  std::uint32_t count = 0;
  std::uint32_t low = 0;  ///< the least count since the last decay: this many were not needed

  void push(magazine* full) noexcept {
    full->next() = first;
    first = full;
    ++count;
  }
  magazine* pop() noexcept {
    magazine* const full = first;
    first = full->next();
    full->next() = nullptr;
    if (--count < low) low = count;
    return full;
  }
  /// Takes the batches that were not needed since the last call, which are the oldest. Returns them as a list by
  /// next() that ends in null.
  magazine* take_unneeded() noexcept {
    magazine** link = &first;
    for (std::uint32_t remaining = count - low; remaining != 0; --remaining) link = &(*link)->next();
    magazine* const unneeded = *link;
    *link = nullptr;
    count -= low;
    low = count;
    return unneeded;
  }
};

/// Keeps the empty arrays of one heap; the process's pool has the rest.
class magazine_stock {
 public:
  /// Returns an array with null below the entries of class `index`; null without memory.
  magazine* take(size_class index) noexcept {
    magazine* const array = take_any();
    if (array != nullptr) bottom_of(array, index)[-1] = nullptr;
    return array;
  }
  /// Returns an array with unspecified contents; null without memory.
  magazine* take_any() noexcept;
  void give(magazine* array) noexcept;
  /// Returns one array to the process's pool. Any thread may call it.
  static void discard(magazine* array) noexcept;
  /// Returns all arrays to the process's pool.
  void clear() noexcept;
  bool empty() const noexcept { return first_ == nullptr; }

 private:
  static constexpr std::uint32_t max_arrays = 32;
  magazine* first_ = nullptr;
  std::uint32_t count_ = 0;
};

}  // namespace tarn::heaps
