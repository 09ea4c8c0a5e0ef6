// Tests that an analysis has the findings of its recording, and the shares that it computes from ranges.
#include "profiler/advise/analysis.hpp"

#include <gtest/gtest.h>

#include <random>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

format::recording example_recording() {
  format::recording recording = recording_of({{.blocks = 1'000'000, .own_frees = 1'000'000}});
  recording.calls[{1, 0, 1}][format::calls] = 7;
  recording.locks = {{}, {0, format::lock_type::mutex, 1, 0x1000}};
  recording.acquisitions[{1, 0, 1}][format::acquisitions] = 8;
  return recording;
}

TEST(analysis, computes_each_finding_once) {
  analysis analysis(example_recording());
  EXPECT_EQ(analysis.locks().acquisitions, 8U);
  EXPECT_EQ(analysis.calls().calls, 7U);
  EXPECT_TRUE(analysis.orders().inversions.empty());
  EXPECT_TRUE(analysis.quiet_regions().empty());
  ASSERT_EQ(analysis.grouped_sites().size(), 1U);
  // Findings computed anew would lie in other memory than those that they replace.
  const lock_group* const locks = analysis.locks().groups.data();
  const call_site* const calls = analysis.calls().sites.data();
  const site* const sites = analysis.grouped_sites().data();
  EXPECT_EQ(analysis.locks().groups.data(), locks);
  EXPECT_EQ(analysis.calls().sites.data(), calls);
  EXPECT_EQ(analysis.grouped_sites().data(), sites);
}

TEST(analysis, sites_beyond_the_recorders_limit_have_no_code_to_change) {
  format::recording recording = example_recording();
  const format::heap_counts counts = recording.cells[{1, 0, 0}];
  recording.cells[{0, 0, 0}] = counts;
  analysis analysis(recording, simple_costs());
  ASSERT_EQ(analysis.grouped_sites().size(), 2U);
  for (const site& site : analysis.grouped_sites()) {
    for (const offer& offer : analysis.view(site).offers)
      EXPECT_TRUE(site.number != 0 || offer.predicted.remedy == remedy_kind::drop_in) << site.number;
    EXPECT_TRUE(site.number == 0 || !analysis.view(site).offers.empty());
  }
}

TEST(analysis, has_no_history_without_the_content_of_the_file) {
  format::recording recording = example_recording();
  recording.snapshots.push_back({.at_ns = 10});
  EXPECT_TRUE(analysis(recording).course(10).intervals.empty());
}

TEST(analysis, the_ends_of_a_share_are_in_order) {
  // The CPU time of the program is between 400 and 440 ms, because that of its recorder is not known exactly.
  format::recording recording = example_recording();
  recording.work.amounts[format::lock_work] = 1'000'000;
  recording.work.prices[format::lock_work] = 80;
  const analysis analysis(recording, simple_costs());
  ASSERT_DOUBLE_EQ(analysis.whole().cpu_ns.low, 400e6);
  ASSERT_DOUBLE_EQ(analysis.whole().cpu_ns.high, 440e6);
  EXPECT_DOUBLE_EQ(analysis.share({9e6, 10e6}).low, 9e6 / 440e6);
  EXPECT_DOUBLE_EQ(analysis.share({9e6, 10e6}).high, 10e6 / 400e6);
  EXPECT_DOUBLE_EQ(analysis.share({-10e6, -9e6}).low, -10e6 / 400e6);
  EXPECT_DOUBLE_EQ(analysis.share({-10e6, -9e6}).high, -9e6 / 440e6);
  EXPECT_DOUBLE_EQ(analysis.share({-10e6, 10e6}).low, -10e6 / 400e6);
  EXPECT_DOUBLE_EQ(analysis.share({-10e6, 10e6}).high, 10e6 / 400e6);
}

// The second site has no remedy; the third costs too little to change the sum.
TEST(analysis, sums_the_first_remedies_of_all_sites) {
  const format::recording recording = recording_of({{.blocks = 1'000'000, .own_frees = 1'000'000},
                                                    {.blocks = 1'000'000},
                                                    {.blocks = 10, .own_frees = 10},
                                                    {.blocks = 2'000'000, .own_frees = 2'000'000}});
  analysis analysis(recording, simple_costs());
  range expected_ns;
  for (const site& site : analysis.grouped_sites()) {
    const site_view view = analysis.view(site);
    if (!view.offers.empty() && view.is_worth_it) expected_ns += view.offers.front().predicted.saved_ns;
  }
  const first_remedies sum = analysis.all_first_remedies();
  EXPECT_EQ(sum.count, 2U);
  EXPECT_EQ(sum.unpredicted, 0U);
  EXPECT_GT(sum.saved_ns.middle(), 0);
  EXPECT_EQ(sum.saved_ns.middle(), expected_ns.middle());
}

TEST(analysis, offers_no_remedy_that_saves_more_than_the_site_costs) {
  analysis analysis(recording_of({{.blocks = 1'000'000, .own_frees = 1'000'000}}), simple_costs());
  const site_view view = analysis.view(analysis.grouped_sites().front());
  ASSERT_FALSE(view.offers.empty());
  for (const offer& offer : view.offers) {
    EXPECT_LE(offer.predicted.saved_ns.low, view.predicted.now_ns.low);
    EXPECT_LE(offer.predicted.saved_ns.high, view.predicted.now_ns.high);
  }
}

// Expects that the shares of the sites add up to that of the heap, and no saving of a site to more than the site.
void expect_consistent_shares(analysis& analysis) {
  constexpr double rounding = 1e-9;
  const range heap = analysis.share(analysis.whole().heap_ns);
  range sites;
  for (const site& site : analysis.sites()) {
    const site_view view = analysis.view(site);
    const range share = analysis.share(view.predicted.now_ns);
    EXPECT_LE(share.low, share.high);
    sites += share;
    for (const offer& offer : view.offers) {
      const range saved = analysis.share(offer.predicted.saved_ns);
      EXPECT_LE(saved.low, saved.high);
      EXPECT_LE(saved.low, share.low + rounding);
      EXPECT_LE(saved.high, share.high + rounding);
    }
  }
  EXPECT_LE(heap.high, 1 + rounding);
  EXPECT_NEAR(sites.low, heap.low, rounding);
  EXPECT_NEAR(sites.high, heap.high, rounding);
}

// Each of the sites alone may have taken all of the program's time, if that was as short as it may have been.
TEST(analysis, sites_add_up_to_no_more_than_the_heap) {
  const made_site site = {.blocks = 5'000'000, .own_frees = 5'000'000, .lifetime = 1000};
  format::recording recording = recording_of({site, site, site});
  recording.work.amounts[format::lock_work] = 1'000'000;
  recording.work.prices[format::lock_work] = 320;
  cost_model costs = simple_costs();
  for (cost_model::by_size& prices : costs.pairs[static_cast<std::size_t>(allocator_kind::malloc)]) prices.fill(6);
  costs.pairs[static_cast<std::size_t>(allocator_kind::malloc)][static_cast<std::size_t>(lifetime_pattern::cold)].fill(
      28);
  analysis analysis(recording, costs);
  ASSERT_GT(analysis.ratio(analysis.now_ns_of(analysis.sites().front())).high, 1);
  expect_consistent_shares(analysis);
  EXPECT_LT(3 * analysis.share(analysis.now_ns_of(analysis.sites().front())).middle(), 1);
}

TEST(analysis, shares_of_any_recording_are_consistent) {
  std::minstd_rand random(1);
  const auto up_to = [&](std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit)(random);
  };
  for (int round = 0; round < 500; ++round) {
    const auto any_site = [&] {
      const std::uint64_t blocks = 1 + up_to(1U << up_to(24)), freed = up_to(blocks);
      return made_site{.blocks = blocks,
                       .size = 1 + up_to(1U << up_to(16)),
                       .own_frees = up_to(1) == 0 ? freed : 0,
                       .lifetime = up_to(1U << up_to(20)),
                       .other_frees = up_to(1) == 0 ? blocks - freed : 0};
    };
    format::recording recording = recording_of({any_site(), any_site(), any_site(), any_site(), any_site()});
    if (up_to(1) == 0) {
      recording.program.mode = "sampled";
      for (auto& [key, value] : recording.cells) value[format::spread] = value[format::blocks] * up_to(1000);
    }
    recording.end.user_us = 1 + up_to(1U << up_to(24));
    recording.work.amounts[format::lock_work] = up_to(1U << up_to(24));
    recording.work.prices[format::lock_work] = static_cast<double>(1 + up_to(500));
    const bool is_measured = up_to(3) == 0;
    analysis analysis(recording, simple_costs(),
                      {.measured_cpu_ns = is_measured ? static_cast<double>(up_to(1U << up_to(30))) : 0,
                       .separates_stacks = up_to(1) == 0});
    expect_consistent_shares(analysis);
    if (HasFailure()) FAIL() << "in round " << round;
  }
}

}  // namespace
}  // namespace tarn::analyse
