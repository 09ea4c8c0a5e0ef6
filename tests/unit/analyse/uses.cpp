// Compares locks, system calls, CPU time and waits of two recordings, function by function.
#include "profiler/findings/uses.hpp"

#include <gtest/gtest.h>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

use use_of(const char* operation, const char* function, std::uint64_t count, std::uint64_t ns) {
  return {operation, function, "file.cpp", count, ns};
}

constexpr std::uint64_t min_ns = 1'000'000;

use_difference compared(const std::vector<use>& before, const std::vector<use>& after) {
  return compare(before, after, min_ns);
}

TEST(uses, what_did_not_change_is_left_out) {
  const std::vector<use> uses = {use_of("write", "f", 10, 100), use_of("mutex", "g", 1, 5)};
  const use_difference unchanged = compared(uses, uses);
  EXPECT_TRUE(unchanged.changes.empty());
  EXPECT_EQ(unchanged.before.count, 11U);
  EXPECT_EQ(unchanged.after.nanoseconds, 105U);
}

TEST(uses, estimates_that_differ_by_chance_are_left_out) {
  use before = use_of("write", "f", 1000, 100), after = use_of("write", "f", 1200, 100);
  before.deviation = 30;
  after.deviation = 40;
  EXPECT_TRUE(compared({before}, {after}).changes.empty()) << "four standard deviations";
  after.count = 1251;
  EXPECT_EQ(compared({before}, {after}).changes.size(), 1U) << "more than five";
}

TEST(uses, are_other_work_only_where_many_counts_differ) {
  const auto with_calls = [](std::uint64_t before, std::uint64_t after) {
    return compared({use_of("write", "f", 150'000, 100), use_of("mprotect", "g", before, 5)},
                    {use_of("write", "f", 150'000, 100), use_of("mprotect", "g", after, 5)});
  };
  EXPECT_EQ(with_calls(3, 2).changes.size(), 1U);
  EXPECT_FALSE(is_other_work(with_calls(3, 2)));
  EXPECT_FALSE(is_other_work(with_calls(1'400, 0))) << "below 1 % of all";
  EXPECT_TRUE(is_other_work(with_calls(1'600, 0)));
  EXPECT_TRUE(is_other_work(compared({use_of("write", "f", 200, 100)}, {use_of("write", "f", 100, 50)})));
  EXPECT_FALSE(is_other_work(compared({use_of("write", "f", 200, 100)}, {use_of("write", "f", 101, 50)})));
}

TEST(uses, matter_by_their_time_or_by_many_counts) {
  const auto is_relevant = [](const use& before, const use& after) {
    const use_difference uses =
        compared({use_of("write", "f", 1000, 100), before}, {use_of("write", "f", 1000, 100), after});
    return uses.changes.at(0).is_relevant;
  };
  EXPECT_FALSE(is_relevant(use_of("munmap", "g", 0, 0), use_of("munmap", "g", 5, 21'000)));
  EXPECT_TRUE(is_relevant(use_of("munmap", "g", 0, 0), use_of("munmap", "g", 100, 21'000)));
  EXPECT_TRUE(is_relevant(use_of("munmap", "g", 1, 0), use_of("munmap", "g", 1, 2 * min_ns)));
}

TEST(uses, of_a_renamed_file_are_the_same) {
  use later = use_of("mutex", "f", 1000, 100), second = later;
  later.file = "b.cpp";
  second.file = "c.cpp";
  const use earlier = use_of("mutex", "f", 1000, 100);
  EXPECT_TRUE(compared({earlier}, {later}).changes.empty());
  EXPECT_EQ(compared({earlier}, {later, second}).changes.size(), 3U) << "nothing tells which one it is";
  EXPECT_EQ(compared({use_of("mutex", "", 1000, 100)}, {{"mutex", "", "b.so", 1000, 100}}).changes.size(), 2U)
      << "they have no names";
}

TEST(uses, that_wait_are_summed_apart) {
  use waits = use_of("futex", "f", 10, 900);
  waits.waiting_ns = 900;
  const use_difference uses = compared({waits, use_of("write", "g", 5, 100)}, {use_of("write", "g", 5, 100)});
  EXPECT_EQ(uses.before.nanoseconds, 1000U);
  EXPECT_EQ(uses.before.waiting_ns, 900U);
  EXPECT_EQ(uses.after.waiting_ns, 0U);
  EXPECT_EQ(uses.waiting_operations, std::set<std::string>{"futex"});
}

TEST(uses, a_time_that_differs_is_a_change_though_the_count_is_equal) {
  const auto mutex = [](std::uint64_t ns) { return std::vector{use_of("mutex", "f", 1000, ns)}; };
  const use_difference slower = compared(mutex(0), mutex(9'000'000));
  ASSERT_EQ(slower.changes.size(), 1U);
  EXPECT_TRUE(slower.has_other_times);
  EXPECT_TRUE(compared(mutex(0), mutex(999'999)).changes.empty()) << "below the least time";
  EXPECT_FALSE(compared(mutex(100'000'000), mutex(109'000'000)).has_other_times) << "below a tenth";
  EXPECT_TRUE(compared(mutex(100'000'000), mutex(112'000'000)).has_other_times);
  use before = use_of("write", "f", 1000, 100'000'000), after = use_of("write", "f", 1000, 200'000'000);
  before.time_deviation = after.time_deviation = 15'000'000;
  EXPECT_TRUE(compared({before}, {after}).changes.empty()) << "within five standard deviations";
  EXPECT_FALSE(compared({use_of("write", "f", 10, 1)}, {use_of("write", "f", 20, 1)}).has_other_times);
}

code_location location_of(const char* function) {
  code_location location;
  location.function = function;
  return location;
}

TEST(uses, samples_differ_by_more_than_their_error) {
  const auto samples = [](std::uint64_t self) {
    format::recording recording;
    recording.cpu.interval_ns = 5'000'000;
    recording.cpu.cells[{0, 0}][format::cpu_samples] = self;
    cpu_findings findings;
    findings.shares = sampled_shares(recording);
    findings.functions = {{location_of("parse(int)"), self, self, {1, 0.01}, {1, 0.01}},
                          {location_of("main"), 0, self, {0, 0.01}, {1, 0.01}}};
    return samples_in(findings);
  };
  ASSERT_EQ(samples(100).size(), 1U) << "main itself never ran";
  EXPECT_EQ(samples(100)[0].function, "parse");
  EXPECT_EQ(samples(100)[0].nanoseconds, 500'000'000U);
  EXPECT_TRUE(compared(samples(100), samples(170)).changes.empty()) << "70 of 82 that five deviations are";
  EXPECT_EQ(compared(samples(100), samples(200)).changes.size(), 1U);
  EXPECT_TRUE(compared(samples(100'000), samples(105'000)).changes.empty()) << "two runs differ by as much";
}

TEST(uses, the_largest_change_is_first) {
  const use_difference total =
      compared({use_of("write", "f", 10, 100), use_of("write", "f", 5, 50), use_of("read", "f", 9, 9),
                use_of("open", "h", 2, 0)},
               {use_of("write", "f", 3, 30), use_of("read", "f", 8, 9), use_of("close", "h", 1, 10'000)});
  ASSERT_EQ(total.changes.size(), 4U);
  EXPECT_EQ(total.changes[0].after->operation, "close");
  EXPECT_FALSE(total.changes[0].before);
  EXPECT_EQ(total.changes[0].saved_ns(), -10'000);
  EXPECT_EQ(total.changes[1].before->count, 15U) << "both of f";
  EXPECT_EQ(total.changes[1].saved_ns(), 120);
  EXPECT_EQ(total.changes[2].before->operation, "open") << "two fewer";
  EXPECT_EQ(total.changes[3].before->operation, "read") << "one fewer";
}

TEST(uses, are_those_of_a_recording) {
  format::recording recording = recording_of({{.blocks = 1}});
  recording.calls[{1, 0, 1}][format::calls] = 7;
  recording.locks = {{}, {0, format::lock_type::mutex, 1, 0x1000}, {0, format::lock_type::condition, 1, 0x2000}};
  recording.acquisitions[{1, 0, 1}][format::acquisitions] = 8;
  recording.acquisitions[{1, 0, 2}][format::acquisitions] = 9;
  symbols symbols(recording);
  const std::vector<use> calls = calls_in(recording, find_calls(recording), symbols),
                         locks = locks_in(recording, find_locks(recording), symbols);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].count, 7U);
  ASSERT_EQ(locks.size(), 1U) << "without the condition";
  EXPECT_EQ(locks[0].count, 8U);
  EXPECT_EQ(locks[0].operation, "mutex");
}

}  // namespace
}  // namespace tarn::analyse
