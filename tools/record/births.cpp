#include "record/births.hpp"

#include <atomic>
#include <bit>
#include <cstddef>

#include "format/region.hpp"
#include "record/filter.hpp"
#include "record/memory.hpp"
#include "record/next.hpp"
#include "record/sampled_blocks.hpp"

namespace tarn::record {
namespace {

// Of every block: one word for each 16 bytes of the program's heap, found from the address. No lock and no search: who
// has a block is the only one to write its word, and a block that is handed to another thread brings its word with it.
struct packed_birth {
  std::uint64_t known : 1 = 0;
  std::uint64_t early : 1 = 0;
  std::uint64_t site : 20 = 0;
  std::uint64_t owner : 14 = 0;
  std::uint64_t sequence : 28 = 0;
};
static_assert(sizeof(packed_birth) == 8 && format::most_sites == 1U << 20 && format::most_threads < 1U << 14);

using word = std::atomic<std::uint64_t>;

// A leaf has the words of 1 MiB of heap; the table has all leaves of the 47 bits of a program's addresses.
constexpr unsigned leaf_shift = 20, address_bits = 47, granule_shift = 4;
constexpr std::size_t leaf_words = std::size_t{1} << (leaf_shift - granule_shift);
constexpr std::size_t leaves = std::size_t{1} << (address_bits - leaf_shift);

constinit bool is_sampled = false;
constinit std::atomic<word*>* table = nullptr;

[[gnu::noinline]] word* make_leaf(std::atomic<word*>& place) noexcept {
  auto* const made = static_cast<word*>(map(leaf_words * sizeof(word)));
  if (made == nullptr) return nullptr;
  word* there = nullptr;
  // Two threads may come at once. The leaf that loses stays mapped and untouched, which costs addresses only.
  return place.compare_exchange_strong(there, made, std::memory_order_acq_rel) ? made : there;
}

std::atomic<word*>& leaf_of(const void* block) noexcept {
  return table[(reinterpret_cast<std::uintptr_t>(block) >> leaf_shift) & (leaves - 1)];
}
std::size_t place_of(const void* block) noexcept {
  return (reinterpret_cast<std::uintptr_t>(block) >> granule_shift) & (leaf_words - 1);
}

}  // namespace

bool set_up_births(bool sampled) noexcept {
  is_sampled = sampled;
  if (sampled) {
    if (!set_up_sampled()) return false;
    for (std::size_t at = 0; early_place(at) != nullptr; ++at) {
      filter_of(early_place(at)).store(filter_full, std::memory_order_relaxed);
    }
    return true;
  }
  unmap(table, leaves * sizeof *table);
  for (auto& each : filter) each.store(1, std::memory_order_relaxed);
  table = static_cast<std::atomic<word*>*>(map(leaves * sizeof *table));
  return table != nullptr;
}

bool note_birth(const void* block, const birth& born) noexcept {
  if (is_sampled) return note_sampled(block, born);
  std::atomic<word*>& place = leaf_of(block);
  word* leaf = place.load(std::memory_order_acquire);
  if (leaf == nullptr) [[unlikely]]
    leaf = make_leaf(place);
  if (leaf == nullptr) return false;
  packed_birth packed;
  packed.known = 1;
  packed.early = born.early ? 1 : 0;
  packed.site = born.site & (format::most_sites - 1);
  packed.owner = born.owner & format::most_threads;
  packed.sequence = born.sequence & ((1U << 28) - 1);
  leaf[place_of(block)].store(std::bit_cast<std::uint64_t>(packed), std::memory_order_relaxed);
  return true;
}

birth take_birth(const void* block) noexcept {
  if (is_sampled) return take_sampled(block);
  word* const leaf = leaf_of(block).load(std::memory_order_acquire);
  if (leaf == nullptr) return {};
  word& from = leaf[place_of(block)];
  const auto packed = std::bit_cast<packed_birth>(from.load(std::memory_order_relaxed));
  if (packed.known == 0) return {};
  from.store(0, std::memory_order_relaxed);
  return {1,
          static_cast<std::uint32_t>(packed.site),
          static_cast<std::uint32_t>(packed.owner),
          packed.early != 0,
          packed.sequence,
          0};
}

}  // namespace tarn::record
