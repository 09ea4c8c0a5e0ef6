// The live-block table: it keeps a record of each block in use until the block is freed. With sampling, the table in
// sampled_blocks.hpp is used instead.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "profiler/format/region.hpp"

namespace tarn::preload {

struct allocation_record {
  std::uint32_t weight = 0;  // the number of blocks that this one stands for; 0: no block is known to begin here
  std::uint32_t site = 0;
  std::uint32_t owner = 0;     // the thread that allocated it
  bool is_early = false;       // allocated before the second thread began
  std::uint64_t sequence = 0;  // the owner's count of allocations at that time
  std::uint64_t time = 0;      // of the processor's clock; 0: not measured
  std::uint64_t bytes = 0;     // as requested
};

// Holds one word for each granule of the program's heap, which is found from the address. It needs no lock and no
// search: only the thread that has a block writes its word, and a thread that hands a block over hands over the word
// with it. The word keeps the low 28 bits of `sequence`, and no `time`. The block's size stands in a byte for each
// granule: a size below 255 in the first one, a larger one in the six behind it, where no other block begins.
class live_blocks {
 public:
  // Call this once before everything else, and again in a child of fork, where the table is then empty (the parent's
  // leaves stay mapped there). Returns false when there is no address space for the table.
  static bool set_up() noexcept;

  // Returns false when there is no memory for a leaf. The caller must be the only thread that has the block.
  static bool add(const void* block, const allocation_record& record) noexcept {
    std::atomic<word*>& leaf_pointer = leaf_of(block);
    word* leaf = leaf_pointer.load(std::memory_order_acquire);
    if (leaf == nullptr) [[unlikely]] {
      leaf = make_leaf(leaf_pointer, block);
      if (leaf == nullptr) return false;
    }
    packed packed_record;
    packed_record.is_used = 1;
    packed_record.is_early = record.is_early ? 1 : 0;
    packed_record.site = record.site & (format::max_sites - 1);
    packed_record.owner = record.owner & format::max_threads;
    packed_record.sequence = record.sequence & ((1U << 28) - 1);
    leaf[index_of(block)].store(std::bit_cast<std::uint64_t>(packed_record), std::memory_order_relaxed);
    store_size(size_of_block(leaf, block), record.bytes);
    return true;
  }

  static bool contains(const void* block) noexcept {
    const word* const leaf = leaf_of(block).load(std::memory_order_acquire);
    return leaf != nullptr && leaf[index_of(block)].load(std::memory_order_relaxed) != 0;
  }

  // The size of a granule of address space. In each granule at most one block begins, or one at an odd multiple of 8
  // and one at another address.
  static std::uint32_t granule() noexcept { return 1U << granule_shift; }

  // Calls take(address, bytes, site) for each block of a mebibyte of addresses, with the address rounded down to the
  // granule. No other thread may run.
  template <class Take>
  static void for_each(std::uintptr_t mebibyte, Take take) noexcept {
    word* const leaf = table[mebibyte & (leaves - 1)].load(std::memory_order_acquire);
    if (leaf == nullptr) return;
    constexpr std::size_t half_words = leaf_words / 2;
    for (std::size_t index = 0; index < leaf_words; ++index) {
      const auto record = std::bit_cast<packed>(leaf[index].load(std::memory_order_relaxed));
      if (record.is_used == 0) continue;
      const std::uintptr_t address =
          mebibyte << leaf_shift | (index % half_words) << granule_shift | (index < half_words ? 0U : 8U);
      take(address, load_size(size_of_block(leaf, reinterpret_cast<const void*>(address))),
           static_cast<std::uint32_t>(record.site));
    }
  }

  // Returns the record of the block and removes it. The weight is 0 when there was none.
  static allocation_record take(const void* block) noexcept {
    word* const leaf = leaf_of(block).load(std::memory_order_acquire);
    if (leaf == nullptr) [[unlikely]]
      return {};
    word& word_of_block = leaf[index_of(block)];
    const auto packed_record = std::bit_cast<packed>(word_of_block.load(std::memory_order_relaxed));
    if (packed_record.is_used == 0) [[unlikely]]
      return {};
    word_of_block.store(0, std::memory_order_relaxed);
    return {1,
            static_cast<std::uint32_t>(packed_record.site),
            static_cast<std::uint32_t>(packed_record.owner),
            packed_record.is_early != 0,
            packed_record.sequence,
            0,
            load_size(size_of_block(leaf, block))};
  }

 private:
  using word = std::atomic<std::uint64_t>;
  struct packed {
    std::uint64_t is_used : 1 = 0;
    std::uint64_t is_early : 1 = 0;
    std::uint64_t site : 20 = 0;
    std::uint64_t owner : 14 = 0;
    std::uint64_t sequence : 28 = 0;
  };
  static_assert(sizeof(packed) == 8 && format::max_sites == 1U << 20 && format::max_threads < 1U << 14);

  // A leaf has the words of 1 MiB of heap; the table covers all leaves of a program's 47 address bits. A leaf's
  // second half is for blocks at odd multiples of 8, which glibc never returns. Behind the words stand the bytes with
  // the sizes, in two halves likewise, each with room for the size of a block that continues in the next leaf. The
  // kernel provides its pages only when they are touched.
  static constexpr unsigned leaf_shift = 20, address_bits = 47;
  static constexpr std::size_t leaf_words = std::size_t{2} << (leaf_shift - 4);
  static constexpr std::size_t half_sizes = leaf_words / 2 + 8;
  static constexpr std::size_t leaf_bytes = leaf_words * sizeof(word) + 2 * half_sizes;
  static constexpr std::uint8_t size_behind = 255;
  static constexpr std::size_t leaves = std::size_t{1} << (address_bits - leaf_shift);
  static constinit unsigned granule_shift;     // NOLINT(bugprone-dynamic-static-initializers)
  static constinit std::atomic<word*>* table;  // NOLINT(bugprone-dynamic-static-initializers)

  static std::atomic<word*>& leaf_of(const void* block) noexcept {
    return table[(reinterpret_cast<std::uintptr_t>(block) >> leaf_shift) & (leaves - 1)];
  }
  static std::size_t index_of(const void* block) noexcept {
    constexpr std::uintptr_t odd = 8;
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    // Each half is as long as the smallest granule needs, so a shift selects the half.
    return (address & ((std::uintptr_t{1} << leaf_shift) - 1)) >> granule_shift | (address & odd)
                                                                                      << (leaf_shift - 4 - 3);
  }
  static std::uint8_t* size_of_block(word* leaf, const void* block) noexcept {
    constexpr std::size_t half_words = leaf_words / 2;
    const std::size_t index = index_of(block);
    return reinterpret_cast<std::uint8_t*>(leaf + leaf_words) + index +
           (index < half_words ? 0 : half_sizes - half_words);
  }
  static void store_size(std::uint8_t* storage, std::uint64_t bytes) noexcept {
    if (bytes < size_behind) {
      *storage = static_cast<std::uint8_t>(bytes);
      return;
    }
    const std::uint64_t shifted = bytes << 8 | size_behind;
    for (unsigned index = 0; index < 7; ++index) storage[index] = static_cast<std::uint8_t>(shifted >> 8 * index);
  }
  static std::uint64_t load_size(const std::uint8_t* storage) noexcept {
    if (*storage != size_behind) return *storage;
    std::uint64_t bytes = 0;
    for (unsigned index = 6; index > 0; --index) bytes = bytes << 8 | storage[index];
    return bytes;
  }
  [[gnu::noinline]] static word* make_leaf(std::atomic<word*>& leaf_pointer, const void* block) noexcept;
};

}  // namespace tarn::preload
