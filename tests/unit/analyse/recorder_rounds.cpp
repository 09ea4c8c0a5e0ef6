// Tests the prices of the recorder's work from several rounds, of which other work makes some slower.
#include "profiler/predict/recorder_rounds.hpp"

#include <gtest/gtest.h>

namespace tarn::analyse {
namespace {

work_times times_of(double each_ns) {
  work_times times;
  times.ns.fill(each_ns);
  return times;
}

TEST(recorder_rounds, agree_when_two_were_as_fast) {
  recorder_rounds rounds;
  EXPECT_FALSE(rounds.agree());
  rounds.add(times_of(20), times_of(100));
  EXPECT_FALSE(rounds.agree()) << "one tells nothing";
  rounds.add(times_of(21), times_of(160));
  EXPECT_FALSE(rounds.agree()) << "only the plain ones do";
  rounds.add(times_of(40), times_of(110));
  EXPECT_TRUE(rounds.agree());
}

TEST(recorder_rounds, no_slow_round_changes_a_price) {
  recorder_rounds rounds;
  rounds.add(times_of(20), times_of(100));
  for (const auto& [plain_ns, recorded_ns] : {std::pair(90, 101), {21, 900}, {5000, 5000}})
    rounds.add(times_of(plain_ns), times_of(recorded_ns));
  const recorder_rounds::prices prices = rounds.min_prices();
  EXPECT_EQ(prices[format::heap_work], 80);
  EXPECT_EQ(prices[format::start_work], 80);
  EXPECT_EQ(prices[format::walk_margin], 20) << "reading the clock takes as long without a recorder";
  EXPECT_EQ(prices[format::walk_work], 1) << "timed work is in nanoseconds";
}

TEST(recorder_rounds, a_price_is_never_below_zero) {
  recorder_rounds rounds;
  rounds.add(times_of(20), times_of(10));
  EXPECT_EQ(rounds.min_prices()[format::lock_work], 0);
}

TEST(recorder_rounds, a_thread_costs_what_its_system_calls_do_not) {
  work_times recorded = times_of(100);
  recorded.ns[format::thread_margin] = 1020;
  recorded.dispatches_of_thread = 5;
  recorded.changes_of_thread = 2;
  recorder_rounds rounds;
  rounds.add(times_of(20), recorded);
  EXPECT_EQ(rounds.min_prices()[format::thread_margin], (1000 - 5 * 80) / 2);
}

}  // namespace
}  // namespace tarn::analyse
