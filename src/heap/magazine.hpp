// Magazines: arrays of block addresses, handed about whole.
//
// A magazine in front of a size class uses the last capacity_of(class) entries
// of its array and has null below them (see tarn/detail/fast_path.hpp). While it
// waits in a list its first entry is the link.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/detail/fast_path.hpp>

#include "base/bits.hpp"
#include "platform/mutex.hpp"

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

/// Blocks of a class that wait in front at most: as many as fit, about 64 KiB of
/// them where they are large, two where they are very large.
constexpr std::size_t capacity_of(size_class index) noexcept {
  const std::size_t fit = (std::size_t{64} << 10) / detail::size_of(index);
  const std::size_t least = fit < 4 ? (fit < 1 ? 2 : 4) : fit;
  return least < magazine_slots - 1 ? least : magazine_slots - 1;
}

struct capacity_table {
  std::uint16_t of[detail::class_count];
  consteval capacity_table() noexcept : of{} {
    for (size_class index = 0; index < detail::class_count; ++index) {
      of[index] = static_cast<std::uint16_t>(capacity_of(index));
    }
  }
};
inline constexpr capacity_table capacities;

/// What stays in front when a full magazine is exchanged: then neither the next
/// frees nor the next allocations meet the other end at once.
constexpr std::size_t kept_of(size_class index) noexcept { return capacities.of[index] / 4; }

/// Blocks that move at once, between the front and what lies beneath.
constexpr std::size_t batch_of(size_class index) noexcept { return capacities.of[index] - kept_of(index); }

/// Where an empty magazine for class `index` begins; the entry before is null.
inline void** bottom_of(magazine* array, size_class index) noexcept { return array->end() - capacities.of[index]; }

/// Batches of a class that wait behind the front. Invariant: each holds exactly
/// batch_of(class) blocks, from bottom_of on.
struct depot {
  magazine* first = nullptr;
  std::uint32_t count = 0;
  std::uint32_t low = 0;  ///< the least count since the last decay: not needed lately

  void push(magazine* full) noexcept {
    full->next() = first;
    first = full;
    ++count;
  }
  magazine* pop() noexcept {
    magazine* const full = first;
    first = full->next();
    full->next() = nullptr;
    if (--count < low) {
      low = count;
    }
    return full;
  }
  /// Takes the batches that were not needed since the last call, those that have
  /// waited longest: a list by next(), null at its end.
  magazine* take_unneeded() noexcept {
    magazine** link = &first;
    for (std::uint32_t kept = count - low; kept != 0; --kept) {
      link = &(*link)->next();
    }
    magazine* const unneeded = *link;
    *link = nullptr;
    count -= low;
    low = count;
    return unneeded;
  }
};

/// Magazines that one heap has at hand; the rest wait with the process.
class magazine_stock {
 public:
  /// An array with null below the entries of class `index`; null: no memory.
  magazine* take(size_class index) noexcept {
    magazine* const array = take_any();
    if (array != nullptr) {
      bottom_of(array, index)[-1] = nullptr;
    }
    return array;
  }
  /// One with anything in it.
  magazine* take_any() noexcept;
  void give(magazine* array) noexcept;
  /// Everything back to the process.
  void clear() noexcept;

 private:
  static constexpr std::uint32_t most = 32;
  magazine* first_ = nullptr;
  std::uint32_t count_ = 0;
};

/// Held around a fork.
platform::mutex& magazine_lock() noexcept;

}  // namespace tarn::heaps
