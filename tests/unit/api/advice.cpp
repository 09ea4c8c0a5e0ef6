#include "memory/api/advice.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>

#include "base/bits.hpp"

namespace {

using namespace tarn::base::units;
using tarn::api::advice;
using tarn::api::heap_peaks;

advice advice_for(std::initializer_list<std::uint64_t> peaks, std::uint64_t eager = 0, std::uint64_t process = 0) {
  heap_peaks collected(eager);
  for (const std::uint64_t peak : peaks) collected.add(peak);
  return collected.result(process);
}

TEST(advice, none_without_a_heap_that_held_anything) {
  EXPECT_EQ(advice_for({}).initial, 0u);
  EXPECT_EQ(advice_for({0, 0}).limit, 0u);
}

TEST(advice, one_heap_gets_what_it_held) {
  EXPECT_EQ(advice_for({64_KiB}).initial, 64_KiB);
  EXPECT_EQ(advice_for({64_KiB + 1}).initial, 128_KiB);
  EXPECT_EQ(advice_for({5_MiB + 1}).initial, 6_MiB);
  EXPECT_EQ(advice_for({3_GiB}).initial, 3_GiB);
  EXPECT_EQ(advice_for({3_GiB}).increment, 2_MiB);
}

TEST(advice, the_largest_heap_gets_there_in_four_steps) {
  const advice result = advice_for({1_MiB, 1_MiB, 1_MiB, 101_MiB});
  EXPECT_GE(result.initial, 1_MiB);
  EXPECT_LE(result.initial, 2_MiB);  // rounded up in quarters of a power of two, then to whole MiB
  EXPECT_GE(result.initial + 4 * result.increment, 101_MiB);
  EXPECT_LT(result.initial + 4 * result.increment, 101_MiB + 4_MiB);
}

// The advice covers as many heaps as it says, for any peaks.
TEST(advice, initial_covers_three_quarters) {
  EXPECT_EQ(advice_for({1_MiB, 1_MiB, 101_MiB, 101_MiB}).initial, 101_MiB);
  for (std::uint64_t heaps = 1; heaps < 40; ++heaps) {
    heap_peaks collected(0);
    for (std::uint64_t number = 1; number <= heaps; ++number) collected.add(number * number * 10'007);
    const advice result = collected.result(0);
    std::uint64_t covered = 0;
    for (std::uint64_t number = 1; number <= heaps; ++number) covered += number * number * 10'007 <= result.initial;
    EXPECT_GE(4 * covered, 3 * heaps) << heaps;
  }
}

TEST(advice, limit_has_a_quarter_in_reserve) {
  EXPECT_EQ(advice_for({1_MiB}, 0, 100_MiB).limit, 125_MiB);
  EXPECT_EQ(advice_for({1_MiB}, 0, 101_MiB).limit, 127_MiB);
  EXPECT_EQ(advice_for({8_MiB, 8_MiB, 8_MiB}, 0, 10_MiB).limit, 30_MiB)
      << "one after the other in this run, perhaps not in the next";
}

TEST(advice, what_went_beyond_initial_is_counted) {
  const advice result = advice_for({1_MiB, 2_MiB, 4_MiB}, 2_MiB);
  EXPECT_EQ(result.excess_heaps, 1u);
  EXPECT_EQ(result.excess_bytes, 2_MiB);
  EXPECT_EQ(advice_for({1_MiB, 4_MiB}).excess_heaps, 0u) << "nothing was reserved";
}

}  // namespace
