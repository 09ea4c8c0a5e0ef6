// Compares the mathematics of sampling with the C library's, and checks that a sampled count is right in the mean.
#include "profiler/preload/base/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tarn::preload {
namespace {

TEST(chance, logarithms_are_those_of_the_library) {
  for (std::uint64_t bits = 1; bits != 0; bits <<= 1) {
    for (const std::uint64_t value : {bits, bits + bits / 3, bits + bits / 2, bits - 1}) {
      if (value == 0) continue;
      const double expected = -std::log(std::ldexp(static_cast<double>(value), -64));
      EXPECT_NEAR(minus_log(value), expected, 1e-6 * (1 + expected)) << value;
    }
  }
  EXPECT_GT(minus_log(0), minus_log(1));
}

TEST(chance, probabilities_are_those_of_the_library) {
  for (double x = 1e-9; x < 100; x *= 1.07) EXPECT_NEAR(one_minus_exp(x) / -std::expm1(-x), 1, 1e-6) << x;
}

TEST(chance, distances_have_the_mean_and_the_spread_that_was_asked_for) {
  sampler points{};
  points.set_up(100'000, 1);
  constexpr int rounds = 200'000;
  double sum = 0, squares = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto distance = static_cast<double>(points.next());
    ASSERT_GE(distance, 0);
    sum += distance;
    squares += distance * distance;
  }
  const double mean = sum / rounds;
  EXPECT_NEAR(mean, 100'000, 1000);
  EXPECT_NEAR(std::sqrt(squares / rounds - mean * mean), 100'000, 2000);
}

// Allocates as the recorder does, and counts by weights, for any sizes in any order.
TEST(chance, weights_of_the_sampled_add_up_to_all) {
  sampler points{};
  points.set_up(8192, 7);
  const std::size_t sizes[] = {0, 16, 1000, 8192, 100'000};
  double weighted_counts[std::size(sizes)] = {};
  constexpr int rounds = 300'000;
  std::int64_t left = points.next();
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t index = 0; index < std::size(sizes); ++index) {
      left -= cost_of(sizes[index]);
      if (left >= 0) continue;
      while (left < 0) left += points.next();
      weighted_counts[index] += points.weight(sizes[index]);
    }
  }
  for (std::size_t index = 0; index < std::size(sizes); ++index) {
    const double weight = 1 / -std::expm1(-static_cast<double>(cost_of(sizes[index])) / 8192);
    const double deviation = std::sqrt(rounds * weight);  // at most: of a sum of independent ones
    EXPECT_NEAR(weighted_counts[index], rounds, 5 * deviation) << sizes[index];
  }
}

TEST(chance, absurd_sizes_take_nothing_back) {
  EXPECT_GT(cost_of(~std::size_t{0}), 0);
  EXPECT_EQ(cost_of(100), 100 + format::cost_of_a_block);
}

}  // namespace
}  // namespace tarn::preload
