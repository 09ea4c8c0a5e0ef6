// Tests the category of a site.
#include "profiler/findings/heap/findings.hpp"

#include <gtest/gtest.h>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

heap_category category_of(const made_site& first, unsigned threads = 2) {
  const heap_findings findings = find(recording_of({first}, threads));
  EXPECT_EQ(findings.sites.size(), 1U);
  return findings.sites.front().category;
}

TEST(findings, blocks_that_the_same_thread_frees_are_same_thread) {
  EXPECT_EQ(category_of({.blocks = 1000, .own_frees = 1000}), heap_category::same_thread);
  EXPECT_EQ(category_of({.blocks = 1000, .own_frees = 990, .other_frees = 10}), heap_category::same_thread);
}

TEST(findings, blocks_that_another_thread_frees_are_cross_thread) {
  EXPECT_EQ(category_of({.blocks = 1000, .other_frees = 1000}), heap_category::cross_thread);
  EXPECT_EQ(category_of({.blocks = 1000, .own_frees = 980, .other_frees = 20}), heap_category::cross_thread);
}

TEST(findings, blocks_from_before_the_second_thread_that_live_on_are_of_start_up) {
  EXPECT_EQ(category_of({.blocks = 10, .start_up_blocks = 10}), heap_category::start_up);
  EXPECT_EQ(category_of({.blocks = 10, .own_frees = 5, .start_up_blocks = 10, .busy_start_up_frees = 5}),
            heap_category::same_thread);
  EXPECT_EQ(category_of({.blocks = 10, .start_up_blocks = 10}, 1), heap_category::kept) << "there is no second thread";
}

TEST(findings, blocks_in_use_at_the_end_are_kept) {
  EXPECT_EQ(category_of({.blocks = 10, .own_frees = 4}), heap_category::kept);
  EXPECT_EQ(category_of({.blocks = 10, .own_frees = 5}), heap_category::same_thread);
}

TEST(findings, blocks_that_are_in_use_at_once_are_held) {
  const auto is_accumulated_with = [](std::uint64_t at_peak) {
    format::recording recording = recording_of({{.blocks = 1000, .own_frees = 1000}});
    recording.cells[{1, 0, 0}][format::peak_blocks] = at_peak;
    return is_accumulated(find(recording).sites.at(0));
  };
  EXPECT_TRUE(is_accumulated_with(1000));
  EXPECT_TRUE(is_accumulated_with(500));
  EXPECT_FALSE(is_accumulated_with(499));
  EXPECT_FALSE(is_accumulated_with(0));
}

TEST(findings, sums_are_those_of_all_sites) {
  const heap_findings findings =
      find(recording_of({{.blocks = 10, .size = 20, .own_frees = 4}, {.blocks = 5, .size = 2}}));
  EXPECT_EQ(findings.allocations, 15U);
  EXPECT_EQ(findings.bytes, 210U);
  EXPECT_EQ(findings.frees, 4U);
  EXPECT_EQ(findings.live, 11U);
}

TEST(findings, pairs_of_threads_are_named) {
  const heap_findings findings = find(recording_of({{.blocks = 10, .own_frees = 3, .other_frees = 7}}));
  ASSERT_EQ(findings.sites[0].handovers.size(), 1U);
  EXPECT_EQ(findings.sites[0].handovers[0].allocating_thread, 0U);
  EXPECT_EQ(findings.sites[0].handovers[0].freeing_thread, 1U);
  EXPECT_EQ(findings.sites[0].handovers[0].blocks, 7U);
  EXPECT_EQ(findings.sites[0].short_lived, 3U);
}

TEST(findings, samples_add_up_to_what_each_thread_is_known_to_have_allocated) {
  format::recording recording = recording_of({{.blocks = 460, .own_frees = 400}, {.blocks = 140, .own_frees = 140}});
  recording.program.mode = "sampled";
  recording.threads[0].allocations = 240;
  recording.threads[0].frees = 220;
  recording.cells[{1, 0, 0}][format::spread] = 46'000;
  recording.cells[{2, 0, 0}][format::spread] = 14'000;
  const heap_findings findings = find(recording);
  EXPECT_EQ(findings.allocations, 240U);
  ASSERT_EQ(findings.sites.size(), 2U);
  EXPECT_EQ(findings.sites[0].sums[format::blocks], 184U);
  EXPECT_EQ(findings.sites[1].sums[format::blocks], 56U);
  EXPECT_EQ(findings.sites[0].freed_by_same_thread, 160U);
  EXPECT_EQ(findings.sites[0].sums[format::spread], 7360U);
  recording.cells[{1, 0, 0}][format::time_buckets] = 133;
  recording.cells[{1, 0, 0}][format::time_buckets + 1] = 133;
  recording.cells[{1, 0, 0}][format::time_buckets + 2] = 134;
  const format::heap_counts sums = find(recording).sites[0].sums;
  EXPECT_EQ(sums[format::time_buckets] + sums[format::time_buckets + 1] + sums[format::time_buckets + 2],
            sums[format::frees]);
  recording.program.mode = "full";
  EXPECT_EQ(find(recording).sites[0].sums[format::blocks], 460U) << "counted, each of them";
}

TEST(findings, rounded_cells_add_up_to_the_exact_total) {
  format::recording recording = recording_of({{.blocks = 100}, {.blocks = 100}, {.blocks = 100}});
  recording.program.mode = "sampled";
  recording.threads[0].allocations = 301;  // a third of a block for each site
  recording.threads[0].bytes = 30'100;
  for (std::uint32_t site = 1; site <= 3; ++site) recording.cells[{site, 0, 0}][format::spread] = 1000;
  std::uint64_t sum = 0;
  for (const site& site : find(recording).sites) sum += site.sums[format::blocks];
  EXPECT_EQ(sum, 301U);
}

TEST(findings, a_block_that_no_sample_shows_belongs_to_no_exact_site) {
  format::recording recording = recording_of({{.blocks = 10}});
  recording.program.mode = "sampled";
  recording.threads[0].allocations = 11;
  recording.threads[0].bytes = 11'000'000;
  recording.cells[{1, 0, 0}][format::bytes] = 10'000'000;  // each is larger than the distance of two samples
  EXPECT_EQ(find(recording).sites[0].sums[format::blocks], 10U);
}

TEST(findings, few_samples_may_miss_threads) {
  const auto may_miss = [](std::uint64_t samples, unsigned threads) {
    constexpr std::uint64_t weight = 100;
    format::recording recording = recording_of({{.blocks = samples * weight}}, threads);
    recording.cells[{1, 0, 0}][format::spread] = samples * weight * (weight - 1);
    return find(recording).sites.at(0).may_have_more_threads;
  };
  EXPECT_TRUE(may_miss(5, 2));
  EXPECT_FALSE(may_miss(5, 1)) << "there is no other thread";
  EXPECT_FALSE(may_miss(50, 2));
  EXPECT_FALSE(find(recording_of({{.blocks = 5}})).sites.at(0).may_have_more_threads) << "each block was counted";
}

TEST(findings, a_sample_stands_for_the_threads_that_have_none) {
  constexpr unsigned brief_threads = 1000;
  format::recording recording = recording_of({{.blocks = 50'000, .own_frees = 50'000}}, brief_threads + 1);
  recording.program.mode = "sampled";
  recording.threads[0].allocations = 40'000;
  recording.cells[{1, 0, 0}][format::spread] = 5'000'000;  // some 500 samples
  recording.sites.push_back({0, {0x1001, 0x2001}});
  for (unsigned thread = 1; thread <= brief_threads; ++thread) {
    recording.threads[thread].allocations = 10;
    if (thread % 40 != 0) continue;  // 25 samples of 368 blocks each
    format::heap_counts& sampled = recording.cells[{2, thread, thread}];
    sampled[format::blocks] = sampled[format::frees] = 368;
    sampled[format::spread] = 368 * 367;
  }
  const heap_findings findings = find(recording);
  ASSERT_EQ(findings.sites.size(), 2U);
  EXPECT_EQ(findings.sites[0].sums[format::blocks], 40'000U) << "a thread with many samples has its own total";
  EXPECT_NEAR(static_cast<double>(findings.sites[1].sums[format::blocks]), 10 * brief_threads, 25);
  EXPECT_GT(findings.sites[1].error, 0.3);
}

}  // namespace
}  // namespace tarn::analyse
