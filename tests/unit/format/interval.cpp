// Tests that an interval has the events between two timestamps of a recording, and no others.
#include "profiler/format/interval.hpp"

#include <gtest/gtest.h>

#include "profiler/format/reader.hpp"
#include "unit/format/example.hpp"

namespace tarn::format {
namespace {

// Takes snapshots at 10, 20 and 30 with growing counts. The longest wait for the lock is in the second one.
class three_looks : public testing::Test {
 protected:
  three_looks() : output_(file_.path()) {
    recording_.program = example_recording().program;
    recording_.images = 1;
    recording_.threads = {{0, 1, 0, 0, 0, 0, 0, "main"}};
    recording_.sites = {{}, {0, {1}}, {0, {2}}};
    recording_.locks = {{}, {0, lock_type::mutex, 1, 8}};
    recording_.cpu.interval_ns = 1000;
    recording_.cpu.threads = {{0, 1, "main"}};
    recording_.cpu.stacks = {{}, {0, {7}}};
    output_.program(recording_.program);
    look(10, 1, 100, 50);
    recording_.threads.push_back({0, 2, 0, 0, 0, 0, 0, "late"});
    look(20, 10, 1000, 700);
    look(30, 100, 200, 700);
    recording_.has_ended = true;
    recording_.end = {false, 0, 0, 40, 4, 1000, 10};
    output_.end(recording_.end);
    bytes_ = file_.content();
    whole_ = parse(bytes_);
  }

  void look(std::uint64_t index, std::uint64_t count, std::uint64_t waited, std::uint64_t longest) {
    recording_.cells[{1, 0, 0}][blocks] += count;
    recording_.cells[{1, 0, 0}][bytes] += 100 * count;
    if (index == 20) recording_.cells[{2, 1, 0}][frees] = 5;
    recording_.calls[{1, 0, 3}][calls] += 2 * count;
    lock_counts& lock = recording_.acquisitions[{1, 0, 1}];
    lock[wait_ticks] += waited;
    lock[longest_wait] = longest;
    recording_.waits[{1, 0, 1, 1, 0}][waits] += count;
    recording_.cpu.cells[{1, 0}][cpu_samples] += count;
    recording_.threads[0].allocations += count;
    recording_.threads[0].predecessors += 2 * count;
    recording_.snapshots.push_back({index, 4096 * index, index, index / 10});
    output_.changes(recording_);
  }

  recording interval_of(std::uint64_t begin, std::uint64_t end) { return part_of(whole_, bytes_, {begin, end}); }

  const file_at_test file_;
  writer output_;
  recording recording_, whole_;
  std::string bytes_;
};

TEST_F(three_looks, a_part_has_the_samples_of_its_time) {
  const recording second = interval_of(10, 20);
  EXPECT_EQ(second.cpu.cells, (cell_table<cpu_key, cpu_counts>{{{1, 0}, {10, 0, 0}}}));
  EXPECT_EQ(second.cpu.stacks, whole_.cpu.stacks);
  EXPECT_EQ(second.cpu.threads, whole_.cpu.threads);
  EXPECT_EQ(second.cpu.interval_ns, 1000U);
  EXPECT_EQ(interval_of(0, 30).cpu.cells, whole_.cpu.cells);
  EXPECT_EQ(since(second, whole_).cpu.cells, (cell_table<cpu_key, cpu_counts>{{{1, 0}, {101, 0, 0}}}));
}

TEST_F(three_looks, all_of_them_are_the_whole) {
  const recording complete = interval_of(0, 30);
  EXPECT_EQ(complete.cells, whole_.cells);
  EXPECT_EQ(complete.calls, whole_.calls);
  EXPECT_EQ(complete.acquisitions, whole_.acquisitions);
  EXPECT_EQ(complete.waits, whole_.waits);
  EXPECT_EQ(complete.threads, whole_.threads);
  EXPECT_EQ(complete.snapshots, whole_.snapshots);
}

TEST_F(three_looks, one_of_them_is_what_it_added) {
  recording second = interval_of(10, 20);
  EXPECT_EQ((second.cells[{1, 0, 0}][blocks]), 10U);
  EXPECT_EQ((second.cells[{1, 0, 0}][bytes]), 1000U);
  EXPECT_EQ((second.cells[{2, 1, 0}][frees]), 5U);
  EXPECT_EQ((second.calls[{1, 0, 3}][calls]), 20U);
  EXPECT_EQ((second.waits[{1, 0, 1, 1, 0}][waits]), 10U);
  EXPECT_EQ((second.acquisitions[{1, 0, 1}][wait_ticks]), 1000U);
  EXPECT_EQ((second.acquisitions[{1, 0, 1}][longest_wait]), 700U) << "it was longer than all before";
  EXPECT_EQ(second.threads.size(), 2U);
  EXPECT_EQ(second.threads[0].allocations, 10U);
  EXPECT_EQ(second.threads[0].predecessors, 20U);
  EXPECT_EQ(second.end.user_us, 10U);
  EXPECT_EQ(second.end.system_us, 1U);
  EXPECT_EQ(second.end.instructions, 0U) << "of the part they are not known";
  recording third = interval_of(20, 30);
  EXPECT_FALSE(third.cells.contains({2, 1, 0}));
  EXPECT_EQ((third.cells[{1, 0, 0}][blocks]), 100U);
  EXPECT_EQ((third.acquisitions[{1, 0, 1}][longest_wait]), 200U) << "no longer than all that was waited";
  EXPECT_EQ((interval_of(0, 20).cells[{1, 0, 0}][blocks]), 11U);
}

// A wait is first at no stack, and later at that of a like wait.
class moved_wait : public testing::Test {
 protected:
  moved_wait() {
    before_.program = example_recording().program;
    before_.images = 1;
    before_.cpu.interval_ns = 1000;
    before_.cpu.threads = {{0, 1, "main"}, {0, 2, "other"}};
    before_.cpu.stacks = {{}, {0, {7}}};
    before_.cpu.cells[{0, 0}][waiting_ns] = 250'000;
    before_.cpu.cells[{0, 0}][running_ns] = 40'000;
    before_.snapshots.push_back({10, 4096, 1, 1});
    now_ = before_;
    now_.cpu.cells[{0, 0}][waiting_ns] = 0;
    now_.cpu.cells[{0, 0}][running_ns] = 60'000;
    now_.cpu.cells[{1, 0}][waiting_ns] = 350'000;
    now_.cpu.cells[{1, 1}][waiting_ns] = 90'000;
    now_.snapshots.push_back({20, 4096, 2, 2});
  }

  static void expect_once(const recording& part) {
    std::map<std::uint32_t, std::uint64_t> sums;
    for (const auto& [key, counts] : part.cpu.cells) sums[key.thread] += counts[running_ns] + counts[waiting_ns];
    EXPECT_NEAR(static_cast<double>(sums[0]), 60'000 + 350'000 - 250'000 - 40'000, 2);
    EXPECT_EQ(sums[1], 90'000U);
  }

  recording before_, now_;
};

TEST_F(moved_wait, counts_once_since_a_recording) {
  expect_once(since(before_, now_));
  now_.cpu.cells.erase({0, 0});
  now_.cpu.cells[{1, 0}][running_ns] = 60'000;
  expect_once(since(before_, now_));
}

TEST_F(moved_wait, counts_once_in_a_part) {
  const file_at_test file;
  writer output(file.path());
  output.program(before_.program);
  output.changes(before_);
  output.changes(now_);
  output.end(now_.end);
  const std::string bytes = file.content();
  expect_once(part_of(parse(bytes), bytes, {10, 20}));
}

TEST(since, limits_count_what_was_left_out_since_then) {
  recording before, now;
  before.limits = {
      .missed_acquisitions = 1, .untimed_holds = 20, .waits_without_holder = 3, .has_shared_threads = true};
  now.limits = {.missed_acquisitions = 1, .untimed_holds = 25, .waits_without_holder = 3, .has_shared_threads = true};
  EXPECT_EQ(since(before, now).limits, (limit_facts{.untimed_holds = 5, .has_shared_threads = true}));
}

// The first cell held 6 blocks of 600 bytes when the part began, the second one none.
TEST(since, a_peak_is_what_was_in_use_beyond_what_the_cells_held_before) {
  recording before, now;
  before.cells[{1, 0, 0}][blocks] = 10, before.cells[{1, 0, 0}][bytes] = 1000;
  before.cells[{1, 0, 0}][frees] = 4, before.cells[{1, 0, 0}][freed_bytes] = 400;
  before.cells[{1, 0, 0}][peak_blocks] = 10, before.cells[{1, 0, 0}][peak_bytes] = 1000;
  now = before;
  now.peak_ns = 7;
  now.cells[{1, 0, 0}][peak_blocks] = 6, now.cells[{1, 0, 0}][peak_bytes] = 600;
  EXPECT_EQ(since(before, now).cells.size(), 0U) << "it did not change";
  now.cells[{1, 0, 0}][blocks] = 13, now.cells[{1, 0, 0}][bytes] = 1300;
  now.cells[{1, 0, 0}][peak_blocks] = 9, now.cells[{1, 0, 0}][peak_bytes] = 900;
  now.cells[{2, 0, 0}][blocks] = 2, now.cells[{2, 0, 0}][peak_blocks] = 1;
  recording part = since(before, now);
  EXPECT_EQ((part.cells[{1, 0, 0}][blocks]), 3U);
  EXPECT_EQ((part.cells[{1, 0, 0}][peak_blocks]), 3U);
  EXPECT_EQ((part.cells[{1, 0, 0}][peak_bytes]), 300U);
  EXPECT_EQ((part.cells[{2, 0, 0}][peak_blocks]), 1U);
  EXPECT_EQ(part.peak_ns, 7U);
  now.cells[{1, 0, 0}][frees] = 9, now.cells[{1, 0, 0}][peak_blocks] = 4;
  part = since(before, now);
  EXPECT_EQ((part.cells[{1, 0, 0}][peak_blocks]), static_cast<std::uint64_t>(-2)) << "it may have held more before";
}

TEST_F(three_looks, what_recording_took_is_shared_out_by_cpu_time) {
  recording whole = whole_;
  whole.end.user_us = 40;
  whole.end.system_us = 4;
  whole.work.amounts.fill(400);
  whole.work.collector_us = 400;
  const work_facts quarter = part_of(whole, bytes_, {10, 20}).work;  // 10 and 1 us
  EXPECT_EQ(quarter.amounts[lock_work], 100U);
  EXPECT_EQ(quarter.collector_us, 100U);
}

TEST_F(three_looks, an_interval_is_widened_to_moments) {
  const auto moments_around = [&](std::uint64_t begin, std::uint64_t end) {
    const interval rounded = to_snapshots(whole_, {begin, end});
    return std::pair(rounded.from_ns, rounded.to_ns);
  };
  EXPECT_EQ(moments_around(0, 1), std::pair(0UL, 10UL));
  EXPECT_EQ(moments_around(10, 20), std::pair(10UL, 20UL));
  EXPECT_EQ(moments_around(11, 19), std::pair(10UL, 20UL));
  EXPECT_EQ(moments_around(9, 21), std::pair(0UL, 30UL));
  EXPECT_EQ(moments_around(25, 99), std::pair(20UL, 30UL));
}

}  // namespace
}  // namespace tarn::format
