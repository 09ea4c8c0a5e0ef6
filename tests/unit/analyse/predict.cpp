// Tests the cost of a site and the gain of remedies against values computed by hand.
#include "analyse/predict.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

site_prediction predicted(const format::recording& in, const costs& prices, std::size_t at = 0) {
  return predictor(in, prices).of(find(in).sites[at]);
}

const prediction* by(const site_prediction& of, remedy wanted) {
  const auto found =
      std::find_if(of.remedies.begin(), of.remedies.end(), [&](const prediction& each) { return each.by == wanted; });
  return found == of.remedies.end() ? nullptr : &*found;
}

double price(server of, pattern in) { return simple_prices().pair(of, in, 0); }

TEST(predict, a_block_that_is_freed_at_once_costs_between_soon_and_busy) {
  const site_prediction made = predicted(recording_of({{.blocks = 1000, .own_frees = 1000}}), simple_prices());
  EXPECT_DOUBLE_EQ(made.now_ns.low, 1000 * price(server::malloc, pattern::soon));
  EXPECT_DOUBLE_EQ(made.now_ns.high, 1000 * price(server::malloc, pattern::busy));
}

TEST(predict, a_block_that_lives_long_may_be_cold) {
  const site_prediction made =
      predicted(recording_of({{.blocks = 1000, .own_frees = 1000, .between = 5000}}), simple_prices());
  EXPECT_DOUBLE_EQ(made.now_ns.low, 1000 * price(server::malloc, pattern::soon)) << "or it makes room for the next";
  EXPECT_DOUBLE_EQ(made.now_ns.high, 1000 * price(server::malloc, pattern::cold));
  EXPECT_EQ(by(made, remedy::hoist), nullptr) << "what lives long is no temporary";
  EXPECT_EQ(by(made, remedy::recycle), nullptr);
  EXPECT_EQ(by(made, remedy::arena), nullptr);
}

TEST(predict, a_block_that_another_thread_frees_is_handed_over) {
  const site_prediction made = predicted(recording_of({{.blocks = 1000, .other_frees = 1000}}), cheap_remedies());
  EXPECT_DOUBLE_EQ(made.now_ns.low, 1000 * 100.0) << "or it comes back by another one";
  EXPECT_DOUBLE_EQ(made.now_ns.high, 1000 * 105.0);
  ASSERT_NE(by(made, remedy::shared), nullptr);
  EXPECT_EQ(made.remedies.front().by, remedy::shared);
  EXPECT_DOUBLE_EQ(by(made, remedy::shared)->ns.low, 1000 * 10.0);
  EXPECT_DOUBLE_EQ(by(made, remedy::shared)->saved_ns.low, 0) << "the threads may sleep for it instead";
  EXPECT_DOUBLE_EQ(by(made, remedy::shared)->saved_ns.high, 1000 * 90.0) << "both at the same pattern";
  EXPECT_EQ(by(made, remedy::hoist), nullptr) << "another thread needs it";
}

TEST(predict, a_program_of_one_thread_has_prices_of_its_own) {
  const made_site one{.blocks = 1000, .own_frees = 1000};
  EXPECT_DOUBLE_EQ(predicted(recording_of({one}, 1), simple_prices()).now_ns.low, 10'000);
  EXPECT_DOUBLE_EQ(predicted(recording_of({one}, 2), simple_prices()).now_ns.low, 20'000);
}

TEST(predict, a_program_that_runs_on_the_drop_in_has_its_prices) {
  format::recording in = recording_of({{.blocks = 1000, .own_frees = 1000}});
  in.modules.push_back({0, 0, 1, 0, "/somewhere/lib/libtarn-malloc.so", ""});
  const site_prediction made = predicted(in, simple_prices());
  EXPECT_DOUBLE_EQ(made.now_ns.low, 30'000);
  EXPECT_EQ(by(made, remedy::drop_in), nullptr) << "it has it";
}

TEST(predict, temporaries_are_hoisted_first) {
  const site_prediction made = predicted(recording_of({{.blocks = 1000, .own_frees = 1000}}), cheap_remedies());
  ASSERT_FALSE(made.remedies.empty());
  EXPECT_EQ(made.remedies.front().by, remedy::hoist);
  EXPECT_DOUBLE_EQ(made.remedies.front().saved_ns.low, made.now_ns.low) << "what is not allocated costs nothing";
  EXPECT_EQ(made.remedies.front().calls_saved, 1000U);
  for (const remedy each : {remedy::recycle, remedy::pooled, remedy::arena, remedy::drop_in}) {
    ASSERT_NE(by(made, each), nullptr) << name(each);
    EXPECT_DOUBLE_EQ(by(made, each)->saved_ns.low, 90'000) << name(each);
  }
}

TEST(predict, what_costs_more_is_said) {
  const site_prediction made = predicted(recording_of({{.blocks = 1000, .own_frees = 1000}}), simple_prices());
  EXPECT_LT(by(made, remedy::drop_in)->saved_ns.high, 0);
}

// 100 buffers grow from 16 bytes to 1024 by realloc, in six steps each.
format::recording grown_by_realloc() {
  format::recording in = recording_of({{.blocks = 700, .own_frees = 700}});
  format::counts& cell = in.cells[{1, 0, 0}];
  for (std::size_t at = 0; at < format::size_bucket_count; ++at) cell[format::size_buckets + at] = at <= 6 ? 100 : 0;
  cell[format::reallocs] = 600;
  cell[format::copied] = 100'000;
  return in;
}

TEST(predict, growth_is_found_with_the_size_to_reserve) {
  const growth found = growth_of(find(grown_by_realloc()).sites[0]);
  EXPECT_EQ(found.steps, 600U);
  EXPECT_EQ(found.buffers, 100U);
  EXPECT_EQ(found.bytes, 1024U);
}

TEST(predict, the_size_to_reserve_is_enough_for_nine_buffers_of_ten) {
  format::recording in = grown_by_realloc();
  format::counts& cell = in.cells[{1, 0, 0}];
  cell[format::size_buckets + 7] = 5;  // five of them grow on, to 2048
  cell[format::blocks] += 5;
  cell[format::reallocs] += 5;
  EXPECT_EQ(growth_of(find(in).sites[0]).bytes, 1024U);
  cell[format::size_buckets + 7] = 20;
  EXPECT_EQ(growth_of(find(in).sites[0]).bytes, 2048U);
}

TEST(predict, growth_by_new_is_found_by_the_names_alone) {
  format::recording in = grown_by_realloc();
  in.cells[{1, 0, 0}][format::reallocs] = 0;
  site one = find(in).sites[0];
  EXPECT_EQ(growth_of(one).steps, 0U);
  one.grows = true;
  EXPECT_EQ(growth_of(one).steps, 600U);
  EXPECT_EQ(growth_of(one).bytes, 1024U);
}

TEST(predict, containers_of_many_sizes_do_not_grow) {
  format::recording in = grown_by_realloc();
  format::counts& cell = in.cells[{1, 0, 0}];
  cell[format::reallocs] = 0;
  cell[format::size_buckets + 5] = 120;
  site one = find(in).sites[0];
  one.grows = true;
  EXPECT_EQ(growth_of(one).steps, 0U) << "more of them than of the next smaller size: not all came from there";
}

TEST(predict, one_size_does_not_grow) {
  site one = find(recording_of({{.blocks = 1000, .own_frees = 1000}})).sites[0];
  one.grows = true;
  EXPECT_EQ(growth_of(one).steps, 0U) << "each buffer is allocated once: reserved already";
}

TEST(predict, reserve_saves_the_steps_and_what_they_copy) {
  const costs prices = simple_prices();
  const site_prediction made = predicted(grown_by_realloc(), prices);
  EXPECT_EQ(made.remedies.front().by, remedy::reserve);
  const prediction& reserve = made.remedies.front();
  EXPECT_EQ(reserve.calls_saved, 600U);
  EXPECT_DOUBLE_EQ(reserve.saved_ns.low, 600 * price(server::malloc, pattern::soon) + 100'000 * prices.copy_ns.low);
  EXPECT_DOUBLE_EQ(reserve.saved_ns.high, 600 * price(server::malloc, pattern::busy) + 100'000 * prices.copy_ns.high);
  EXPECT_DOUBLE_EQ(reserve.ns.low, 100 * price(server::malloc, pattern::soon));
}

TEST(predict, a_container_that_grows_copies_half_of_each_step) {
  format::recording in = grown_by_realloc();
  format::counts& cell = in.cells[{1, 0, 0}];
  cell[format::reallocs] = cell[format::copied] = 0;
  cell[format::bytes] = 70'000;  // 60,000 in the six steps of seven
  site one = find(in).sites[0];
  one.grows = true;
  const costs prices = simple_prices();
  const prediction reserve = predictor(in, prices).of(one).remedies.front();
  EXPECT_EQ(reserve.by, remedy::reserve);
  EXPECT_DOUBLE_EQ(reserve.saved_ns.low, 600 * price(server::malloc, pattern::soon) + 30'000 * prices.copy_ns.low);
}

TEST(predict, sites_that_grow_the_same_buffers_share_the_steps) {
  const format::recording in = recording_of({{.blocks = 200, .own_frees = 200}});
  const site one = find(in).sites[0];
  EXPECT_EQ(by(predictor(in, simple_prices()).of(one), remedy::reserve), nullptr) << "alone, of one size";
  const growth all = {.steps = 600, .buffers = 200, .bytes = 1024, .blocks = 800};
  const site_prediction made = predictor(in, simple_prices()).of(one, all);
  ASSERT_NE(by(made, remedy::reserve), nullptr);
  EXPECT_EQ(by(made, remedy::reserve)->calls_saved, 150U) << "three of four allocations";
  EXPECT_DOUBLE_EQ(by(made, remedy::reserve)->saved_ns.low, 150 * price(server::malloc, pattern::soon));
}

TEST(predict, the_recorder_is_not_of_the_program) {
  const format::recording in = recording_of({{.blocks = 1'000'000, .own_frees = 1'000'000}});
  const program_costs whole = predictor(in, simple_prices()).of(find(in));
  EXPECT_DOUBLE_EQ(whole.recorder_ns.low, 1e6 * (40 + 2 * 5)) << "two frames";
  EXPECT_DOUBLE_EQ(whole.cpu_ns.high, 500e6 - 50e6);
  EXPECT_DOUBLE_EQ(whole.cpu_ns.low, 500e6 - 100e6);
  EXPECT_DOUBLE_EQ(whole.wall_ns, 1e9);
  EXPECT_DOUBLE_EQ(whole.heap_ns.low, 20e6);
  EXPECT_DOUBLE_EQ(predictor(in, simple_prices()).of(find(in), 3e8).cpu_ns.low, 3e8) << "measured";
}

TEST(predict, a_sampling_recorder_costs_less_and_leaves_a_wider_range) {
  format::recording in = recording_of({{.blocks = 1'000'000, .own_frees = 1'000'000}});
  in.program.mode = "sampled";
  in.threads[0].allocations = 1'000'000;
  in.cells[{1, 0, 0}][format::spread] = 100'000ULL * 100'000ULL;  // a deviation of a tenth
  const costs prices = simple_prices();
  EXPECT_DOUBLE_EQ(predictor(in, prices).of(find(in)).recorder_ns.low, 1e6 * prices.sampler_ns);
  const site_prediction made = predicted(in, prices);
  EXPECT_NEAR(made.now_ns.low, 20e6 * (1 - 0.196), 1);
  EXPECT_NEAR(made.now_ns.high, 21e6 * (1 + 0.196), 1);
  ASSERT_LT(by(made, remedy::drop_in)->saved_ns.low, 0);
  EXPECT_NEAR(by(made, remedy::drop_in)->saved_ns.low, -10e6 * (1 + 0.196), 1) << "a loss is wider, too";
}

TEST(predict, a_program_is_never_cheaper_than_its_heap) {
  const format::recording in = recording_of({{.blocks = 100'000'000, .own_frees = 100'000'000}});
  const program_costs whole = predictor(in, simple_prices()).of(find(in));
  EXPECT_GE(whole.cpu_ns.low, whole.heap_ns.low);
  EXPECT_GE(whole.cpu_ns.high, whole.cpu_ns.low);
}

replayed by_hand() {
  return {.now = {10, 16, 4},
          .hoist = {10, 16, 4},
          .recycle = {},
          .pooled = {8, 16, 3},
          .arena = {9, 16, 3},
          .reserve = {}};
}

TEST(predict, what_was_repeated_takes_the_place_of_prices) {
  const format::recording in = recording_of({{.blocks = 1000, .own_frees = 1000}});
  const site one = find(in).sites[0];
  const site_prediction priced = predictor(in, cheap_remedies()).of(one);
  site_prediction made = priced;
  correct(made, one, by_hand(), 0.25);
  EXPECT_DOUBLE_EQ(by(made, remedy::pooled)->saved_ns.middle(), 1000 * 10.0) << "a quarter of the way from 8 to 16";
  EXPECT_DOUBLE_EQ(by(made, remedy::pooled)->saved_ns.low, 1000 * 7.5);
  EXPECT_DOUBLE_EQ(made.now_ns.middle(), 1000 * 11.5);
  EXPECT_DOUBLE_EQ(by(made, remedy::hoist)->saved_ns.low, 1000 * 3.0) << "it may hide beside other work";
  EXPECT_DOUBLE_EQ(by(made, remedy::hoist)->saved_ns.high, 1000 * 11.5 * 1.25);
  EXPECT_DOUBLE_EQ(by(made, remedy::recycle)->saved_ns.low, by(priced, remedy::recycle)->saved_ns.low) << "was not";
  EXPECT_DOUBLE_EQ(by(made, remedy::drop_in)->saved_ns.low, by(priced, remedy::drop_in)->saved_ns.low);
}

TEST(predict, without_counts_of_the_processor_the_range_is_wider) {
  const format::recording in = recording_of({{.blocks = 1000, .own_frees = 1000}});
  const site one = find(in).sites[0];
  site_prediction made = predictor(in, cheap_remedies()).of(one);
  correct(made, one, by_hand(), std::nullopt);
  EXPECT_DOUBLE_EQ(by(made, remedy::pooled)->saved_ns.low, 1000 * 6.0);
  EXPECT_DOUBLE_EQ(by(made, remedy::pooled)->saved_ns.high, 1000 * 20.0);
}

TEST(predict, a_saving_wider_than_the_cost_leaves_a_range_in_order) {
  const format::recording in = recording_of({{.blocks = 1000, .own_frees = 1000}});
  const site one = find(in).sites[0];
  site_prediction made = predictor(in, cheap_remedies()).of(one);
  replayed found = by_hand();
  found.now = {10, 11, 10};
  found.pooled = {1, 11, 1};
  correct(made, one, found, std::nullopt);
  const prediction* const pooled = by(made, remedy::pooled);
  EXPECT_GT(made.now_ns.low - pooled->saved_ns.low, made.now_ns.high - pooled->saved_ns.high);
  EXPECT_LE(pooled->ns.low, pooled->ns.high);
}

TEST(predict, the_share_of_surprises_is_of_calls_and_at_most_all) {
  format::recording in = recording_of({{.blocks = 1000, .own_frees = 1000}});
  EXPECT_EQ(surprises_in(in), std::nullopt) << "not counted";
  in.threads[0].allocations = in.threads[0].frees = 500;
  in.end.instructions = 1'000'000;
  in.end.surprises = 250;
  EXPECT_DOUBLE_EQ(surprises_in(in).value_or(-1), 0.25);
  in.end.surprises = 5000;
  EXPECT_DOUBLE_EQ(surprises_in(in).value_or(-1), 1);
  in.ended = false;
  EXPECT_EQ(surprises_in(in), std::nullopt);
}

TEST(predict, reasons_are_those_of_the_site) {
  const auto has = [](const site_prediction& of, const char* words) {
    return std::any_of(of.reasons.begin(), of.reasons.end(),
                       [&](const std::string& each) { return each.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(has(predicted(grown_by_realloc(), simple_prices()), "sizes differ"));
  EXPECT_TRUE(has(predicted(grown_by_realloc(), simple_prices()), "copies"));
  const site_prediction handed = predicted(recording_of({{.blocks = 1000, .other_frees = 1000}}), simple_prices());
  EXPECT_TRUE(has(handed, "two threads"));
  EXPECT_FALSE(has(handed, "sizes differ"));
}

// Sites of hostile recordings have counts that contradict one another.
TEST(predict, nonsense_is_finite) {
  format::recording in =
      recording_of({{.blocks = 0, .own_frees = 7}, {.blocks = 1, .own_frees = ~0ULL, .other_frees = ~0ULL}});
  in.sites[1].image = 99;
  in.cells[{1, 0, 0}][format::reallocs] = ~0ULL;
  const costs prices = simple_prices();
  const predictor with(in, prices);
  const heap_findings all = find(in);
  for (const site& each : all.sites) {
    for (const prediction& one : with.of(each).remedies) EXPECT_TRUE(one.saved_ns.low == one.saved_ns.low);
    EXPECT_LE(growth_of(each).bytes, 1U << 20);
  }
  EXPECT_EQ(with.of(all).wall_ns, 1e9);
}

}  // namespace
}  // namespace tarn::analyse
