// Tests the findings about memory: the peak, the end and the trends.
#include "profiler/findings/heap/memory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

constexpr std::uint32_t intervals = 60;
constexpr std::uint64_t interval_ns = 100'000'000;

// Returns the course of a run in which the first site has `level(seconds)` bytes in use.
history course_of(const std::function<double(double)>& level) {
  history course;
  double before = 0;
  for (std::uint32_t index = 0; index < intervals; ++index) {
    course.intervals.push_back({index * interval_ns, (index + 1) * interval_ns, 0, 0});
    const double now = std::max(level(static_cast<double>(index + 1) / 10), 0.0);
    point<heap_series.size()> change{index, {}};
    change.increase[1] = static_cast<std::uint64_t>(std::max(now - before, 0.0));
    change.increase[3] = static_cast<std::uint64_t>(std::max(before - now, 0.0));
    course.heap[{1, 0, 0}].push_back(change);
    before = now;
  }
  return course;
}

memory_site judge(const std::function<double(double)>& level, std::uint64_t sampling_interval = 0) {
  format::recording recording = recording_of({{.blocks = 10, .size = 1'000'000}});
  recording.program.interval = sampling_interval;
  const heap_findings heap = find(recording);
  const memory_findings memory = find_memory(recording, heap.sites, course_of(level));
  EXPECT_EQ(memory.sites.size(), 1U);
  memory_site result = memory.sites.front();
  result.origin = nullptr;  // it ends with `heap`
  return result;
}

TEST(memory, what_rises_to_the_end_grows) {
  const memory_site leak = judge([](double seconds) { return 1e6 * seconds; });
  EXPECT_EQ(leak.course, trend::grows);
  EXPECT_NEAR(leak.bytes_per_second, 1e6, 1e4);
  EXPECT_EQ(judge([](double seconds) { return 5e6 + 1e6 * seconds + 2e5 * std::sin(20 * seconds); }).course,
            trend::grows)
      << "a leak below a load that comes and goes";
  EXPECT_EQ(judge([](double seconds) { return 1e5 * seconds * seconds; }).course, trend::grows) << "ever faster";
}

TEST(memory, what_stops_to_rise_fills) {
  EXPECT_EQ(judge([](double seconds) { return std::min(2e6 * seconds, 7e6); }).course, trend::fills);
  EXPECT_EQ(judge([](double seconds) { return 8e6 * (1 - std::exp(-seconds)); }).course, trend::fills);
}

TEST(memory, what_comes_and_goes_is_steady) {
  EXPECT_EQ(judge([](double) { return 5e6; }).course, trend::steady);
  EXPECT_EQ(judge([](double seconds) { return 5e6 + 3e6 * std::sin(9 * seconds); }).course, trend::steady);
  EXPECT_EQ(judge([](double seconds) { return 8e6 - 1e6 * seconds; }).course, trend::steady);
}

TEST(memory, a_rise_within_the_error_of_samples_is_none) {
  const auto rise = [](double seconds) { return 1e6 + 2e4 * seconds; };
  EXPECT_EQ(judge(rise).course, trend::grows) << "every block is counted";
  EXPECT_EQ(judge(rise, 128 * 1024).course, trend::steady) << "some eight samples";
}

TEST(memory, few_intervals_tell_no_trend) {
  format::recording recording = recording_of({{.blocks = 10}});
  const heap_findings heap = find(recording);
  EXPECT_EQ(find_memory(recording, heap.sites, {}).sites.front().course, trend::unknown);
}

TEST(memory, the_site_with_most_at_either_moment_is_first) {
  format::recording recording =
      recording_of({{.blocks = 10, .own_frees = 10}, {.blocks = 5}, {.blocks = 7, .own_frees = 7}});
  for (auto& [key, value] : recording.cells) value[format::freed_bytes] = value[format::frees] * 100;
  recording.cells[{1, 0, 0}][format::peak_bytes] = 600;
  recording.cells[{1, 0, 0}][format::peak_blocks] = 6;
  // Another thread has freed some of the first site's blocks before the peak.
  recording.cells[{1, 0, 1}][format::peak_bytes] = static_cast<std::uint64_t>(-200);
  recording.cells[{1, 0, 1}][format::peak_blocks] = static_cast<std::uint64_t>(-2);
  const heap_findings heap = find(recording);
  const memory_findings memory = find_memory(recording, heap.sites, {});
  ASSERT_EQ(memory.sites.size(), 2U) << "the third site had nothing at either moment";
  EXPECT_EQ(memory.sites[0].origin->live_bytes, 500U);
  EXPECT_EQ(memory.sites[1].origin->peak_bytes, 400U);
  EXPECT_EQ(memory.sites[1].origin->peak_blocks, 4U);
  EXPECT_EQ(memory.peak_bytes, 400U);
  EXPECT_EQ(memory.end_bytes, 500U);
  EXPECT_EQ(memory.end_blocks, 5U);
}

TEST(memory, the_heap_in_memory_is_in_use_or_added_or_free) {
  format::recording recording = recording_of({{.blocks = 100, .size = 100}});  // each takes 112 bytes
  const heap_findings heap = find(recording);
  memory_findings memory = find_memory(recording, heap.sites, {});
  format::residence_facts residence;
  residence.bytes[static_cast<std::size_t>(format::memory_kind::heap)] = 30'000;
  residence.in_use_bytes = 20'000;
  EXPECT_FALSE(heap_in(residence, memory)) << "blocks from before the recording are not known";
  residence.knows_in_use = true;
  EXPECT_EQ(heap_in(residence, memory)->rounding, 2'400U);
  memory.max_bytes = residence.in_use_bytes / 2;
  EXPECT_EQ(heap_in(residence, memory)->in_use, residence.in_use_bytes / 2) << "no more was allocated";
  memory.max_bytes.reset();
  EXPECT_EQ(heap_in(residence, memory)->free, 7'600U);
  EXPECT_EQ(heap_in(residence, memory)->untouched, 0U);
  residence.in_use_bytes = 50'000;
  EXPECT_EQ(heap_in(residence, memory)->free, 0U);
  EXPECT_EQ(heap_in(residence, memory)->untouched, 26'000U);
  recording.modules.push_back({1, 0, 0, 0, "/usr/lib/libjemalloc.so.2", "", 0});
  memory = find_memory(recording, heap.sites, {});
  EXPECT_FALSE(memory.rounding);
  EXPECT_EQ(heap_in(residence, memory)->rounding, 0U);
}

TEST(memory, a_sum_of_few_samples_has_a_wide_range_and_one_of_many_a_narrow_one) {
  const figure_range exact = range_of_samples(0, 76'000);
  EXPECT_EQ(exact.low, 76'000);
  EXPECT_EQ(exact.high, 76'000);
  const figure_range small_sum = range_of_samples(512 * 1024, 206 * 1024);
  EXPECT_LT(small_sum.low, 76 * 1024) << "most of the blocks may not have been sampled, or more than stand for it";
  EXPECT_GT(small_sum.high, 2 * 206 * 1024);
  const figure_range large_sum = range_of_samples(512 * 1024, std::uint64_t{512} << 20);
  EXPECT_NEAR(large_sum.low, 481.2 * 1024 * 1024, 1024 * 1024);
  EXPECT_NEAR(large_sum.high, 544.3 * 1024 * 1024, 1024 * 1024);
  EXPECT_EQ(range_of_samples(512 * 1024, 0).low, 0);
}

TEST(memory, both_moments_of_a_site_have_their_errors) {
  format::recording recording = recording_of({{.blocks = 100, .size = 1000}});
  recording.cells[{1, 0, 0}][format::peak_bytes] = 400'000;
  recording.program.interval = 1000;
  const heap_findings heap = find(recording);
  const memory_site site = find_memory(recording, heap.sites, {}).sites.front();
  EXPECT_NEAR(site.peak_error, 1.96 / 20, 1e-9);
  EXPECT_NEAR(site.live_error, 1.96 / 10, 1e-9);
}

TEST(memory, bytes_are_not_scaled_to_the_number_of_blocks) {
  format::recording recording = recording_of({{.blocks = 400, .size = 10}});
  recording.program.mode = "sampled";
  recording.threads[0].allocations = 200;
  recording.threads[0].bytes = 4000;
  recording.cells[{1, 0, 0}][format::peak_bytes] = 4000;
  recording.cells[{1, 0, 1}][format::peak_bytes] = static_cast<std::uint64_t>(-1000);
  const heap_findings heap = find(recording);
  EXPECT_EQ(heap.sites[0].live, 200U);
  EXPECT_EQ(heap.sites[0].live_bytes, 4000U);
  EXPECT_EQ(heap.sites[0].peak_bytes, 3000U);
}

// The first of two programs leaves its blocks behind, the second frees some of its own.
TEST(memory, blocks_of_a_program_before_an_exec_are_not_in_use_at_the_end) {
  format::recording recording = recording_of({{.blocks = 300, .size = 100}, {.blocks = 200, .own_frees = 50}}, 2);
  recording.images = 2;
  recording.sites[2].image = recording.threads[1].image = 1;
  const format::heap_counts of_second = recording.cells.counts_of({2, 0, 0});
  recording.cells.erase({2, 0, 0});
  recording.cells[{2, 1, 1}] = of_second;
  recording.cells[{2, 1, 1}][format::bytes] = 20'000;
  recording.cells[{2, 1, 1}][format::freed_bytes] = 5'000;
  recording.cells[{1, 0, 0}][format::peak_bytes] = 30'000;
  recording.threads[0].allocations = 300;
  recording.threads[0].bytes = 30'000;
  recording.threads[1].allocations = 200;
  recording.threads[1].bytes = 20'000;
  recording.threads[1].frees = 50;
  for (const char* const mode : {"full", "sampled"}) {
    recording.program.mode = mode;
    recording.program.interval = recording.program.mode == "full" ? 0 : 1000;
    const heap_findings heap = find(recording);
    EXPECT_EQ(heap.live, 150U) << mode;
    EXPECT_EQ(heap.ended_blocks, 300U) << mode;
    EXPECT_EQ(heap.sites[0].live, 0U);
    EXPECT_EQ(heap.sites[0].unfreed(), 300U);
    const memory_findings memory = find_memory(recording, heap.sites, {});
    EXPECT_EQ(memory.end_bytes, 15'000U) << mode;
    EXPECT_EQ(memory.peak_bytes, 30'000U) << mode;
    EXPECT_LE(memory.peak_range.low, memory.peak_range.high) << mode;
    EXPECT_LE(memory.peak_range.high, 30'000U) << mode;
  }
}

// The search saw half of what the first site held at the peak, and all of the second.
TEST(memory, contents_tell_what_to_save_at_the_peak) {
  format::recording recording = recording_of({{.blocks = 100, .size = 1000}, {.blocks = 10, .size = 1000}});
  for (auto& [key, counts] : recording.cells) {
    counts[format::peak_blocks] = counts[format::blocks];
    counts[format::peak_bytes] = counts[format::bytes];
  }
  recording.contents = {1,
                        60'000,
                        {{1,
                          {.blocks = 50,
                           .bytes = 50'000,
                           .unwritten_bytes = 20'000,
                           .max_unwritten = 900,
                           .unwritten_blocks = 40,
                           .equal_blocks = 5,
                           .equal_bytes = 5000,
                           .repeated = 1}},
                         {2, {.blocks = 10, .bytes = 10'000, .equal_blocks = 8, .equal_bytes = 8000, .repeated = 1}}}};
  const heap_findings heap = find(recording);
  const memory_findings memory = find_memory(recording, heap.sites, {});
  ASSERT_EQ(memory.savings.size(), 2U);
  const memory_saving &shrunk = memory.savings[0], &shared = memory.savings[1];
  EXPECT_EQ(shrunk.remedy, memory_remedy::shrink);
  EXPECT_EQ(shrunk.bytes, 40'000U);
  EXPECT_DOUBLE_EQ(shrunk.range.low, 20'000 - 900 - 16 * 40) << "one block may still be filled";
  EXPECT_DOUBLE_EQ(shrunk.range.high, 20'000 + 50'000) << "the half that was not seen may be empty";
  EXPECT_EQ(shared.remedy, memory_remedy::share);
  EXPECT_EQ(shared.bytes, 8000U);
  EXPECT_DOUBLE_EQ(shared.range.low, 8000 - 48 * 2) << "a table of two contents";
  EXPECT_DOUBLE_EQ(shared.range.high, 8000);
}

}  // namespace
}  // namespace tarn::analyse
