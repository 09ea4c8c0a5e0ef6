// Scales a number by a ratio of two, without floating-point arithmetic.
#pragma once

#include <cstdint>

namespace tarn::preload {

// Returns number * numerator / denominator, rounded down. The denominator is not 0.
constexpr std::uint64_t scale(std::uint64_t number, std::uint64_t numerator, std::uint64_t denominator) noexcept {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<wide>(number) * numerator / denominator);
}

}  // namespace tarn::preload
