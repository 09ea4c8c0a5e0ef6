// Makes a strip of a picture point by point, half a megabyte at most. Remedy: reserve the strip.
#pragma once
#include <vector>

#include "predictions/work.hpp"

namespace predictions::strips {

[[gnu::noinline]] inline std::uint64_t make_strip(numbers& random, std::size_t reserved) {
  std::vector<short> points;
  points.reserve(reserved);
  std::uint32_t shade = 1000;
  for (std::uint32_t left = 140000 + random.below(80000); left > 0; --left) {
    shade = shade * 3 / 4 + left % 509;
    points.push_back(static_cast<short>(shade));
  }
  std::uint64_t sum = points.size();
  for (std::size_t index = 0; index < points.size(); index += 100) sum += static_cast<std::uint64_t>(points[index]);
  return sum;
}

template <bool Reserved>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) sum = sum * 31 + make_strip(random, Reserved ? 262144 : 0);
  return sum;
}

}  // namespace predictions::strips
