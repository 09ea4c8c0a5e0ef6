#include "profiler/collect/file_times.hpp"

#include <gtest/gtest.h>

namespace tarn::command {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds noon = 1'800'000'000s;

TEST(file_times_test, a_file_has_the_time_of_the_clock_at_its_begin_and_its_length) {
  file_times times;
  EXPECT_EQ(times.begin(noon), 0ns);
  EXPECT_FALSE(times.has_ended());
  times.end(60s);
  EXPECT_TRUE(times.has_ended());
  EXPECT_EQ(times.last().from_ns, 1'800'000'000'000'000'000U);
  EXPECT_EQ(times.last().until_ns, 1'800'000'060'000'000'000U);
  EXPECT_EQ(times.begin(noon + 60s + 5us), 0ns);
  EXPECT_EQ(times.last().from_ns, 1'800'000'060'000'005'000U);
}

TEST(file_times_test, where_the_clock_goes_back_files_follow_each_other_until_it_has_caught_up) {
  file_times times;
  times.begin(noon);
  times.end(60s);
  EXPECT_EQ(times.begin(noon + 60s - 90s), 90s);
  EXPECT_FALSE(times.has_ended());
  times.end(60s);
  EXPECT_EQ(times.last().from_ns, 1'800'000'060'000'000'000U);
  EXPECT_EQ(times.last().until_ns, 1'800'000'120'000'000'000U);
  EXPECT_EQ(times.begin(noon + 150s), 0ns);
  EXPECT_EQ(times.last().from_ns, 1'800'000'150'000'000'000U);
}

TEST(file_times_test, where_the_clock_goes_forward_files_leave_a_gap) {
  file_times times;
  times.begin(0s);  // as a machine without a battery begins
  times.end(60s);
  EXPECT_EQ(times.begin(noon), 0ns);
  EXPECT_EQ(times.last().from_ns, 1'800'000'000'000'000'000U);
}

TEST(file_times_test, a_file_without_length_has_a_time_of_its_own) {
  file_times times;
  times.begin(noon);
  times.end(0s);
  const std::uint64_t first = times.last().from_ns;
  times.begin(noon);
  EXPECT_NE(times.last().from_ns, first);
}

}  // namespace
}  // namespace tarn::command
