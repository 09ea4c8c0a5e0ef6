// Tests the additions of each interval, for any number of intervals, and the course by category that follows.
#include "profiler/findings/heap/history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "profiler/findings/timeline.hpp"
#include "profiler/format/reader.hpp"
#include "unit/format/example.hpp"

namespace tarn::analyse {
namespace {

// Takes 40 snapshots, one each 100 ns, of a site that keeps one of every two blocks of 100 bytes; a site that only
// reallocates until the 20th snapshot, and then allocates blocks that another thread frees; a site whose frees are
// seen before its blocks; a lock that is waited for in the last ten snapshots; and five calls in each.
class forty_looks : public testing::Test {
 protected:
  forty_looks() { look(100, 0); }

  // `after`: the calls after the last snapshot.
  void look(std::uint64_t every_ns, std::uint64_t after) {
    const format::file_at_test file;
    format::writer output(file.path());
    format::recording recording;
    recording.program.mode = "full";
    recording.images = 1;
    recording.threads = {{0, 1, 0, 0, 0, 0, 0, {}}, {0, 2, 0, 0, 0, 0, 0, {}}};
    recording.sites = {{}, {0, {1}}, {0, {2}}, {0, {3}}};
    recording.locks = {{}, {0, format::lock_type::mutex, 1, 8}};
    output.program(recording.program);
    for (std::uint64_t look = 1; look <= 40; ++look) {
      format::heap_counts& counts = recording.cells[{1, 0, 0}];
      counts[format::blocks] += 2;
      counts[format::bytes] += 200;
      counts[format::frees] += 1;
      counts[format::freed_bytes] += 100;
      if (look > 20) {
        recording.cells[{2, 0, 0}][format::blocks] += 3;
        recording.cells[{2, 0, 0}][format::bytes] += 30;
        recording.cells[{2, 0, 1}][format::frees] += 3;
        recording.cells[{2, 0, 1}][format::freed_bytes] += 30;
      } else {
        recording.cells[{2, 0, 0}][format::reallocs] += 1;
      }
      if (look <= 20) {
        recording.cells[{3, 1, 0}][format::frees] += 1;
        recording.cells[{3, 1, 0}][format::freed_bytes] += 8;
      } else {
        recording.cells[{3, 1, 1}][format::blocks] += 1;
        recording.cells[{3, 1, 1}][format::bytes] += 8;
      }
      format::lock_counts& lock = recording.acquisitions[{1, 0, 1}];
      lock[format::acquisitions] += 1;
      if (look > 30) {
        lock[format::contended] += 1;
        lock[format::wait_ticks] += 7;
        recording.waits[{1, 0, 1, 1, 1}] = {look, 7 * look};
      }
      recording.calls[{1, 1, 0}][format::calls] += 5;
      recording.calls[{1, 1, 0}][format::call_ticks] += 3;
      recording.snapshots.push_back({every_ns * look, 4096 * look, 10 * look, look});
      recording.acquisitions[{1, 1, 1}][format::acquisitions] = 1;
      output.changes(recording);
    }
    if (after != 0) {
      recording.calls[{1, 1, 0}][format::calls] += after;
      output.changes(recording);
    }
    bytes_ = file.content();
    recording_ = format::parse(bytes_);
  }

  static std::uint64_t sum(const line& value) { return std::accumulate(value.begin(), value.end(), std::uint64_t{0}); }

  std::string bytes_;
  format::recording recording_;
};

TEST_F(forty_looks, become_as_many_intervals_as_are_wanted) {
  for (const std::size_t limit : {1U, 3U, 10U, 40U, 100U}) {
    const history result = history_of(recording_, bytes_, limit);
    ASSERT_EQ(result.intervals.size(), std::min<std::size_t>(limit, 40));
    std::uint64_t end = 0, cpu = 0;
    for (const history_interval& interval : result.intervals) {
      EXPECT_EQ(interval.from_ns, end);
      EXPECT_LE(interval.to_ns - interval.from_ns, 4000 / result.intervals.size() + 100);
      EXPECT_EQ(interval.resident_bytes, interval.to_ns / 100 * 4096);
      end = interval.to_ns;
      cpu += interval.cpu_us;
    }
    EXPECT_EQ(end, 4000U);
    EXPECT_EQ(cpu, 440U);
    for (const auto& [key, points] : result.heap) {
      std::uint64_t blocks = 0;
      for (const auto& point : points) blocks += point.increase[0];
      EXPECT_EQ(blocks, recording_.cells.counts_of(key)[format::blocks]) << "what the intervals added is not all";
    }
  }
}

TEST_F(forty_looks, are_all_there_where_the_time_is_not_divisible) {
  look(1, 0);
  const history result = history_of(recording_, bytes_, 3);
  ASSERT_EQ(result.intervals.size(), 3U);
  EXPECT_EQ(result.intervals.back().to_ns, 40U);
  const auto& calls = result.calls.begin()->second;
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].increase[0] + calls[1].increase[0] + calls[2].increase[0], 200U);
}

TEST_F(forty_looks, have_no_time_for_what_comes_after_the_last) {
  look(100, 9);
  const history result = history_of(recording_, bytes_, 1);
  const auto& calls = result.calls.begin()->second;
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].increase[0], 200U);
}

TEST_F(forty_looks, have_points_only_where_something_happened) {
  const history result = history_of(recording_, bytes_, 4);
  const auto& second = result.heap.at({2, 0, 1});
  ASSERT_EQ(second.size(), 2U);
  EXPECT_EQ(second[0].interval, 2U);
  EXPECT_EQ(second[0].increase, (std::array<std::uint64_t, 4>{0, 0, 30, 300}));
  ASSERT_EQ(result.waits.size(), 1U);
  EXPECT_EQ(result.waits.begin()->second.size(), 1U);
  EXPECT_EQ(result.waits.begin()->second[0].interval, 3U);
  EXPECT_EQ(result.points(), 4U + 2 + 2 + 2 + 2 + 4 + 1 + 1 + 4);
}

TEST_F(forty_looks, have_a_course_by_category) {
  recording_.clock = {2, 1};
  const history result = history_of(recording_, bytes_, 4);
  const timeline course =
      timeline_of(recording_, result, find(recording_), find_locks(recording_), find_calls(recording_));
  const auto same_thread = static_cast<std::size_t>(heap_category::same_thread),
             cross_thread = static_cast<std::size_t>(heap_category::cross_thread);
  EXPECT_EQ(course.blocks[same_thread], (line{20, 20, 20, 20}));
  EXPECT_EQ(course.in_use[same_thread], (line{1000, 2000, 3000, 4000}));
  EXPECT_EQ(course.blocks[cross_thread], (line{0, 0, 40, 40}));
  EXPECT_EQ(course.bytes[cross_thread], (line{0, 0, 380, 380}));
  EXPECT_EQ(sum(course.in_use[cross_thread]), 0U);
  const auto contended = static_cast<std::size_t>(lock_category::contended);
  EXPECT_EQ(course.acquisitions[contended], (line{11, 10, 10, 10}));
  EXPECT_EQ(course.waited_ns[contended], (line{0, 0, 0, 35})) << "two ticks a nanosecond";
  const call_findings calls = find_calls(recording_);
  ASSERT_EQ(calls.sites.size(), 1U);
  const auto of_calls = static_cast<std::size_t>(calls.sites.front().category);
  EXPECT_EQ(course.calls[of_calls], (line{50, 50, 50, 50}));
  EXPECT_EQ(course.calls_ns[of_calls], (line{15, 15, 15, 15}));
}

TEST_F(forty_looks, have_no_blocks_of_a_program_that_an_exec_has_ended) {
  history result = history_of(recording_, bytes_, 4);
  EXPECT_EQ(result.intervals.back().images, recording_.images);
  result.intervals[2].images = result.intervals[3].images = recording_.images + 1;
  const levels bytes = levels_of(recording_, result).at(1);
  EXPECT_EQ(bytes, (levels{1000, 2000, 0, 0}));
}

TEST_F(forty_looks, are_left_out_where_their_source_is) {
  const auto points_without = [&](auto leave_out) {
    format::recording part = recording_;
    leave_out(part);
    const history result = history_of(part, bytes_, 4);
    return std::array{result.heap.size(), result.locks.size(), result.waits.size(), result.calls.size()};
  };
  using value = std::array<std::size_t, 4>;
  EXPECT_EQ(points_without([](auto&) {}), (value{5, 2, 1, 1}));
  EXPECT_EQ(points_without([](auto& part) { part.cells.clear(); }), (value{0, 2, 1, 1}));
  EXPECT_EQ(points_without([](auto& part) { part.acquisitions.clear(); }), (value{5, 0, 1, 1}));
  EXPECT_EQ(points_without([](auto& part) { part.waits.clear(); }), (value{5, 2, 0, 1}));
  EXPECT_EQ(points_without([](auto& part) { part.calls.clear(); }), (value{5, 2, 1, 0}));
}

TEST(history, of_a_recording_without_moments_is_nothing) {
  format::recording recording = format::example_recording();
  recording.snapshots.clear();
  EXPECT_TRUE(history_of(recording, format::file_of(recording), 10).intervals.empty());
  recording.snapshots = {{}};
  EXPECT_TRUE(history_of(recording, format::file_of(recording), 10).intervals.empty()) << "no time has passed";
}

}  // namespace
}  // namespace tarn::analyse
