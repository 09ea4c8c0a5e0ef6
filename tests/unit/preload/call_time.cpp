#include "profiler/preload/records/call_time.hpp"

#include <gtest/gtest.h>

#include "profiler/preload/records/long_calls.hpp"
#include "profiler/preload/windows.hpp"

namespace tarn::preload {
namespace {

constexpr std::uint64_t many_calls = 1000, usual = 3000, preempted = 12'000'000;

TEST(call_time, of_a_usual_call_is_that_of_all_it_stands_for) {
  EXPECT_EQ(ticks_of({usual, many_calls, usual, 0, false}), many_calls * usual);
  EXPECT_EQ(ticks_of({preempted, 1, usual, 0, true}), preempted);
}

TEST(call_time, of_a_preempted_call_is_its_own_and_that_of_usual_ones) {
  for (std::uint64_t before = 0; before + 1 < usual_long_calls; ++before)
    EXPECT_EQ(ticks_of({preempted, many_calls, usual, before, true}), preempted + (many_calls - 1) * usual);
}

TEST(call_time, has_all_time_where_long_calls_are_usual) {
  EXPECT_EQ(ticks_of({preempted, many_calls, preempted, 0, true}), many_calls * preempted)
      << "the first, or all are as long";
  std::uint64_t sum = 0;
  for (std::uint64_t before = 0; before < 20; ++before) sum += ticks_of({preempted, many_calls, usual, before, true});
  EXPECT_EQ(sum, 20 * many_calls * preempted) << "none is left out in the end";
}

TEST(call_time, counts_long_calls_beside_those_of_a_block) {
  format::call_cell cell{};
  EXPECT_EQ(note_long_call_in(cell), 0U);
  EXPECT_EQ(note_long_call_in(cell), 1U);
  const std::uint64_t long_calls = cell.last_block;
  EXPECT_EQ(calls_in_block(cell, 7), 0U);
  EXPECT_EQ(calls_in_block(cell, 7), 1U);
  EXPECT_EQ(calls_in_block(cell, 8), 0U);
  EXPECT_EQ(note_long_call_in(cell), 2U);
  EXPECT_EQ(calls_in_block(cell, 8), 1U);
  EXPECT_EQ(calls_in_block(cell, ~std::uint32_t{0}), 0U);
  for (int index = 0; index < 300; ++index) note_long_call_in(cell);
  EXPECT_EQ(note_long_call_in(cell), 255U);
  EXPECT_EQ(calls_in_block(cell, ~std::uint32_t{0}), 1U);
  EXPECT_NE(long_calls, 0U);
}

}  // namespace
}  // namespace tarn::preload
