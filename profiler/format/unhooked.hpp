// Names functions that a process calls without a recorder that was loaded into it noticing, in the answer of that
// recorder.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tarn::format {

struct checked_function {
  std::string_view name;
  bool is_of_heap;  // otherwise it is of locks
};
// Most programs call all of their allocator's functions in one way, so these stand for the others.
constexpr std::array checked_functions = {checked_function{"malloc", true}, checked_function{"free", true},
                                          checked_function{"pthread_mutex_lock", false}};

// The recorder's answer has the bits above the number of the attachment.
constexpr unsigned unhooked_shift = 32;
constexpr long unhooked_bit(std::string_view name) noexcept {
  for (std::size_t index = 0; index < checked_functions.size(); ++index) {
    if (checked_functions[index].name == name) return 1L << index;
  }
  return 0;
}

}  // namespace tarn::format
