// Decides whether a part is large enough to name the whole after it, and how certain a count is.
#pragma once

#include <cmath>
#include <cstdint>

namespace tarn::analyse {

constexpr double mostly = 0.9;

// Returns a count as a number to calculate with.
inline double as_double(std::uint64_t count) { return static_cast<double>(count); }

inline bool is_share(std::uint64_t part, std::uint64_t whole, double share) {
  return whole != 0 && static_cast<double>(part) >= share * static_cast<double>(whole);
}

// Returns the relative error of an estimate that 95 of 100 recordings do not exceed.
inline double relative_error(double variance, std::uint64_t count) {
  return count == 0 ? 0 : 1.96 * std::sqrt(variance) / static_cast<double>(count);
}

}  // namespace tarn::analyse
