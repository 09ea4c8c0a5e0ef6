// Compares two texts in a table that is made for each pair. Remedy: hoist the table, a local variable.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "predictions/work.hpp"

namespace predictions::matches {

struct row {
  std::array<std::uint32_t, 24> cost{};
};

inline std::uint32_t distance(std::string_view first, std::string_view second, row& before, row& now) {
  for (std::uint32_t index = 0; index <= second.size(); ++index) before.cost[index] = index;
  for (std::uint32_t line = 0; line < first.size(); ++line) {
    now.cost[0] = line + 1;
    for (std::size_t index = 0; index < second.size(); ++index) {
      now.cost[index + 1] = std::min(std::min(now.cost[index], before.cost[index + 1]) + 1,
                                     before.cost[index] + (first[line] == second[index] ? 0U : 1U));
    }
    std::swap(before, now);
  }
  return before.cost[second.size()];
}

template <bool Local>
[[gnu::noinline]] std::uint32_t compare(std::string_view first, std::string_view second) {
  if constexpr (Local) {
    row before, now;
    return distance(first, second, before, now);
  } else {
    const auto before = std::make_unique<row>(), now = std::make_unique<row>();
    return distance(first, second, *before, *now);
  }
}

template <bool Local>
std::uint64_t run(std::uint64_t rounds) {
  constexpr std::array<std::string_view, 8> words = {"tarn", "lake", "pond", "pool", "mere", "loch", "dam", "well"};
  numbers random;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round)
    sum = sum * 31 + compare<Local>(words[random.below(8)], words[random.below(8)]);
  return sum;
}

}  // namespace predictions::matches
