#include "record/blocks.hpp"

#include <cstddef>

#include "record/memory.hpp"

namespace tarn::record {
namespace {

using word = std::atomic<std::uint64_t>;

// A leaf has the words of 1 MiB of heap; the table has all leaves of the 47 bits of a program's addresses.
constexpr unsigned leaf_shift = 20, address_bits = 47, granule_shift = 4;
constexpr std::size_t leaf_words = std::size_t{1} << (leaf_shift - granule_shift);
constexpr std::size_t leaves = std::size_t{1} << (address_bits - leaf_shift);

constinit std::atomic<word*>* table = nullptr;

[[gnu::noinline]] word* make_leaf(std::atomic<word*>& place) noexcept {
  auto* const made = static_cast<word*>(map(leaf_words * sizeof(word)));
  if (made == nullptr) return nullptr;
  word* there = nullptr;
  // Two threads may come at once. The leaf that loses stays mapped and untouched, which costs addresses only.
  return place.compare_exchange_strong(there, made, std::memory_order_acq_rel) ? made : there;
}

std::size_t leaf_of(const void* block) noexcept {
  return (reinterpret_cast<std::uintptr_t>(block) >> leaf_shift) & (leaves - 1);
}
std::size_t place_of(const void* block) noexcept {
  return (reinterpret_cast<std::uintptr_t>(block) >> granule_shift) & (leaf_words - 1);
}

}  // namespace

bool set_up_blocks() noexcept {
  table = static_cast<std::atomic<word*>*>(map(leaves * sizeof *table));
  return table != nullptr;
}

word* word_of(const void* block) noexcept {
  std::atomic<word*>& place = table[leaf_of(block)];
  word* leaf = place.load(std::memory_order_acquire);
  if (leaf == nullptr) [[unlikely]]
    leaf = make_leaf(place);
  return leaf == nullptr ? nullptr : leaf + place_of(block);
}

word* known_word_of(const void* block) noexcept {
  word* const leaf = table[leaf_of(block)].load(std::memory_order_acquire);
  return leaf == nullptr ? nullptr : leaf + place_of(block);
}

}  // namespace tarn::record
