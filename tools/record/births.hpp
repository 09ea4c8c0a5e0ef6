// What is remembered of each block in use, until it is freed; where blocks are sampled, sampled_blocks.hpp does it.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "format/region.hpp"

namespace tarn::record {

struct birth {
  std::uint32_t weight = 0;  // for how many blocks it stands; 0 where no block is known to begin
  std::uint32_t site = 0;
  std::uint32_t owner = 0;     // the thread that allocated it
  bool early = false;          // before the second thread
  std::uint64_t sequence = 0;  // the owner's number of the allocation
  std::uint64_t time = 0;      // of the processor's clock; 0 where it was not looked at
};

// A word for each granule of the program's heap, found from the address. No lock and no search: who has a block is the
// only one to write its word, and a block that is handed to another thread brings its word with it. Of a birth it has
// the low 28 bits of `sequence`, and no `time`.
class births {
 public:
  // Once, before all else, and again in a child of fork, for which no block is known (the parent's leaves stay mapped
  // there). False when there is no address space for it.
  static bool set_up() noexcept;

  // False where no memory could be had for it. Who calls has the block, and no other thread does.
  static bool note(const void* block, const birth& born) noexcept {
    std::atomic<word*>& place = leaf_of(block);
    word* leaf = place.load(std::memory_order_acquire);
    if (leaf == nullptr) [[unlikely]] {
      leaf = make_leaf(place);
      if (leaf == nullptr) return false;
    }
    packed made;
    made.known = 1;
    made.early = born.early ? 1 : 0;
    made.site = born.site & (format::most_sites - 1);
    made.owner = born.owner & format::most_threads;
    made.sequence = born.sequence & ((1U << 28) - 1);
    leaf[place_of(block)].store(std::bit_cast<std::uint64_t>(made), std::memory_order_relaxed);
    return true;
  }

  static bool knows(const void* block) noexcept {
    const word* const leaf = leaf_of(block).load(std::memory_order_acquire);
    return leaf != nullptr && leaf[place_of(block)].load(std::memory_order_relaxed) != 0;
  }

  // What was noted, forgotten with that.
  static birth take(const void* block) noexcept {
    word* const leaf = leaf_of(block).load(std::memory_order_acquire);
    if (leaf == nullptr) [[unlikely]]
      return {};
    word& from = leaf[place_of(block)];
    const auto found = std::bit_cast<packed>(from.load(std::memory_order_relaxed));
    if (found.known == 0) [[unlikely]]
      return {};
    from.store(0, std::memory_order_relaxed);
    return {1,
            static_cast<std::uint32_t>(found.site),
            static_cast<std::uint32_t>(found.owner),
            found.early != 0,
            found.sequence,
            0};
  }

 private:
  using word = std::atomic<std::uint64_t>;
  struct packed {
    std::uint64_t known : 1 = 0;
    std::uint64_t early : 1 = 0;
    std::uint64_t site : 20 = 0;
    std::uint64_t owner : 14 = 0;
    std::uint64_t sequence : 28 = 0;
  };
  static_assert(sizeof(packed) == 8 && format::most_sites == 1U << 20 && format::most_threads < 1U << 14);

  // A leaf has the words of 1 MiB of heap; the table has all leaves of the 47 bits of a program's addresses. A leaf's
  // second half is for blocks at odd multiples of 8, of which glibc has none; its pages are used as they are touched.
  static constexpr unsigned leaf_shift = 20, address_bits = 47;
  static constexpr std::size_t leaves = std::size_t{1} << (address_bits - leaf_shift);
  static constinit unsigned granule_shift;     // NOLINT(bugprone-dynamic-static-initializers)
  static constinit std::atomic<word*>* table;  // NOLINT(bugprone-dynamic-static-initializers)

  static std::atomic<word*>& leaf_of(const void* block) noexcept {
    return table[(reinterpret_cast<std::uintptr_t>(block) >> leaf_shift) & (leaves - 1)];
  }
  static std::size_t place_of(const void* block) noexcept {
    constexpr std::uintptr_t odd = 8;
    const auto at = reinterpret_cast<std::uintptr_t>(block);
    // The two halves are each as long as the smallest granule needs, so that which one it is is a shift.
    return (at & ((std::uintptr_t{1} << leaf_shift) - 1)) >> granule_shift | (at & odd) << (leaf_shift - 4 - 3);
  }
  [[gnu::noinline]] static word* make_leaf(std::atomic<word*>& place) noexcept;
};

}  // namespace tarn::record
