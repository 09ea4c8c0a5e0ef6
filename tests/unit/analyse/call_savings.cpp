// Tests the savings by the remedy for system calls against values computed by hand.
#include "profiler/predict/call_savings.hpp"

#include <gtest/gtest.h>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

constexpr double min_factor = 1 - prediction_error, max_factor = 1 + prediction_error;

// 10,000 calls of 50 bytes, each right after the one before; 400 ns under the recorder, which stretches to twice.
call_site site_of(const char* name, call_category category) {
  call_site site;
  site.name = name;
  site.category = category;
  site.nanoseconds = 4'000'000;
  site.sums[format::calls] = site.sums[format::in_a_row] = 10'000;
  site.sums[format::requested_bytes] = site.sums[format::returned_bytes] = 500'000;
  return site;
}
format::recording busy_program() {
  format::recording recording;
  recording.has_ended = true;
  recording.threads.resize(1);
  recording.end.wall_us = 1'000'000;
  recording.end.user_us = 900'000;
  recording.end.system_us = 100'000;
  return recording;
}
call_saving saving(const call_site& site, const format::recording& recording = busy_program()) {
  return saving_of(site, recording, simple_costs());
}
bool is_predicted(const call_site& site, const format::recording& recording = busy_program()) {
  return saving(site, recording).not_predicted.empty();
}

TEST(call_savings, a_buffer_spares_all_calls_but_one_for_64_KiB_and_what_a_byte_costs_stays) {
  const call_saving saved = saving(site_of("read", call_category::small));
  const double copying = 500'000 * 0.01, spared = (10'000.0 - 8) / 10'000;  // of 7.6 buffers
  const double ns = spared * (2'000'000 - copying) - 10'000 * 3 - copying;
  EXPECT_DOUBLE_EQ(saved.ns.low, ns * min_factor);
  EXPECT_DOUBLE_EQ(saved.ns.high, ns * max_factor);
  EXPECT_FALSE(saved.saves_more);
}

TEST(call_savings, a_write_that_comes_after_other_calls_may_be_waited_for) {
  call_site site = site_of("write", call_category::small);
  EXPECT_DOUBLE_EQ(saving(site).ns.low / min_factor, saving(site).ns.high / max_factor);
  site.sums[format::in_a_row] = 0;
  EXPECT_DOUBLE_EQ(saving(site).ns.low, 0);
  EXPECT_GT(saving(site).ns.high, 1'000'000);
}

TEST(call_savings, a_call_that_waited_took_no_cpu_time_but_no_less_than_one_in_memory) {
  format::recording recording = busy_program();
  recording.end.user_us -= 2'000;  // waited 2 of the 4 ms
  const call_site read = site_of("read", call_category::small);
  EXPECT_LT(saving(read, recording).ns.low, saving(read).ns.low);
  EXPECT_DOUBLE_EQ(saving(read, recording).ns.high, saving(read).ns.high);
  recording.end.user_us = 0;
  const double copying = 500'000 * 0.01, spared = (10'000.0 - 8) / 10'000;
  EXPECT_DOUBLE_EQ(saving(read, recording).ns.low, (spared * (1'000'000 - copying) - 30'000 - copying) * min_factor);
}

TEST(call_savings, calls_take_no_more_than_the_time_in_the_kernel) {
  format::recording recording = busy_program();
  call_site read = site_of("read", call_category::small);
  read.nanoseconds = 40'000'000;  // of a preempted thread, say
  recording.end.system_us = 1'000;
  const double copying = 500'000 * 0.01, spared = (10'000.0 - 8) / 10'000;
  EXPECT_DOUBLE_EQ(saving(read, recording).ns.high, (spared * (9'000'000 - copying) - 30'000 - copying) * max_factor)
      << "and two ticks of 4 ms";
}

TEST(call_savings, equal_questions_are_asked_of_memory) {
  call_site site = site_of("newfstatat", call_category::repeated);
  site.sums[format::same_arguments] = 9'000;
  EXPECT_DOUBLE_EQ(saving(site).ns.low, (0.9 * 2'000'000 - 10'000 * 10) * min_factor);
  EXPECT_DOUBLE_EQ(saving(site).ns.high, 0.9 * 2'000'000 * max_factor);
  site.name = "openat";
  EXPECT_TRUE(saving(site).saves_more) << "nor is it read and closed";
  EXPECT_DOUBLE_EQ(saving(site).ns.low, 0.9 * 2'000'000 * min_factor);
}

TEST(call_savings, what_the_recording_does_not_tell_is_not_predicted) {
  EXPECT_TRUE(is_predicted(site_of("read", call_category::small)));
  EXPECT_FALSE(is_predicted(site_of("pread64", call_category::small))) << "places";
  EXPECT_FALSE(is_predicted(site_of("sendto", call_category::small)));
  EXPECT_FALSE(is_predicted(site_of("clock_gettime", call_category::repeated)));
  EXPECT_FALSE(is_predicted(site_of("fsync", call_category::batch)));
  EXPECT_FALSE(is_predicted(site_of("munmap", call_category::memory)));
  EXPECT_FALSE(is_predicted(site_of("sched_yield", call_category::waits)));
  call_site all_there = site_of("read", call_category::small);
  all_there.sums[format::requested_bytes] *= 2;
  EXPECT_FALSE(is_predicted(all_there));
  call_site large = site_of("write", call_category::batch);
  large.sums[format::returned_bytes] = 10'000 * 65'536ULL;
  EXPECT_FALSE(is_predicted(large));
}

TEST(call_savings, neither_is_a_part_of_a_run_or_one_without_an_end_or_a_machine_that_was_not_measured) {
  const call_site site = site_of("read", call_category::small);
  format::recording recording = busy_program();
  recording.part = {0, 1000};
  EXPECT_FALSE(is_predicted(site, recording));
  recording = busy_program();
  recording.has_ended = false;
  EXPECT_FALSE(is_predicted(site, recording));
  cost_model costs = simple_costs();
  costs.calls.slowdown = 0;
  EXPECT_FALSE(saving_of(site, busy_program(), costs).not_predicted.empty());
}

}  // namespace
}  // namespace tarn::analyse
