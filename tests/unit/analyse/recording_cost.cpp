// Tests the cost of recording, computed from counts and prices.
#include "profiler/predict/recording_cost.hpp"

#include <gtest/gtest.h>

#include "profiler/findings/time/cpu.hpp"
#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

double ns_of(const recording_cost& cost, work_kind kind) { return cost.ns[static_cast<std::size_t>(kind)]; }

TEST(recording_cost, is_not_known_without_prices) {
  format::recording recording = recording_of({{.blocks = 100}});
  recording.work.amounts = amounts_of(recording);
  EXPECT_FALSE(cost_of(recording).is_known);
  EXPECT_EQ(cost_of(recording).total_ns(), 0);
  EXPECT_EQ(cost_text_of(recording), "what recording took is not known: it could not be measured");
}

TEST(recording_cost, timed_work_is_in_nanoseconds_and_the_rest_is_counted) {
  format::recording recording = recording_of({{.blocks = 100}});
  recording.program.mode = "sampled";
  recording.clock = {2, 1};  // two ticks a nanosecond
  recording.threads[0].allocations = 100;
  recording.threads[1].allocations = 20;
  recording.work.counts[format::sample_ticks] = 200;
  recording.work.counts[format::dispatch_ticks] = 400;
  recording.work.counts[format::window_ticks] = 600;
  recording.work.counts[format::thread_ticks] = 800;
  recording.work.counts[format::walk_ticks] = 1000;
  for (std::size_t kind = 0; kind < format::timed_counters; ++kind)
    recording.work.counts[format::timed_counters + kind] = 10 + kind;
  recording.work.counts[format::window_steps] = 9000;
  recording.work.counts[format::recorded_locks] = 12;
  recording.work.counts[format::lock_ticks] = 1200;
  recording.locks.resize(2);
  recording.acquisitions[{1, 0, 1}][format::acquisitions] = 40;
  recording.acquisitions[{1, 1, 1}][format::acquisitions] = 2;
  const auto amounts = amounts_of(recording);
  EXPECT_EQ(amounts[format::sample_work], 100U);
  EXPECT_EQ(amounts[format::dispatch_work], 200U);
  EXPECT_EQ(amounts[format::window_work], 300U);
  EXPECT_EQ(amounts[format::thread_work], 400U);
  EXPECT_EQ(amounts[format::walk_work], 500U);
  EXPECT_EQ(amounts[format::sample_margin], 10U);
  EXPECT_EQ(amounts[format::dispatch_margin], 11U);
  EXPECT_EQ(amounts[format::window_margin], 12U);
  EXPECT_EQ(amounts[format::thread_margin], 13U);
  EXPECT_EQ(amounts[format::walk_margin], 14U);
  EXPECT_EQ(amounts[format::step_work], 9000U);
  EXPECT_EQ(amounts[format::heap_work], 120U);
  EXPECT_EQ(amounts[format::lock_work], 30U) << "of 42";
  EXPECT_EQ(amounts[format::recorded_lock_work], 12U);
  EXPECT_EQ(amounts[format::start_work], 1U);
  EXPECT_EQ(amounts[format::timed_lock_work], 600U);
}

TEST(recording_cost, each_lock_is_recorded_where_all_are_counted) {
  format::recording recording = recording_of({{.blocks = 100}});
  recording.locks.resize(2);
  recording.acquisitions[{1, 0, 1}][format::acquisitions] = 40;
  const auto amounts = amounts_of(recording);
  EXPECT_EQ(amounts[format::recorded_lock_work], 40U);
  EXPECT_EQ(amounts[format::lock_work], 0U);
}

TEST(recording_cost, counted_blocks_are_timed_with_their_frames) {
  format::recording recording = recording_of({{.blocks = 100}});
  recording.work.counts[format::sample_ticks] = 300;
  EXPECT_EQ(amounts_of(recording)[format::sample_work], 300U);
}

TEST(recording_cost, is_the_sum_of_amounts_times_prices_by_kind) {
  format::recording recording;
  format::work_facts& work = recording.work;
  for (std::size_t item = 0; item < format::work_item_count; ++item) {
    work.amounts[item] = 2;
    work.prices[item] = 1 << item;
  }
  work.collector_us = 5;
  const recording_cost cost = cost_of(recording);
  EXPECT_TRUE(cost.is_known);
  const auto all_of = [](std::initializer_list<format::work_item> items) {
    double sum = 0;
    for (const format::work_item item : items) sum += 2.0 * (1 << item);
    return sum;
  };
  EXPECT_EQ(ns_of(cost, work_kind::heap), all_of({format::sample_work, format::sample_margin, format::heap_work}));
  EXPECT_EQ(ns_of(cost, work_kind::calls), all_of({format::dispatch_work, format::dispatch_margin, format::window_work,
                                                   format::window_margin, format::step_work}));
  EXPECT_EQ(ns_of(cost, work_kind::locks),
            all_of({format::lock_work, format::timed_lock_work, format::recorded_lock_work}));
  EXPECT_EQ(ns_of(cost, work_kind::threads), all_of({format::thread_work, format::thread_margin}));
  EXPECT_EQ(ns_of(cost, work_kind::stacks), all_of({format::walk_work, format::walk_margin}));
  EXPECT_EQ(ns_of(cost, work_kind::start), all_of({format::start_work}));
  EXPECT_EQ(cost.collector_ns, 5000);
  EXPECT_EQ(cost.total_ns(), 2.0 * ((1 << format::work_item_count) - 1));
}

TEST(recording_cost, samples_find_the_part_that_has_no_price) {
  format::recording recording = recording_of({});  // half a second of CPU time
  recording.work.prices.fill(1);
  recording.work.amounts[format::start_work] = 1'000'000;
  recording.cpu.interval_ns = 1'000'000;
  recording.cpu.modules = {{0, 0x1000, 0x1fff, 0, "/usr/bin/server", ""},
                           {0, 0x5000, 0x5fff, 0, "/usr/lib/libtarn-record.so", ""}};
  // The last one is called by the recorder, and the one before has the address of another image.
  recording.cpu.stacks = {{}, {0, {0x1101}}, {0, {0x5001, 0x1101}}, {1, {0x5001}}, {0, {0x1101, 0x5001}}};
  for (const auto& [stack, samples] : {std::pair(0U, 9U), {1U, 441U}, {2U, 59U}, {3U, 7U}, {4U, 5U}})
    recording.cpu.cells[{stack, 0}][format::cpu_samples] = samples;
  EXPECT_EQ(ns_of(cost_of(recording), work_kind::hooks), 58'000'000);
  EXPECT_EQ(cost_text_of(recording), "recording took 0.059 s of the CPU time, 11.8 %: hooks 0.058, start 0.001");
  recording.cpu.threads.resize(1);
  EXPECT_EQ(cost_of(with_cpu_sites(recording)).total_ns(), 59'000'000) << "as in a report";
  recording.work.amounts[format::heap_work] = 70'000'000;
  EXPECT_EQ(ns_of(cost_of(recording), work_kind::hooks), 0) << "the samples are among what has a price";
}

TEST(recording_cost, is_said_with_its_share_and_the_largest_kinds_first) {
  format::recording recording = recording_of({});  // half a second of CPU time
  recording.work.prices.fill(1);
  recording.work.amounts[format::lock_work] = 1'000'000;
  recording.work.amounts[format::dispatch_work] = 18'000'000;
  recording.work.amounts[format::walk_work] = 100'000;  // below one in a hundred
  recording.work.collector_us = 2000;
  EXPECT_EQ(cost_text_of(recording), "recording took 0.019 s of the CPU time, 3.8 %: system calls 0.018, locks 0.001");
  EXPECT_EQ(collector_text_of(recording), "tarn record itself took 0.002 s more");
  recording.work.amounts[format::dispatch_work] = 1'000'000'000;
  EXPECT_TRUE(cost_text_of(recording).starts_with("recording took 1.0 s of the CPU time, 100.0 %: system calls 1.0"))
      << "a share is at most the whole";
}

TEST(recording_cost, has_a_wider_range_where_its_prices_come_from_a_busy_machine) {
  format::recording recording = recording_of({});
  recording.work.prices.fill(1);
  recording.work.amounts[format::lock_work] = 1'000'000;
  EXPECT_DOUBLE_EQ(cost_of(recording).total_range().low, 750'000);
  EXPECT_DOUBLE_EQ(cost_of(recording).total_range().high, 1'250'000);
  EXPECT_EQ(doubt_text_of(recording), "");
  recording.work.is_disturbed = true;
  EXPECT_DOUBLE_EQ(cost_of(recording).total_range().low, 0);
  EXPECT_DOUBLE_EQ(cost_of(recording).total_range().high, 2'000'000);
  EXPECT_EQ(doubt_text_of(recording),
            "what recording took was measured on a busy machine: it may be much less, or twice as much");
}

TEST(recording_cost, of_more_than_half_makes_shares_unreliable) {
  format::recording recording = recording_of({});  // half a second of CPU time
  recording.work.prices.fill(1);
  recording.work.amounts[format::lock_work] = 249'000'000;
  EXPECT_EQ(doubt_text_of(recording), "");
  recording.work.amounts[format::lock_work] = 251'000'000;
  EXPECT_EQ(doubt_text_of(recording), "recording took most of the CPU time: shares of CPU are unreliable");
  recording.end = {.user_us = 1000};
  EXPECT_EQ(doubt_text_of(recording), "") << "of so short a program no share is shown";
}

TEST(recording_cost, of_waits_that_recording_adds_has_no_price) {
  format::recording recording = recording_of({});
  recording.work.prices.fill(1);
  recording.work.amounts[format::lock_work] = 1'000'000'000;
  recording.end.wall_us = 1'000'000;
  recording.locks = {{}, {.type = format::lock_type::mutex}, {.type = format::lock_type::condition}};
  const auto text_after = [&](std::uint32_t lock, std::uint64_t wait_ticks) {
    recording.acquisitions.clear();
    recording.acquisitions[{1, 0, lock}][format::wait_ticks] = wait_ticks;
    return cost_text_of(recording);
  };
  EXPECT_EQ(text_after(1, 900'000), "recording took 1.0 s of the CPU time, 100.0 %: locks 1.0");
  EXPECT_EQ(
      text_after(1, 1'100'000),
      "recording took at least 1.0 s of the CPU time, 100.0 %: locks 1.0, without the waits for locks that it adds");
  EXPECT_EQ(text_after(2, 500'000'000), text_after(1, 900'000)) << "a condition is there to be waited for";
}

}  // namespace
}  // namespace tarn::analyse
