// Decides whether a part is large enough to name the whole after it.
#pragma once

#include <cstdint>

namespace tarn::analyse {

constexpr double mostly = 0.9;

inline bool is_share(std::uint64_t part, std::uint64_t whole, double share) {
  return whole != 0 && static_cast<double>(part) >= share * static_cast<double>(whole);
}

}  // namespace tarn::analyse
