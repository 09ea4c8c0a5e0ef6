// Whether a block may be one of which something is known: what free asks before all else.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tarn::record {

// For each hash of an address, how many such blocks are known; a full count stays. 32 KiB, of which a program that
// uses few addresses has few in its caches.
constexpr unsigned filter_shift = 64 - 15;
constexpr std::uint8_t filter_full = 255;
constexpr std::size_t filter_places = std::size_t{1} << (64 - filter_shift);

// A place is changed by who knows the block before the program has it, so who got the block from the program sees it:
// no order of its own is needed. The place of null is never 0, so that free(nullptr) needs no test.
extern std::atomic<std::uint8_t> filter[filter_places];  // NOLINT(bugprone-dynamic-static-initializers)

inline std::atomic<std::uint8_t>& filter_of(const void* block) noexcept {
  return filter[(reinterpret_cast<std::uintptr_t>(block) >> 4) * 0x9e3779b97f4a7c15ULL >> filter_shift];
}
inline bool may_be_known(const void* block) noexcept { return filter_of(block).load(std::memory_order_relaxed) != 0; }

}  // namespace tarn::record
