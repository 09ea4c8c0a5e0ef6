// A slab: a run of units cut into equal blocks, described outside of itself.
//
// The state of a block is one bit here, so nothing is ever written into a free
// block: no link to follow into a cold cache line, none to corrupt, and a page
// whose blocks are all free can be given back while its slab lives on.
//
// A *large block* is a run that is one block; it has a slab with capacity 1.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "base/check.hpp"
#include "base/list.hpp"
#include "pages/page_map.hpp"

namespace tarn::pages {

struct segment;

/// Numbers of a size class that are worth computing once.
struct class_shape {
  std::uint32_t block_bytes;
  std::uint16_t units;     ///< in a slab
  std::uint16_t capacity;  ///< blocks in a slab
  std::uint64_t inverse;   ///< ⌈2^40 / block_bytes⌉: division by multiplication
};

inline constexpr std::size_t most_blocks = unit_bytes / detail::block_alignment;

/// At least 8 blocks in a slab, 4 where they are larger than 32 KiB; above 8 KiB as many
/// units as it takes for no more than a sixteenth to be left over behind the last block.
constexpr class_shape shape_of(detail::size_class index) noexcept {
  const std::size_t bytes = detail::size_of(index);
  const std::size_t least = bytes <= (std::size_t{32} << 10) ? 8 : 4;
  std::size_t units = base::divide_up(bytes * least, unit_bytes);
  if (bytes > (std::size_t{8} << 10)) {
    while (units * unit_bytes % bytes > units * unit_bytes / 16) {
      ++units;
    }
  }
  return {.block_bytes = static_cast<std::uint32_t>(bytes),
          .units = static_cast<std::uint16_t>(units),
          .capacity = static_cast<std::uint16_t>(units * unit_bytes / bytes),
          .inverse = ((std::uint64_t{1} << 40) + bytes - 1) / bytes};
}

struct class_shapes {
  class_shape of[detail::class_count];
  consteval class_shapes() noexcept : of{} {
    for (detail::size_class index = 0; index < detail::class_count; ++index) {
      of[index] = shape_of(index);
      // x / bytes == x * inverse >> 40 for every offset x in a slab.
      const std::uint64_t error = of[index].inverse * of[index].block_bytes - (std::uint64_t{1} << 40);
      const std::uint64_t offsets = std::uint64_t{of[index].units} * unit_bytes;
      if (error * offsets >= (std::uint64_t{1} << 40) || of[index].capacity > most_blocks) {
        __builtin_unreachable();  // not a constant expression: the build stops here
      }
    }
  }
};
inline constexpr class_shapes shapes;

/// The slabs of this class and of all larger ones have several units.
inline constexpr detail::size_class first_wide = detail::class_of((std::size_t{8} << 10) + 1);
static_assert(shapes.of[first_wide - 1].units == 1 && shapes.of[first_wide].units > 1);

/// Whether a block of a class may start at an address, by its offset in a unit. In a
/// slab of one unit that must be a multiple of the block size, and not the one behind
/// the last block; in a larger one (blocks above 8 KiB) a multiple of what size and unit
/// have in common, and the slab checks the rest when it gets the block back (the drop-in
/// before it hands the block out). With
/// factor = ⌊2^32 / step⌋ + 1, offset * factor, modulo 2^32, is small for multiples only
/// (D. Lemire, O. Kaser, N. Kurz, "Faster Remainder by Direct Computation", 2019), and
/// grows with them: k * step gives k * (factor * step - 2^32).
struct start_table {
  struct {
    std::uint32_t factor;
    std::uint32_t limit;  ///< of the product
  } of[detail::class_count];
  consteval start_table() noexcept : of{} {
    for (detail::size_class index = 0; index < detail::class_count; ++index) {
      const class_shape shape = shape_of(index);
      const std::uint64_t step = shape.units == 1 ? shape.block_bytes : std::gcd(shape.block_bytes, unit_bytes);
      const std::uint64_t factor = (std::uint64_t{1} << 32) / step + 1;
      const std::uint64_t grows_by = factor * step - (std::uint64_t{1} << 32);
      const std::uint64_t limit = shape.units == 1 ? shape.capacity * grows_by : factor;
      if (factor >> 32 != 0 || limit > factor || ((unit_bytes - 1) / step + 1) * grows_by >= factor) {
        __builtin_unreachable();  // not a constant expression: the build stops here
      }
      of[index].factor = static_cast<std::uint32_t>(factor);
      of[index].limit = static_cast<std::uint32_t>(limit);
    }
  }
};
inline constexpr start_table starts;
[[gnu::always_inline]] inline bool may_start_at(const void* block, detail::size_class index) noexcept {
  const auto offset = static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(block));
  return offset * starts.of[index].factor < starts.of[index].limit;
}

/// Written by the owner of the slab only. Invariant:
///   free_blocks == number of set bits in free[0, words)  (a large block: 0 words)
///   no bit is set in a word below `hint`, none beyond `capacity`
///   page map entry of every unit → this slab
struct slab : base::list_links<slab> {
  char* start;
  segment* home;      ///< null: a mapping of its own
  std::size_t bytes;  ///< of a large block: usable bytes
  std::uint32_t units;
  std::uint16_t capacity;     ///< blocks
  std::uint16_t free_blocks;  ///< set bits
  std::uint16_t hint;         ///< lowest word that may have a set bit
  std::uint16_t set_aside;    ///< blocks that wait for the owner: not the owner's to write, see heap/set_aside.cpp
  std::uint8_t index;         ///< size class
  bool zeroed;                ///< a large block: its bytes still read as zero
  std::uint64_t free[most_blocks / 64];

  bool full() const noexcept { return free_blocks == 0; }
  bool empty() const noexcept { return free_blocks == capacity; }

  /// Cuts the slab into blocks of class `index_`, all free.
  void cut(detail::size_class index_) noexcept;

  /// Takes up to `most` free blocks, lowest first, and writes them downwards from
  /// `end`, so that a magazine hands them out in order; returns how many.
  std::size_t take(void** end, std::size_t most) noexcept;

  /// Gives a block back. Reports a fault if it is none, or free already.
  void give(void* block_) noexcept {
    const std::size_t number = number_of(block_);
    const std::size_t word = number / 64;
    const std::uint64_t bit = std::uint64_t{1} << (number % 64);
    if (number >= capacity || block(number) != block_ || (free[word] & bit) != 0) [[unlikely]] {
      report_bad_give(block_);
    }
    free[word] |= bit;
    ++free_blocks;
    if (word < hint) {
      hint = static_cast<std::uint16_t>(word);
    }
  }

  /// The block that contains `address`, an address in the slab.
  std::size_t number_of(const void* address) const noexcept {
    const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(address) - start);
    return (offset * shapes.of[index].inverse) >> 40;
  }
  char* block(std::size_t number) const noexcept { return start + number * shapes.of[index].block_bytes; }

  bool is_valid() const noexcept;

 private:
  [[noreturn]] void report_bad_give(void* block_) const noexcept;
};

}  // namespace tarn::pages
