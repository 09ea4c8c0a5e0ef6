// Computes rates from two snapshots of one recording.
#include "profiler/findings/live.hpp"

#include <gtest/gtest.h>

#include "profiler/findings/heap/findings.hpp"
#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

struct two_looks {
  format::recording before = recording_of({{.blocks = 1000, .size = 10, .own_frees = 1000}});
  format::recording now =
      recording_of({{.blocks = 3000, .size = 10, .own_frees = 2990}, {.blocks = 500, .size = 4, .other_frees = 400}});
  two_looks() {
    now.threads[0].name = "worker";
    now.threads[0].allocations = 3500;
    before.threads[0].allocations = 1000;
    now.clock = {2, 1};
    now.locks = {{}, {0, format::lock_type::mutex, 2, 0x7000}, {0, format::lock_type::condition, 2, 0x7100}};
    now.acquisitions[{2, 1, 1}] = {10, 4, 40'000'000, 0, 10, 2'000'000, 0, 0, 0};
    now.acquisitions[{2, 1, 2}] = {10, 10, 90'000'000, 0, 0, 0, 0, 0, 0};
    before.calls[{1, 0, 1}] = {100, 0, 0, 1000, 0, 0, 0};
    now.calls[{1, 0, 1}] = {300, 2, 0, 5000, 8'000'000, 0, 0};  // write
  }
};

TEST(live, a_thread_has_the_rates_of_what_it_did) {
  const two_looks input;
  const auto rows = live_rows(live_view::threads, input.before, input.now, 2);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].subject, "worker 100");
  EXPECT_EQ(rows[1].subject, "thread 101");
  EXPECT_EQ(rows[0].values, (std::array<double, 7>{1250, 11000, 0, 0, 0, 100, 2}));
  EXPECT_EQ(rows[1].values, (std::array<double, 7>{0, 0, 0, 200, 10, 0, 0})) << "a condition is no lock to wait for";
}

TEST(live, a_site_has_its_category_and_what_is_in_use_now) {
  const two_looks input;
  const auto rows = live_rows(live_view::sites, input.before, input.now, 2);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].site, 1U);
  EXPECT_STREQ(rows[0].category, "same-thread");
  EXPECT_EQ(rows[0].values, (std::array<double, 7>{1000, 10000, 0, 10}));
  EXPECT_STREQ(rows[1].category, "cross-thread");
  EXPECT_EQ(rows[1].values, (std::array<double, 7>{250, 1000, 200, 100}));
}

TEST(live, locks_and_calls_have_theirs) {
  const two_looks input;
  const auto locks = live_rows(live_view::locks, input.before, input.now, 2);
  ASSERT_EQ(locks.size(), 2U);
  const live_row& mutex = locks[locks[0].subject == "mutex" ? 0 : 1];
  EXPECT_EQ(mutex.values, (std::array<double, 7>{10, 2, 5, 0.5}));
  const auto calls = live_rows(live_view::calls, input.before, input.now, 2);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].subject, "write");
  EXPECT_EQ(calls[0].values, (std::array<double, 7>{100, 2, 2000, 1}));
}

TEST(live, a_call_that_has_not_returned_is_there_with_its_time_so_far) {
  two_looks input;
  constexpr std::uint64_t second = 2'000'000'000;  // in ticks
  input.now.clock = {10 * second, 10'000'000'000};
  input.now.open_calls = {{{1, 0, 1}, 9 * second}, {{2, 0, 35}, 4 * second}, {{2, 1, 35}, 3 * second}};
  const auto calls = live_rows(live_view::calls, input.before, input.now, 2);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].subject, "write");
  EXPECT_EQ(calls[0].values[4], 1000);
  EXPECT_EQ(calls[1].subject, "nanosleep");
  EXPECT_EQ(calls[1].site, 2U);
  EXPECT_EQ(calls[1].values, (std::array<double, 7>{0, 0, 0, 0, 7000})) << "the longest of the two";
}

TEST(live, totals_are_those_of_all_threads) {
  const two_looks input;
  const live_totals totals = totals_of(input.before, input.now, 2);
  EXPECT_EQ(totals.allocations, 1250);
  EXPECT_EQ(totals.bytes, 11000);
  EXPECT_EQ(totals.remote_frees, 200);
  EXPECT_EQ(totals.wait_ms, 10);
  EXPECT_EQ(totals.in_use, 110U);
  EXPECT_EQ(totals.by_category[static_cast<std::size_t>(heap_category::same_thread)], 1000);
  EXPECT_EQ(totals.by_category[static_cast<std::size_t>(heap_category::cross_thread)], 250);
}

TEST(live, an_estimate_that_went_down_is_nothing) {
  two_looks input;
  input.before.cells[{1, 0, 0}][format::blocks] = 10'000;
  EXPECT_EQ(live_rows(live_view::sites, input.before, input.now, 2)[0].values[0], 0);
}

TEST(live, without_a_look_before_it_is_all_that_was) {
  const two_looks input;
  EXPECT_EQ(live_rows(live_view::sites, {}, input.now, 1)[0].values[0], 3000);
  EXPECT_TRUE(live_rows(live_view::threads, {}, {}, 1).empty());
}

}  // namespace
}  // namespace tarn::analyse
