// Tests the category of a site.
#include "analyse/findings.hpp"

#include <gtest/gtest.h>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

category category_of(const made_site& one, unsigned threads = 2) {
  const heap_findings all = find(recording_of({one}, threads));
  EXPECT_EQ(all.sites.size(), 1U);
  return all.sites.front().is;
}

TEST(findings, blocks_that_the_same_thread_frees_are_transient) {
  EXPECT_EQ(category_of({.blocks = 1000, .own_frees = 1000}), category::transient);
  EXPECT_EQ(category_of({.blocks = 1000, .own_frees = 990, .other_frees = 10}), category::transient);
}

TEST(findings, blocks_that_another_thread_frees_are_shared) {
  EXPECT_EQ(category_of({.blocks = 1000, .other_frees = 1000}), category::shared);
  EXPECT_EQ(category_of({.blocks = 1000, .own_frees = 980, .other_frees = 20}), category::shared);
}

TEST(findings, blocks_from_before_the_second_thread_that_live_on_are_of_start_up) {
  EXPECT_EQ(category_of({.blocks = 10, .early = 10}), category::start_up);
  EXPECT_EQ(category_of({.blocks = 10, .own_frees = 5, .early = 10, .early_busy = 5}), category::transient);
  EXPECT_EQ(category_of({.blocks = 10, .early = 10}, 1), category::kept) << "there is no second thread";
}

TEST(findings, blocks_in_use_at_the_end_are_kept) {
  EXPECT_EQ(category_of({.blocks = 10, .own_frees = 4}), category::kept);
  EXPECT_EQ(category_of({.blocks = 10, .own_frees = 5}), category::transient);
}

TEST(findings, sums_are_those_of_all_sites) {
  const heap_findings all = find(recording_of({{.blocks = 10, .size = 20, .own_frees = 4}, {.blocks = 5, .size = 2}}));
  EXPECT_EQ(all.allocations, 15U);
  EXPECT_EQ(all.bytes, 210U);
  EXPECT_EQ(all.frees, 4U);
  EXPECT_EQ(all.live, 11U);
}

TEST(findings, pairs_of_threads_are_named) {
  const heap_findings all = find(recording_of({{.blocks = 10, .own_frees = 3, .other_frees = 7}}));
  ASSERT_EQ(all.sites[0].pairs.size(), 1U);
  EXPECT_EQ(all.sites[0].pairs[0].allocates, 0U);
  EXPECT_EQ(all.sites[0].pairs[0].frees, 1U);
  EXPECT_EQ(all.sites[0].pairs[0].blocks, 7U);
  EXPECT_EQ(all.sites[0].short_lived, 3U);
}

TEST(findings, samples_add_up_to_what_each_thread_is_known_to_have_allocated) {
  format::recording in = recording_of({{.blocks = 460, .own_frees = 400}, {.blocks = 140, .own_frees = 140}});
  in.program.mode = "sampled";
  in.threads[0].allocations = 240;
  in.cells[{1, 0, 0}][format::spread] = 10'000;
  const heap_findings found = find(in);
  EXPECT_EQ(found.allocations, 240U);
  ASSERT_EQ(found.sites.size(), 2U);
  EXPECT_EQ(found.sites[0].sums[format::blocks], 184U);
  EXPECT_EQ(found.sites[1].sums[format::blocks], 56U);
  EXPECT_EQ(found.sites[0].freed_by_same_thread, 160U);
  EXPECT_EQ(found.sites[0].sums[format::spread], 1600U);
  in.cells[{1, 0, 0}][format::time_buckets] = 133;
  in.cells[{1, 0, 0}][format::time_buckets + 1] = 133;
  in.cells[{1, 0, 0}][format::time_buckets + 2] = 134;
  const format::counts sums = find(in).sites[0].sums;
  EXPECT_EQ(sums[format::time_buckets] + sums[format::time_buckets + 1] + sums[format::time_buckets + 2],
            sums[format::frees]);
  in.program.mode = "full";
  EXPECT_EQ(find(in).sites[0].sums[format::blocks], 460U) << "counted, each of them";
}

}  // namespace
}  // namespace tarn::analyse
