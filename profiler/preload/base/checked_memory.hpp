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
    std::uintptr_t& last_page = pages_[page % page_count];
    if (last_page == page) return true;
    if (!is_word_readable(page * page_bytes)) return false;
    last_page = page;
    return true;
  }

  std::uintptr_t pages_[page_count] = {};
};

}  // namespace tarn::preload
