// Collects a series of readings, then evaluates it as a whole. Remedy: reserve the readings.
#pragma once
#include <algorithm>
#include <vector>

#include "predictions/work.hpp"

namespace predictions::samples {

[[gnu::noinline]] inline std::uint64_t read_series(numbers& random, std::size_t reserved) {
  std::vector<double> readings;
  readings.reserve(reserved);
  double level = 100;
  for (std::uint32_t left = 60 + random.below(60); left > 0; --left) {
    level += static_cast<double>(random.below(21)) - 10;
    readings.push_back(level);
  }
  const auto [least, greatest] = std::minmax_element(readings.begin(), readings.end());
  return static_cast<std::uint64_t>(*greatest - *least) + readings.size();
}

template <bool Reserved>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round)
    sum = sum * 31 + read_series(random, Reserved ? 128 : 0);
  return sum;
}

}  // namespace predictions::samples
