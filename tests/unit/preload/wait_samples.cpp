// Checks which waits for locks leave a mark, and that the others are counted with them.
#include "profiler/preload/records/wait_samples.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "unit/preload/cpu_clock.hpp"

namespace tarn::preload {
namespace {

class wait_samples_test : public testing::Test {
 protected:
  void SetUp() override { wait_samples::begin_anew(); }

  wait_samples samples{};
  int cells[64] = {};
};

TEST_F(wait_samples_test, the_first_ones_of_a_process_all_leave_a_mark) {
  samples.set_up(1);
  for (std::uint64_t time = 0; time < full_counts; ++time) ASSERT_TRUE(samples.takes_next(clock_at(time * 100)));
}

TEST_F(wait_samples_test, few_leave_a_mark_where_waits_are_frequent) {
  samples.set_up(1);
  constexpr std::uint64_t waits = 1'000'000, short_gap = 3000;
  std::uint64_t marks = 0;
  for (std::uint64_t time = 0; time < waits; ++time) marks += samples.takes_next(clock_at(time * short_gap)) ? 1 : 0;
  EXPECT_LT(marks * 10, waits);
  EXPECT_GT(marks, waits / 64);
}

TEST_F(wait_samples_test, all_leave_a_mark_where_waits_are_rare) {
  samples.set_up(1);
  for (std::uint64_t time = 0; time < 100'000; ++time) ASSERT_TRUE(samples.takes_next(clock_at(time * 1'000'000)));
}

TEST_F(wait_samples_test, waits_without_a_mark_are_added_up_for_each_cell_until_they_are_taken) {
  samples.add(&cells[0], 5);
  samples.add(&cells[0], 7);
  EXPECT_EQ(samples.take(&cells[1]).waits, 0U);
  const wait_samples::sum sum = samples.take(&cells[0]);
  EXPECT_EQ(sum.waits, 2U);
  EXPECT_EQ(sum.ticks, 12U);
  EXPECT_EQ(samples.take(&cells[0]).ticks, 0U) << "it was taken";
}

TEST_F(wait_samples_test, a_sum_is_never_that_of_another_cell) {
  for (int& cell : cells) samples.add(&cell, 1);
  std::uint64_t sum = 0;
  for (int& cell : cells) {
    const wait_samples::sum part = samples.take(&cell);
    EXPECT_LE(part.ticks, 1U);
    sum += part.ticks;
  }
  EXPECT_GT(sum, 0U);
}

}  // namespace
}  // namespace tarn::preload
