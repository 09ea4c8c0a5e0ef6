// A slab: a run of units cut into equal blocks. Its description lies outside of it.
//
// The description has one bit for the state of each block, so nothing is ever written into a free block. There is no
// link to follow into a cold cache line and none to corrupt, and a page whose blocks are all free can go back to the
// system while its slab lives on.
//
// A *large block* is a run that is one block. It has a slab with capacity 1.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "base/check.hpp"
#include "base/list.hpp"
#include "memory/pages/page_map.hpp"
#include "memory/pages/remote_frees.hpp"

namespace tarn::pages {

struct segment;

/// Holds numbers of a size class that are worth computing once.
struct class_shape {
  std::uint32_t block_bytes;
  std::uint16_t units;     ///< units in a slab
  std::uint16_t capacity;  ///< blocks in a slab
  std::uint64_t inverse;   ///< ⌈2^40 / block_bytes⌉, which replaces a division by a multiplication
};

inline constexpr std::size_t max_blocks = unit_bytes / detail::block_alignment;

/// Holds the words of the remote frees of one slab.
struct remote_bits {
  std::atomic<std::uint64_t> bits[max_blocks / 64];
};

/// Returns the shape of a class. A slab has at least 8 blocks, or 4 where they are larger than 32 KiB. Above 8 KiB it
/// has as many units as it takes to leave no more than a sixteenth over behind the last block.
constexpr class_shape shape_of(detail::size_class index) noexcept {
  const std::size_t bytes = detail::size_of(index);
  const std::size_t min_blocks = bytes <= (std::size_t{32} << 10) ? 8 : 4;
  std::size_t units = base::divide_up(bytes * min_blocks, unit_bytes);
  if (bytes > (std::size_t{8} << 10)) {
    while (units * unit_bytes % bytes > units * unit_bytes / 16) ++units;
  }
  return {.block_bytes = static_cast<std::uint32_t>(bytes),
          .units = static_cast<std::uint16_t>(units),
          .capacity = static_cast<std::uint16_t>(units * unit_bytes / bytes),
          .inverse = ((std::uint64_t{1} << 40) + bytes - 1) / bytes};
}

struct class_shapes {
  class_shape classes[detail::class_count];
  consteval class_shapes() noexcept : classes{} {
    for (detail::size_class index = 0; index < detail::class_count; ++index) {
      classes[index] = shape_of(index);
      // x / bytes == x * inverse >> 40 for every offset x in a slab.
      const std::uint64_t error = classes[index].inverse * classes[index].block_bytes - (std::uint64_t{1} << 40);
      const std::uint64_t offsets = std::uint64_t{classes[index].units} * unit_bytes;
      if (error * offsets >= (std::uint64_t{1} << 40) || classes[index].capacity > max_blocks) {
        __builtin_unreachable();  // this is not a constant expression: the build stops here
      }
    }
  }
};
inline constexpr class_shapes shapes;

/// words_of returns the number of 64-block words of a slab; full_word returns the bits of one of them that stand for
/// a block.
constexpr std::size_t words_of(detail::size_class index) noexcept {
  return (shapes.classes[index].capacity + std::size_t{63}) / 64;
}
constexpr std::uint64_t full_word(detail::size_class index, std::size_t word) noexcept {
  const std::size_t left = shapes.classes[index].capacity - word * 64;
  return left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
}

/// Slabs of this class and of all larger ones have several units.
inline constexpr detail::size_class first_wide = detail::first_large_class;
static_assert(shapes.classes[first_wide - 1].units == 1 && shapes.classes[first_wide].units > 1);

/// Tells from the offset in a unit whether a block of a class may start at an address. In a slab of one unit the
/// offset must be a multiple of the block size, and not the one behind the last block. In a larger slab (blocks above
/// 8 KiB) it must be a multiple of the greatest common divisor of block size and unit; the slab checks the rest when
/// it gets the block back (the drop-in checks before it hands the block out). With factor = ⌊2^32 / step⌋ + 1, offset
/// * factor, modulo 2^32, is small for multiples only (D. Lemire, O. Kaser, N. Kurz, "Faster Remainder by Direct
/// Computation", 2019), and grows with them: k * step gives k * (factor * step - 2^32).
struct start_table {
  struct {
    std::uint32_t factor;
    std::uint32_t limit;  ///< the product stays below it
  } classes[detail::class_count];
  consteval start_table() noexcept : classes{} {
    for (detail::size_class index = 0; index < detail::class_count; ++index) {
      const class_shape shape = shape_of(index);
      const std::uint64_t step = shape.units == 1 ? shape.block_bytes : std::gcd(shape.block_bytes, unit_bytes);
      const std::uint64_t factor = (std::uint64_t{1} << 32) / step + 1;
      const std::uint64_t grows_by = factor * step - (std::uint64_t{1} << 32);
      const std::uint64_t limit = shape.units == 1 ? shape.capacity * grows_by : factor;
      if (factor >> 32 != 0 || limit > factor || ((unit_bytes - 1) / step + 1) * grows_by >= factor) {
        __builtin_unreachable();  // this is not a constant expression: the build stops here
      }
      classes[index].factor = static_cast<std::uint32_t>(factor);
      classes[index].limit = static_cast<std::uint32_t>(limit);
    }
  }
};
inline constexpr start_table starts;
[[gnu::always_inline]] inline bool may_start_at(const void* block, std::size_t index) noexcept {
  const auto offset = static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(block));
  return offset * starts.classes[index].factor < starts.classes[index].limit;
}

/// Tells from the offset in a slab of several units whether a block starts there, in the way of start_table, with 64
/// bits.
struct wide_start_table {
  struct {
    std::uint64_t factor;
    std::uint64_t limit;  ///< the product stays below it
  } classes[detail::class_count - first_wide];
  consteval wide_start_table() noexcept : classes{} {
    for (detail::size_class index = first_wide; index < detail::class_count; ++index) {
      const class_shape shape = shape_of(index);
      // ⌊2^64 / bytes⌋ + 1; only a power of two divides 2^64.
      const std::uint64_t factor =
          ~std::uint64_t{0} / shape.block_bytes + (std::has_single_bit(shape.block_bytes) ? 2 : 1);
      const std::uint64_t grows_by = factor * shape.block_bytes;  // modulo 2^64
      if ((shape.units * unit_bytes / shape.block_bytes + 1) * grows_by >= factor) {
        __builtin_unreachable();  // this is not a constant expression: the build stops here
      }
      classes[index - first_wide] = {factor, shape.capacity * grows_by};
    }
  }
};
inline constexpr wide_start_table wide_starts;

/// Only the owner of the slab writes it, except for remote_frees. Invariant:
///   free_blocks == number of set bits in free[0, words)  (a large block: 0 words)
///   no bit is set in a word below `hint`, none beyond `capacity`
///   page map entry of every unit (a large block: of the first one) → this slab
struct slab : remote_frees, base::list_links<slab> {
  char* start;
  segment* home;      ///< null: the block has a mapping of its own
  std::size_t bytes;  ///< usable bytes of each block
  std::uint32_t units;
  std::uint16_t capacity;     ///< blocks
  std::uint16_t free_blocks;  ///< number of set bits
  std::uint16_t hint;         ///< lowest word that may have a set bit
  std::uint16_t purged_at;    ///< free_blocks at the last visit of purge_free_pages; 0: none since cut()
  std::uint16_t cleared;      ///< blocks from here on may hold anything: a hardened heap zeroes them first
  std::uint8_t index;         ///< size class
  bool has_moved_pages;       ///< its own mapping has pages that came from elsewhere
  bool is_zeroed;             ///< when it was taken, its bytes read as zero
  std::uint64_t free[max_blocks / 64];

  bool full() const noexcept { return free_blocks == 0; }
  bool empty() const noexcept { return free_blocks == capacity; }
  bool is_free(std::size_t number) const noexcept { return (free[number / 64] >> (number % 64) & 1) != 0; }

  /// Cuts the slab into blocks of class `index_`, all free.
  void cut(detail::size_class index_) noexcept;

  /// Takes up to `limit` free blocks, lowest first, and writes them downwards from `end`, so that a magazine hands them
  /// out in order; returns how many.
  std::size_t take(void** end, std::size_t limit) noexcept;

  /// Gives a block back. Reports a fault if no block starts there, or if it is already free.
  void give(void* block_) noexcept {
    const std::size_t number = number_of(block_);
    const std::size_t word = number / 64;
    const std::uint64_t bit = std::uint64_t{1} << (number % 64);
    if (number >= capacity || block(number) != block_ || (free[word] & bit) != 0) [[unlikely]] {
      report_bad_give(block_);
    }
    free[word] |= bit;
    ++free_blocks;
    if (word < hint) hint = static_cast<std::uint16_t>(word);
  }

  /// Gives the blocks `freed` of a word back. Reports a fault if one of them is already free.
  void give_word(std::size_t word, std::uint64_t freed) noexcept {
    if ((free[word] & freed) != 0) [[unlikely]] {
      report_free_already(word, free[word] & freed);
    }
    free[word] |= freed;
    free_blocks = static_cast<std::uint16_t>(free_blocks + std::popcount(freed));
    if (word < hint) hint = static_cast<std::uint16_t>(word);
  }

  /// Returns the number of the block that contains `address`, an address in the slab.
  std::size_t number_of(const void* address) const noexcept {
    const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(address) - start);
    return (offset * shapes.classes[index].inverse) >> 40;
  }
  /// Returns true if a block starts at `address`, an address in this slab, whose class `index_` is at least first_wide.
  bool starts_block(const void* address, detail::size_class index_) const noexcept {
    const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(address) - start);
    const auto& numbers = wide_starts.classes[index_ - first_wide];
    return offset * numbers.factor < numbers.limit;
  }
  char* block(std::size_t number) const noexcept { return start + number * shapes.classes[index].block_bytes; }

  /// Gives the pages back in which only free blocks lie; the slab stays as it is. Returns the bytes that went to the
  /// system. Does nothing if as many blocks are free as the last time. Cost: a system call for every run of such
  /// pages.
  std::size_t purge_free_pages() noexcept;

  bool is_valid() const noexcept;

 private:
  /// These return the first block from `number` on that is free, or in use; `capacity` if there is none.
  std::size_t next_free(std::size_t number) const noexcept { return find<0>(number); }
  std::size_t next_used(std::size_t number) const noexcept { return find<~std::uint64_t{0}>(number); }
  template <std::uint64_t Flip>
  std::size_t find(std::size_t number) const noexcept;
  [[noreturn]] void report_bad_give(void* block_) const noexcept;
  [[noreturn]] void report_free_already(std::size_t word, std::uint64_t bits) const noexcept;
};

}  // namespace tarn::pages
