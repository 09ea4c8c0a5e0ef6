// Sorts the blocks of a remote-free batch by unit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/heap/remote_batch.hpp"

namespace tarn::heaps {

/// Puts blocks of one unit side by side, so that those of one word are sent together.
class unit_sorter {
 public:
  /// Returns the array in which the blocks then are. It is `blocks` itself if the first half of them lies in nearly as
  /// many units as it has blocks, because then there is little to join.
  void** sort(void** blocks, std::size_t count) noexcept {
    std::size_t position = 0;
    std::size_t occupied = 0;
    for (; position < count / 2; ++position) occupied += ends_[bin_of(blocks[position])]++ == 0;
    if (occupied > count / 2 * 3 / 4) return blocks;
    for (; position < count; ++position) ++ends_[bin_of(blocks[position])];
    std::size_t end = 0;
    for (std::uint8_t& bin_end : ends_) {
      end += bin_end;
      bin_end = static_cast<std::uint8_t>(end);
    }
    while (position-- != 0) sorted_[--ends_[bin_of(blocks[position])]] = blocks[position];
    return sorted_;
  }

 private:
  /// Units that are used at the same time often lie side by side, so that each has a bin.
  static std::uint8_t bin_of(const void* block) noexcept {
    return static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(block) >> detail::unit_shift);
  }

  std::uint8_t ends_[256] = {};
  static_assert(remote_batch::capacity <= 255);
  void* sorted_[remote_batch::capacity];
};

}  // namespace tarn::heaps
