// What each interval added, in as many intervals as are wanted; and the course by category that comes of it.
#include "analyse/history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "analyse/timeline.hpp"
#include "format/reader.hpp"
#include "unit/format/example.hpp"

namespace tarn::analyse {
namespace {

// A look each 100 ns; 40 of them. A site that keeps a block of 100 bytes of each two, one whose blocks are all freed by
// another thread, from the 20th look on; a lock that is waited for in the last ten, and a call in each.
class forty_looks : public testing::Test {
 protected:
  forty_looks() {
    const format::file_at_test file;
    format::writer to(file.path());
    format::recording made;
    made.program.mode = "full";
    made.images = 1;
    made.threads = {{0, 1, 0, 0, 0, 0, 0, {}}, {0, 2, 0, 0, 0, 0, 0, {}}};
    made.sites = {{}, {0, {1}}, {0, {2}}};
    made.locks = {{}, {0, format::lock_type::mutex, 1, 8}};
    to.program(made.program);
    for (std::uint64_t look = 1; look <= 40; ++look) {
      format::counts& kept = made.cells[{1, 0, 0}];
      kept[format::blocks] += 2;
      kept[format::bytes] += 200;
      kept[format::frees] += 1;
      if (look > 20) {
        made.cells[{2, 0, 0}][format::blocks] += 3;
        made.cells[{2, 0, 0}][format::bytes] += 30;
        made.cells[{2, 0, 1}][format::frees] += 3;
      }
      format::lock_counts& lock = made.lockings[{1, 0, 1}];
      lock[format::acquisitions] += 1;
      if (look > 30) {
        lock[format::contended] += 1;
        lock[format::wait_ticks] += 7;
        made.waits[{1, 0, 1, 1, 1}] = {look, 7 * look};
      }
      made.calls[{1, 1, 0}][format::calls] += 5;
      made.moments.push_back({100 * look, 4096 * look, 10 * look, look});
      made.lockings[{1, 1, 1}][format::acquisitions] = 1;
      to.changes(made);
    }
    bytes_ = file.content();
    in_ = format::parse(bytes_);
  }

  static std::uint64_t sum(const line& of) { return std::accumulate(of.begin(), of.end(), std::uint64_t{0}); }

  std::string bytes_;
  format::recording in_;
};

TEST_F(forty_looks, become_as_many_intervals_as_are_wanted) {
  for (const std::size_t most : {1U, 3U, 10U, 40U, 100U}) {
    const history made = history_of(in_, bytes_, most);
    ASSERT_EQ(made.intervals.size(), std::min<std::size_t>(most, 40));
    std::uint64_t end = 0, cpu = 0;
    for (const history_interval& each : made.intervals) {
      EXPECT_EQ(each.from_ns, end);
      EXPECT_LE(each.to_ns - each.from_ns, 4000 / made.intervals.size() + 100);
      EXPECT_EQ(each.resident_bytes, each.to_ns / 100 * 4096);
      end = each.to_ns;
      cpu += each.cpu_us;
    }
    EXPECT_EQ(end, 4000U);
    EXPECT_EQ(cpu, 440U);
    for (const auto& [key, points] : made.heap) {
      std::uint64_t blocks = 0;
      for (const auto& each : points) blocks += each.more[0];
      EXPECT_EQ(blocks, in_.cells.at(key)[format::blocks]) << "what the intervals added is not all";
    }
  }
}

TEST_F(forty_looks, have_points_only_where_something_happened) {
  const history made = history_of(in_, bytes_, 4);
  const auto& second = made.heap.at({2, 0, 1});
  ASSERT_EQ(second.size(), 2U);
  EXPECT_EQ(second[0].interval, 2U);
  EXPECT_EQ(second[0].more, (std::array<std::uint64_t, 3>{0, 0, 30}));
  ASSERT_EQ(made.waits.size(), 1U);
  EXPECT_EQ(made.waits.begin()->second.size(), 1U);
  EXPECT_EQ(made.waits.begin()->second[0].interval, 3U);
  EXPECT_EQ(made.points(), 4U + 2 + 2 + 4 + 1 + 1 + 4);
}

TEST_F(forty_looks, have_a_course_by_category) {
  const history made = history_of(in_, bytes_, 4);
  const timeline course = timeline_of(in_, made, find(in_), find_locks(in_), find_calls(in_));
  const auto transient = static_cast<std::size_t>(category::transient),
             shared = static_cast<std::size_t>(category::shared);
  EXPECT_EQ(course.blocks[transient], (line{20, 20, 20, 20}));
  EXPECT_EQ(course.in_use[transient], (line{1000, 2000, 3000, 4000}));
  EXPECT_EQ(course.blocks[shared], (line{0, 0, 30, 30}));
  EXPECT_EQ(course.bytes[shared], (line{0, 0, 300, 300}));
  EXPECT_EQ(sum(course.in_use[shared]), 0U);
  EXPECT_EQ(course.waited_ns[static_cast<std::size_t>(lock_category::contended)], (line{0, 0, 0, 70}));
  line calls(4);
  for (const line& each : course.calls)
    std::transform(each.begin(), each.end(), calls.begin(), calls.begin(), std::plus<>());
  EXPECT_EQ(calls, (line{50, 50, 50, 50}));
}

TEST_F(forty_looks, are_left_out_where_their_source_is) {
  in_.cells.clear();
  const history made = history_of(in_, bytes_, 4);
  EXPECT_TRUE(made.heap.empty());
  EXPECT_FALSE(made.locks.empty());
}

TEST(history, of_a_recording_without_moments_is_nothing) {
  format::recording made = format::example_recording();
  made.moments.clear();
  EXPECT_TRUE(history_of(made, format::file_of(made), 10).intervals.empty());
}

}  // namespace
}  // namespace tarn::analyse
