// A report names the tables of the recorder that became full.
#include <gtest/gtest.h>

#include "profiler/findings/limits.hpp"
#include "profiler/format/python_layout.hpp"
#include "profiler/format/region.hpp"

namespace {

using namespace tarn;

TEST(reached_limits, are_none_where_there_was_room) {
  format::recording recording;
  recording.sites.resize(format::max_sites - 1);
  recording.modules.resize(format::max_modules - 1);
  recording.locks.resize(format::max_locks - 1);
  recording.python_codes.resize(format::max_python_codes - 1);
  recording.quiet_regions.resize(format::max_quiet_regions - 1);
  EXPECT_EQ(command::limits_text(recording), "");
}

TEST(reached_limits, each_table_is_named_with_what_is_missing) {
  format::recording recording;
  recording.python_codes.resize(format::max_python_codes);
  EXPECT_EQ(command::limits_text(recording),
            "Limits reached: code objects of Python (65,536): functions of further ones have no names → record a "
            "shorter part of the run (--for, --pid)");
  recording.modules.resize(format::max_modules);
  recording.locks.resize(format::max_locks);
  recording.quiet_regions.resize(format::max_quiet_regions);
  recording.limits.untimed_holds = 5;
  const auto reached = command::reached_limits(recording);
  ASSERT_EQ(reached.size(), 5u);
  EXPECT_EQ(reached[0].limit, "modules (4,096)");
  EXPECT_EQ(reached[2].limit, "locks (65,535)");
  EXPECT_EQ(reached[3].missing, "5 further holds have no time");
  EXPECT_EQ(reached[4].limit, "quiet regions (256)");
}

TEST(reached_limits, locks_that_count_together_are_named_with_their_acquisitions) {
  format::recording recording;
  recording.locks.resize(3);
  recording.locks[1].address = 4096;  // the others are sums
  recording.acquisitions[{1, 0, 1}][format::acquisitions] = 100;
  recording.acquisitions[{1, 0, 2}][format::acquisitions] = 2000;
  recording.acquisitions[{1, 0, 2}][format::refused] = 30;
  recording.limits.waits_without_holder = 4;
  const auto reached = command::reached_limits(recording);
  ASSERT_EQ(reached.size(), 2u);
  EXPECT_EQ(reached[0].events, 2030u);
  EXPECT_EQ(reached[0].missing, "2,030 further acquisitions count for all locks of one first use together");
  EXPECT_EQ(reached[1].missing, "4 further waits have no holder");
}

TEST(reached_limits, are_those_of_the_recorder_and_of_samples) {
  format::recording recording;
  recording.python_codes.resize(2 * format::max_python_codes - 2);
  for (std::size_t index = 0; index < format::max_python_codes - 1; ++index)
    recording.python_codes[index].start = format::first_sampled_python_address + index;
  EXPECT_EQ(command::limits_text(recording), "");
  recording.python_codes.emplace_back().start = format::first_sampled_python_address + format::max_python_codes;
  EXPECT_EQ(command::reached_limits(recording).size(), 1u);
}

TEST(reached_limits, a_stack_that_fills_its_frames_may_lack_callers) {
  format::recording recording;
  recording.sites.resize(3);
  recording.sites[1].frames.resize(format::max_frames);
  recording.sites[2].frames.resize(format::max_frames - 1);
  const auto reached = command::reached_limits(recording);
  ASSERT_EQ(reached.size(), 1u);
  EXPECT_EQ(reached[0].events, 1u);
  EXPECT_EQ(reached[0].missing, "1 stack may lack outermost callers");
}

TEST(reached_limits, a_stack_that_an_interpreter_fills_is_named_by_its_python_function) {
  format::recording recording;
  recording.sites.resize(2);
  recording.sites[1].frames.resize(format::max_frames);
  recording.sites[1].frames[40] = format::first_python_address + 1;
  EXPECT_EQ(command::limits_text(recording), "");
  recording.sites[1].frames[40] = 0;
  EXPECT_EQ(command::reached_limits(recording).size(), 1u);
}

TEST(reached_limits, sampled_threads_have_one_of_their_own) {
  format::recording recording;
  recording.cpu.threads.resize(format::max_threads - 1);
  EXPECT_EQ(command::limits_text(recording), "");
  recording.cpu.threads.resize(format::max_threads);
  EXPECT_EQ(command::limits_text(recording),
            "Limits reached: sampled threads (16,382): further ones count as one → record a shorter part of the run "
            "(--for, --pid)");
}

}  // namespace
