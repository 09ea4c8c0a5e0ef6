#include "profiler/preload/stacks/rows.hpp"

#include <dlfcn.h>

#include <atomic>
#include <bit>
#include <cstddef>

#include "profiler/unwind/call_frames.hpp"

namespace tarn::preload {
namespace {

// A cache of two ways with 16,384 pairs each. A pair is two words that are written one after the other without a
// lock: the row, and the address xor the row. A reader that meets words of two writers finds that they do not match,
// and looks the row up.
struct pair {
  std::atomic<std::uint64_t> address_and_row;
  std::atomic<std::uint64_t> packed;
};
constexpr std::size_t sets = 1 << 14;
constinit pair cache[sets][2] = {};

std::size_t set_of(std::uintptr_t address) noexcept { return (address * 0x9e3779b97f4a7c15ULL) >> 50; }
static_assert(std::uint64_t{1} << (64 - 50) == sets);

}  // namespace

row find_row(std::uintptr_t address) noexcept {
  dl_find_object object;
  // The look-up must be lock-free: another thread may be inside dlopen and wait for us.
  if (::_dl_find_object(reinterpret_cast<void*>(address), &object) != 0 || object.dlfo_eh_frame == nullptr) return {};
  return unwind::row_in(static_cast<const unsigned char*>(object.dlfo_map_start),
                        static_cast<const unsigned char*>(object.dlfo_map_end),
                        static_cast<const unsigned char*>(object.dlfo_eh_frame), address);
}

row row_at(std::uintptr_t address) noexcept {
  pair(&set)[2] = cache[set_of(address)];
  for (pair& entry : set) {
    const std::uint64_t packed = entry.packed.load(std::memory_order_relaxed);
    if ((entry.address_and_row.load(std::memory_order_relaxed) ^ packed) == address) return std::bit_cast<row>(packed);
  }
  const row result = find_row(address);
  const auto packed = std::bit_cast<std::uint64_t>(result);
  pair& old = set[(address >> 4) & 1];
  old.packed.store(packed, std::memory_order_relaxed);
  old.address_and_row.store(address ^ packed, std::memory_order_relaxed);
  return result;
}

void forget_rows(std::uintptr_t start, std::uintptr_t end) noexcept {
  for (pair(&set)[2] : cache) {
    for (pair& entry : set) {
      const std::uint64_t packed = entry.packed.load(std::memory_order_relaxed);
      const std::uint64_t address = entry.address_and_row.load(std::memory_order_relaxed) ^ packed;
      if (address < start || address >= end) continue;
      entry.packed.store(0, std::memory_order_relaxed);
      entry.address_and_row.store(0, std::memory_order_relaxed);
    }
  }
}

}  // namespace tarn::preload
