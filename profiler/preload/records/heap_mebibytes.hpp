// Notes where the program's heap is, to the mebibyte, so that `tarn record` can tell what its pages are for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profiler/preload/records/region.hpp"

namespace tarn::preload {

// Returns false when the set has no room near the number.
inline bool note_heap_mebibyte(std::uint32_t number) noexcept {
  constexpr std::uint32_t max_probes = 64;
  for (std::uint32_t probe = 0; probe < max_probes; ++probe) {
    std::atomic<std::uint32_t>& entry = header().heap_mebibytes[(number + probe) % format::max_heap_mebibytes];
    std::uint32_t current = entry.load(std::memory_order_relaxed);
    if (current == number + 1) return true;
    // Where another thread takes the entry first, `current` is its number, which may be the same one.
    if (current == 0 && entry.compare_exchange_strong(current, number + 1, std::memory_order_relaxed)) return true;
    if (current == number + 1) return true;
  }
  return false;
}

inline void note_heap_range(const void* block, std::size_t bytes) noexcept {
  constexpr unsigned shift = 20;
  const auto first = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t last = first + (bytes == 0 ? 0 : bytes - 1);
  for (std::uintptr_t number = first >> shift; number <= last >> shift; ++number) {
    if (!note_heap_mebibyte(static_cast<std::uint32_t>(number))) return;
  }
}

}  // namespace tarn::preload
