// A counting filter that tells free() whether a block may have a record. free() asks it before everything else.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tarn::preload {

// Counts the known blocks for each hash of an address. A full count stays full. The filter takes 32 KiB, and a
// program that uses few addresses has only a small part of it in its caches.
constexpr unsigned filter_shift = 64 - 15;
constexpr std::uint8_t filter_full = 255;
constexpr std::size_t filter_slots = std::size_t{1} << (64 - filter_shift);

// The thread that records a block changes its slot before the program has the block, so a thread that gets the block
// from the program sees the change, and relaxed order suffices. The slot of null is never 0, so free(nullptr) needs
// no test.
extern std::atomic<std::uint8_t> filter[filter_slots];  // NOLINT(bugprone-dynamic-static-initializers)

inline std::atomic<std::uint8_t>& filter_of(const void* block) noexcept {
  return filter[(reinterpret_cast<std::uintptr_t>(block) >> 4) * 0x9e3779b97f4a7c15ULL >> filter_shift];
}
inline bool may_have_record(const void* block) noexcept {
  return filter_of(block).load(std::memory_order_relaxed) != 0;
}

}  // namespace tarn::preload
