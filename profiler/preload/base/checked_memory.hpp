// Reads the program's memory where it may have gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "profiler/preload/base/readable.hpp"

namespace tarn::preload {

// Knows the pages that could be read since it began, so it should live only for a short time. It asks the kernel for
// each page, at some 100 ns.
class checked_memory {
 public:
  bool has(std::uintptr_t address, std::size_t bytes) noexcept {
    if (address < page_bytes || bytes > largest || address > UINTPTR_MAX - largest) return false;
    for (std::uintptr_t page = address / page_bytes; page <= (address + bytes - 1) / page_bytes; ++page) {
      if (!has_page(page)) return false;
    }
    return true;
  }
  template <class Value>
  bool read(std::uintptr_t address, Value& value) noexcept {
    if (!has(address, sizeof value)) return false;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return true;
  }

 private:
  static constexpr std::uintptr_t page_bytes = 4096, page_count = 64;
  static constexpr std::size_t largest = std::size_t{1} << 20;

  bool has_page(std::uintptr_t page) noexcept {
    const std::uintptr_t index = page % page_count;
    const std::uint64_t bit = std::uint64_t{1} << index;
    if ((filled_ & bit) != 0 && pages_[index] == page) return true;
    if (!is_word_readable(page * page_bytes)) return false;
    pages_[index] = page;
    filled_ |= bit;
    return true;
  }

  std::uint64_t filled_ = 0;  // a bit for each of the pages_, which are not cleared: most uses need none
  std::uintptr_t pages_[page_count];
};

}  // namespace tarn::preload
