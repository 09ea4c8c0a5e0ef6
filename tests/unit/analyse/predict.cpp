// Tests the cost of a site and the gain of remedies against values computed by hand.
#include "profiler/predict/predict.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

site_prediction predicted(const format::recording& recording, const cost_model& costs, std::size_t index = 0) {
  return predictor(recording, costs).predict(find(recording).sites[index]);
}

const prediction* find_remedy(const site_prediction& predicted, remedy_kind kind) {
  const auto match = std::find_if(predicted.remedies.begin(), predicted.remedies.end(),
                                  [&](const prediction& prediction) { return prediction.remedy == kind; });
  return match == predicted.remedies.end() ? nullptr : &*match;
}

double price(allocator_kind allocator, lifetime_pattern pattern) {
  return simple_costs().pair_ns(allocator, pattern, 0);
}

TEST(predict, a_block_that_is_freed_at_once_costs_between_soon_and_busy) {
  const site_prediction prediction = predicted(recording_of({{.blocks = 1000, .own_frees = 1000}}), simple_costs());
  EXPECT_DOUBLE_EQ(prediction.now_ns.low, 1000 * price(allocator_kind::malloc, lifetime_pattern::soon));
  EXPECT_DOUBLE_EQ(prediction.now_ns.high, 1000 * price(allocator_kind::malloc, lifetime_pattern::busy));
}

TEST(predict, a_block_that_lives_long_may_be_cold) {
  const site_prediction prediction =
      predicted(recording_of({{.blocks = 1000, .own_frees = 1000, .lifetime = 5000}}), simple_costs());
  EXPECT_DOUBLE_EQ(prediction.now_ns.low, 1000 * price(allocator_kind::malloc, lifetime_pattern::soon))
      << "or it makes room for the next";
  EXPECT_DOUBLE_EQ(prediction.now_ns.high, 1000 * price(allocator_kind::malloc, lifetime_pattern::cold));
  EXPECT_EQ(find_remedy(prediction, remedy_kind::hoist), nullptr) << "what lives long is no temporary";
  EXPECT_EQ(find_remedy(prediction, remedy_kind::recycle), nullptr);
  EXPECT_EQ(find_remedy(prediction, remedy_kind::arena), nullptr);
}

TEST(predict, a_block_that_another_thread_frees_is_handed_over) {
  const site_prediction prediction = predicted(recording_of({{.blocks = 1000, .other_frees = 1000}}), cheap_remedies());
  EXPECT_DOUBLE_EQ(prediction.now_ns.low, 1000 * 100.0) << "or it comes back by another one";
  EXPECT_DOUBLE_EQ(prediction.now_ns.high, 1000 * 105.0);
  ASSERT_NE(find_remedy(prediction, remedy_kind::shared_pool), nullptr);
  EXPECT_EQ(prediction.remedies.front().remedy, remedy_kind::shared_pool);
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::shared_pool)->ns.low, 1000 * 10.0);
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::shared_pool)->saved_ns.low, 0)
      << "the threads may sleep for it instead";
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::shared_pool)->saved_ns.high, 1000 * 90.0)
      << "both at the same pattern";
  EXPECT_EQ(find_remedy(prediction, remedy_kind::hoist), nullptr) << "another thread needs it";
}

TEST(predict, a_program_of_one_thread_has_prices_of_its_own) {
  const made_site first{.blocks = 1000, .own_frees = 1000};
  EXPECT_DOUBLE_EQ(predicted(recording_of({first}, 1), simple_costs()).now_ns.low, 10'000);
  EXPECT_DOUBLE_EQ(predicted(recording_of({first}, 2), simple_costs()).now_ns.low, 20'000);
}

TEST(predict, a_program_that_runs_on_the_drop_in_has_its_prices) {
  format::recording recording = recording_of({{.blocks = 1000, .own_frees = 1000}});
  recording.modules.push_back({0, 0, 1, 0, "/somewhere/lib/libtarn-malloc.so", ""});
  const site_prediction prediction = predicted(recording, simple_costs());
  EXPECT_DOUBLE_EQ(prediction.now_ns.low, 30'000);
  EXPECT_EQ(find_remedy(prediction, remedy_kind::drop_in), nullptr) << "it has it";
}

TEST(predict, temporaries_are_hoisted_first) {
  const site_prediction prediction = predicted(recording_of({{.blocks = 1000, .own_frees = 1000}}), cheap_remedies());
  ASSERT_FALSE(prediction.remedies.empty());
  EXPECT_EQ(prediction.remedies.front().remedy, remedy_kind::hoist);
  EXPECT_DOUBLE_EQ(prediction.remedies.front().saved_ns.low, prediction.now_ns.low)
      << "what is not allocated costs nothing";
  EXPECT_EQ(prediction.remedies.front().calls_saved, 1000U);
  for (const remedy_kind remedy :
       {remedy_kind::recycle, remedy_kind::pooled, remedy_kind::arena, remedy_kind::drop_in}) {
    ASSERT_NE(find_remedy(prediction, remedy), nullptr) << name(remedy);
    EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy)->saved_ns.low, 90'000) << name(remedy);
  }
}

TEST(predict, what_costs_more_is_said) {
  const site_prediction prediction = predicted(recording_of({{.blocks = 1000, .own_frees = 1000}}), simple_costs());
  EXPECT_LT(find_remedy(prediction, remedy_kind::drop_in)->saved_ns.high, 0);
}

// 100 buffers grow from 16 bytes to 1024 by realloc, in six steps each.
format::recording grown_by_realloc() {
  format::recording recording = recording_of({{.blocks = 700, .own_frees = 700}});
  format::heap_counts& cell = recording.cells[{1, 0, 0}];
  for (std::size_t index = 0; index < format::size_bucket_count; ++index)
    cell[format::size_buckets + index] = index <= 6 ? 100 : 0;
  cell[format::reallocs] = 600;
  cell[format::copied] = 100'000;
  return recording;
}

TEST(predict, growth_is_found_with_the_size_to_reserve) {
  const growth growth = growth_of(find(grown_by_realloc()).sites[0]);
  EXPECT_EQ(growth.steps, 600U);
  EXPECT_EQ(growth.buffers, 100U);
  EXPECT_EQ(growth.bytes, 1024U);
}

TEST(predict, the_size_to_reserve_is_enough_for_nine_buffers_of_ten) {
  format::recording recording = grown_by_realloc();
  format::heap_counts& cell = recording.cells[{1, 0, 0}];
  cell[format::size_buckets + 7] = 5;  // five of them grow on, to 2048
  cell[format::blocks] += 5;
  cell[format::reallocs] += 5;
  EXPECT_EQ(growth_of(find(recording).sites[0]).bytes, 1024U);
  cell[format::size_buckets + 7] = 20;
  EXPECT_EQ(growth_of(find(recording).sites[0]).bytes, 2048U);
}

TEST(predict, growth_by_new_is_found_by_the_names_alone) {
  format::recording recording = grown_by_realloc();
  recording.cells[{1, 0, 0}][format::reallocs] = 0;
  site site = find(recording).sites[0];
  EXPECT_EQ(growth_of(site).steps, 0U);
  site.has_grown = true;
  EXPECT_EQ(growth_of(site).steps, 600U);
  EXPECT_EQ(growth_of(site).bytes, 1024U);
}

// A vector of int with 200 elements has 4, 8 and 16 bytes, all of the first size bucket, then 32 to 1024.
site growing_vectors(std::uint64_t buffers, std::uint64_t first_blocks, std::uint32_t element_bytes) {
  format::recording recording = recording_of({{.blocks = 0}});
  format::heap_counts& cell = recording.cells[{1, 0, 0}];
  cell[format::size_buckets] = first_blocks;
  for (std::size_t index = 1; index <= 6; ++index) cell[format::size_buckets + index] = buffers;
  cell[format::blocks] = cell[format::frees] = first_blocks + 6 * buffers;
  site site = find(recording).sites[0];
  site.has_grown = true;
  site.element_bytes = element_bytes;
  return site;
}

TEST(predict, a_buffer_counts_once_however_many_of_its_sizes_share_a_bucket) {
  for (const std::uint32_t element_bytes : {4U, 0U}) {
    const growth growth = growth_of(growing_vectors(1'200'000, 3'600'000, element_bytes));
    EXPECT_EQ(growth.buffers, 1'200'000U);
    EXPECT_EQ(growth.steps, 9'600'000U);
    EXPECT_EQ(growth.bytes, 1024U);
  }
  EXPECT_EQ(growth_of(growing_vectors(1000, 2000, 8)).buffers, 1000U) << "8 and 16 bytes";
  EXPECT_EQ(growth_of(growing_vectors(1000, 2000, 16)).buffers, 2000U) << "half of them end at one element";
  EXPECT_EQ(growth_of(growing_vectors(1000, 2700, 0)).buffers, 2700U) << "no multiple";
  EXPECT_EQ(growth_of(growing_vectors(1000, 3000 + 40, 4)).buffers, 1020U) << "some end with one block, two or three";
}

// Vectors of int: 85 of 100 have three elements, and the others 250. All are in use at the peak, or none.
site skewed_vectors(std::uint64_t peak_blocks) {
  constexpr std::uint64_t buffers = 1'000'000, long_ones = 150'000;
  site site = growing_vectors(long_ones, 3 * buffers, 4);
  site.category = heap_category::same_thread;
  site.sums[format::bytes] = buffers * (4 + 8 + 16) + long_ones * (2048 - 32);
  site.sums[format::life_buckets + 1] = site.sums[format::blocks] - buffers;
  site.sums[format::life_buckets + (peak_blocks == 0 ? 0 : 10)] += buffers;
  site.peak_blocks = peak_blocks;
  return site;
}

TEST(predict, blocks_and_bytes_tell_how_many_buffers_grew) {
  const growth growth = growth_of(skewed_vectors(0));
  EXPECT_EQ(growth.buffers, 1'000'000U) << "each has three blocks in the first bucket";
  EXPECT_EQ(growth.steps, 2'900'000U);
  EXPECT_TRUE(growth.is_counted);
  site site = skewed_vectors(0);
  site.sums[format::bytes] -= 8'000'000;  // fewer than three blocks each
  EXPECT_GT(growth_of(site).buffers, 1'000'000U);
  EXPECT_FALSE(growth_of(site).is_counted) << "several numbers have these blocks and bytes";
}

TEST(predict, short_buffers_pay_for_the_bytes_to_reserve) {
  const format::recording recording = recording_of({{.blocks = 0}});
  const cost_model costs = simple_costs();
  const predictor predictor(recording, costs);
  const growth of_the_peak = predictor.growth_of(skewed_vectors(100'000));
  EXPECT_EQ(of_the_peak.bytes, 16U) << "1,024 bytes for each would touch a quarter of a page more";
  EXPECT_DOUBLE_EQ(of_the_peak.fitting_share, 0.85);
  EXPECT_DOUBLE_EQ(of_the_peak.spare_bytes, 0);
  const site_prediction gain = predictor.predict(skewed_vectors(100'000));
  const prediction* const reserve = find_remedy(gain, remedy_kind::reserve);
  ASSERT_NE(reserve, nullptr);
  EXPECT_GT(reserve->saved_ns.low, 0);
  EXPECT_EQ(predictor.growth_of(skewed_vectors(0)).bytes, 1024U) << "one at a time costs no memory";
  const growth largest = growth_of(skewed_vectors(100'000));
  EXPECT_EQ(largest.bytes, 1024U) << "enough for nine of ten";
  EXPECT_DOUBLE_EQ(largest.spare_bytes, 0.85 * 1008);
  const site_prediction loss = predictor.predict(skewed_vectors(100'000), largest);
  EXPECT_LT(find_remedy(loss, remedy_kind::reserve)->saved_ns.low, 0);
}

TEST(predict, containers_of_many_sizes_do_not_grow) {
  format::recording recording = grown_by_realloc();
  format::heap_counts& cell = recording.cells[{1, 0, 0}];
  cell[format::reallocs] = 0;
  cell[format::size_buckets + 5] = 120;
  site site = find(recording).sites[0];
  site.has_grown = true;
  EXPECT_EQ(growth_of(site).steps, 0U) << "more of them than of the next smaller size: not all came from there";
}

TEST(predict, counts_of_samples_may_rise_by_chance) {
  site site;
  site.has_grown = true;
  site.element_bytes = 8;
  std::size_t bucket = format::size_buckets;
  // A recording of 20,000 vectors of 8 bytes that grow to 1,024.
  for (const std::uint64_t blocks : {43'620, 19'141, 22'147, 26'666, 16'419, 19'344, 21'100}) {
    site.sums[bucket++] = blocks;
    site.sums[format::blocks] += blocks;
  }
  EXPECT_EQ(growth_of(site).steps, 0U) << "exact counts";
  site.error = 0.088;
  EXPECT_EQ(growth_of(site).buffers, 26'666U);
  EXPECT_EQ(growth_of(site).bytes, 1024U);
  site.error = 0.3;
  EXPECT_EQ(growth_of(site).steps, 0U) << "too few samples";
  site.error = 0.088;
  site.sums[format::size_buckets + 5] *= 2;
  EXPECT_EQ(growth_of(site).steps, 0U) << "no chance explains twice as many";
}

TEST(predict, one_size_does_not_grow) {
  site site = find(recording_of({{.blocks = 1000, .own_frees = 1000}})).sites[0];
  site.has_grown = true;
  EXPECT_EQ(growth_of(site).steps, 0U) << "each buffer is allocated once: reserved already";
}

TEST(predict, reserve_saves_the_steps_and_what_they_copy) {
  const cost_model costs = simple_costs();
  const site_prediction predicted_site = predicted(grown_by_realloc(), costs);
  EXPECT_EQ(predicted_site.remedies.front().remedy, remedy_kind::reserve);
  const prediction& reserve = predicted_site.remedies.front();
  EXPECT_EQ(reserve.calls_saved, 600U);
  EXPECT_DOUBLE_EQ(reserve.saved_ns.low,
                   600 * price(allocator_kind::malloc, lifetime_pattern::soon) + 100'000 * costs.copy_ns.low);
  EXPECT_DOUBLE_EQ(reserve.saved_ns.high,
                   600 * price(allocator_kind::malloc, lifetime_pattern::busy) + 100'000 * costs.copy_ns.high);
  EXPECT_DOUBLE_EQ(reserve.ns.low, 100 * price(allocator_kind::malloc, lifetime_pattern::soon));
}

TEST(predict, a_container_that_grows_copies_half_of_each_step) {
  format::recording recording = grown_by_realloc();
  format::heap_counts& cell = recording.cells[{1, 0, 0}];
  cell[format::reallocs] = cell[format::copied] = 0;
  cell[format::bytes] = 70'000;  // 60,000 in the six steps of seven
  site site = find(recording).sites[0];
  site.has_grown = true;
  const cost_model costs = simple_costs();
  const prediction reserve = predictor(recording, costs).predict(site).remedies.front();
  EXPECT_EQ(reserve.remedy, remedy_kind::reserve);
  EXPECT_DOUBLE_EQ(reserve.saved_ns.low,
                   600 * price(allocator_kind::malloc, lifetime_pattern::soon) + 30'000 * costs.copy_ns.low);
}

TEST(predict, sites_that_grow_the_same_buffers_share_the_steps) {
  const format::recording recording = recording_of({{.blocks = 200, .own_frees = 200}});
  const site site = find(recording).sites[0];
  EXPECT_EQ(find_remedy(predictor(recording, simple_costs()).predict(site), remedy_kind::reserve), nullptr)
      << "alone, of one size";
  growth growth = {.steps = 600, .buffers = 200, .bytes = 1024, .blocks = 800};
  growth.saved_shares.fill(0.75);
  const site_prediction prediction = predictor(recording, simple_costs()).predict(site, growth);
  ASSERT_NE(find_remedy(prediction, remedy_kind::reserve), nullptr);
  EXPECT_EQ(find_remedy(prediction, remedy_kind::reserve)->calls_saved, 150U) << "three of four allocations";
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::reserve)->saved_ns.low,
                   150 * price(allocator_kind::malloc, lifetime_pattern::soon));
}

TEST(predict, the_recorder_is_not_of_the_program) {
  format::recording recording = recording_of({{.blocks = 1'000'000, .own_frees = 1'000'000}});
  recording.work.amounts[format::heap_work] = 1'000'000;
  recording.work.prices[format::heap_work] = 30;
  recording.work.amounts[format::dispatch_work] = 10'000;  // whatever the report shows of the program
  recording.work.prices[format::dispatch_work] = 1000;
  const program_costs whole = predictor(recording, simple_costs()).program_costs_of(find(recording));
  EXPECT_DOUBLE_EQ(whole.recorder_ns.low, 40e6 * 0.75);
  EXPECT_DOUBLE_EQ(whole.cpu_ns.high, 500e6 - 30e6);
  EXPECT_DOUBLE_EQ(whole.cpu_ns.low, 500e6 - 50e6);
  EXPECT_DOUBLE_EQ(whole.wall_ns, 1e9);
  EXPECT_DOUBLE_EQ(whole.heap_ns.low, 20e6);
  EXPECT_DOUBLE_EQ(predictor(recording, simple_costs()).program_costs_of(find(recording), 3e8).cpu_ns.low, 3e8)
      << "measured";
}

TEST(predict, a_program_may_be_too_short_to_tell) {
  format::recording recording = recording_of({{.blocks = 100, .own_frees = 100}});
  recording.end.user_us = 2000;
  recording.end.system_us = 0;
  recording.work.amounts[format::start_work] = 1;
  recording.work.prices[format::start_work] = 1.7e6;
  const auto whole = [&] { return predictor(recording, simple_costs()).program_costs_of(find(recording)); };
  EXPECT_TRUE(whole().is_too_short) << "its start takes up to a quarter more";
  EXPECT_EQ(whole().cpu_ns.high, 0);
  recording.end.user_us = 3000;
  EXPECT_FALSE(whole().is_too_short);
  EXPECT_GT(whole().cpu_ns.high, 0);
  recording.end.user_us = 500'000;
  recording.work.prices[format::start_work] = 600e6;
  EXPECT_FALSE(whole().is_too_short) << "a recorder that took most of a long run";
}

// The heap takes 100 to 300 ms of 500. Recording seems to have left 200 to 320, and then 20 at most.
TEST(predict, a_recorder_that_seems_to_take_all_leaves_a_range) {
  format::recording recording = recording_of({{.blocks = 5'000'000, .own_frees = 5'000'000, .lifetime = 1000}});
  recording.work.amounts[format::start_work] = 1;
  cost_model costs = simple_costs();
  for (cost_model::by_size& prices : costs.pairs[static_cast<std::size_t>(allocator_kind::malloc)]) prices.fill(20);
  costs.pairs[static_cast<std::size_t>(allocator_kind::malloc)][static_cast<std::size_t>(lifetime_pattern::cold)].fill(
      60);
  const auto cpu_ns = [&](double recorder_ns) {
    recording.work.prices[format::start_work] = recorder_ns;
    return predictor(recording, costs).program_costs_of(find(recording)).cpu_ns;
  };
  const range likely = cpu_ns(240e6), impossible = cpu_ns(640e6);
  EXPECT_DOUBLE_EQ(likely.high, 500e6 - 240e6 * 0.75);
  EXPECT_DOUBLE_EQ(impossible.low, 100e6) << "the least of the heap";
  EXPECT_DOUBLE_EQ(impossible.high, 300e6) << "the most of the heap";
}

TEST(predict, the_cost_of_the_heap_bounds_the_time_of_the_program) {
  program_costs costs;
  costs.spent_ns = 500;
  costs.remaining_ns = {-100, 20};
  costs.set_heap({30, 50});
  EXPECT_EQ(costs.cpu_ns.low, 30);
  EXPECT_EQ(costs.cpu_ns.high, 50);
  costs.set_heap({30, 900});
  EXPECT_EQ(costs.cpu_ns.high, 500) << "it used no more with its recorder";
  costs.remaining_ns = {200, 300};
  costs.set_heap({30, 50});
  EXPECT_EQ(costs.cpu_ns.low, 200);
  EXPECT_EQ(costs.cpu_ns.high, 300);
}

TEST(predict, samples_leave_a_wider_range) {
  format::recording recording = recording_of({{.blocks = 1'000'000, .own_frees = 1'000'000}});
  recording.program.mode = "sampled";
  recording.threads[0].allocations = recording.threads[0].frees = 1'000'000;
  recording.cells[{1, 0, 0}][format::spread] = 100'000ULL * 100'000ULL;  // a deviation of a tenth
  const cost_model costs = simple_costs();
  const site_prediction prediction = predicted(recording, costs);
  EXPECT_NEAR(prediction.now_ns.low, 20e6 * (1 - 0.196), 1);
  EXPECT_NEAR(prediction.now_ns.high, 21e6 * (1 + 0.196), 1);
  ASSERT_LT(find_remedy(prediction, remedy_kind::drop_in)->saved_ns.low, 0);
  EXPECT_NEAR(find_remedy(prediction, remedy_kind::drop_in)->saved_ns.low, -10e6 * (1 + 0.196), 1)
      << "a loss is wider, too";
}

TEST(predict, a_program_is_never_cheaper_than_its_heap) {
  const format::recording recording = recording_of({{.blocks = 100'000'000, .own_frees = 100'000'000}});
  const program_costs whole = predictor(recording, simple_costs()).program_costs_of(find(recording));
  EXPECT_GE(whole.cpu_ns.low, whole.heap_ns.low);
  EXPECT_GE(whole.cpu_ns.high, whole.cpu_ns.low);
}

replayed by_hand() {
  return {.now = {10, 16, 4},
          .hoist = {10, 16, 4},
          .recycle = {},
          .pooled = {8, 16, 3},
          .arena = {9, 16, 3},
          .reserve = {},
          .drop_in = {4, 8, 1}};
}

TEST(predict, what_was_repeated_takes_the_place_of_prices) {
  const format::recording recording = recording_of({{.blocks = 1000, .own_frees = 1000}});
  const site site = find(recording).sites[0];
  const site_prediction priced = predictor(recording, cheap_remedies()).predict(site);
  site_prediction prediction = priced;
  correct(prediction, site, by_hand(), 0.25);
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::pooled)->saved_ns.middle(), 1000 * 10.0)
      << "a quarter of the way from 8 to 16";
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::pooled)->saved_ns.low, 1000 * 7.5);
  EXPECT_DOUBLE_EQ(prediction.now_ns.middle(), 1000 * 11.5);
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::hoist)->saved_ns.low, 1000 * 3.0)
      << "it may hide beside other work";
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::hoist)->saved_ns.high, 1000 * 11.5 * 1.25);
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::recycle)->saved_ns.low,
                   find_remedy(priced, remedy_kind::recycle)->saved_ns.low)
      << "was not";
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::drop_in)->saved_ns.low, 1000 * 5.0 * 0.75)
      << "its calls are calls as before, so that nothing more of them hides";
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::drop_in)->saved_ns.high, 1000 * 5.0 * 1.25);
}

TEST(predict, without_counts_of_the_processor_the_range_is_wider) {
  const format::recording recording = recording_of({{.blocks = 1000, .own_frees = 1000}});
  const site site = find(recording).sites[0];
  site_prediction prediction = predictor(recording, cheap_remedies()).predict(site);
  correct(prediction, site, by_hand(), std::nullopt);
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::pooled)->saved_ns.low, 1000 * 6.0);
  EXPECT_DOUBLE_EQ(find_remedy(prediction, remedy_kind::pooled)->saved_ns.high, 1000 * 20.0);
}

TEST(predict, a_saving_wider_than_the_cost_leaves_a_range_in_order) {
  const format::recording recording = recording_of({{.blocks = 1000, .own_frees = 1000}});
  const site site = find(recording).sites[0];
  site_prediction corrected = predictor(recording, cheap_remedies()).predict(site);
  replayed replayed = by_hand();
  replayed.now = {10, 11, 10};
  replayed.pooled = {1, 11, 1};
  correct(corrected, site, replayed, std::nullopt);
  const prediction* const pooled = find_remedy(corrected, remedy_kind::pooled);
  EXPECT_GT(corrected.now_ns.low - pooled->saved_ns.low, corrected.now_ns.high - pooled->saved_ns.high);
  EXPECT_LE(pooled->ns.low, pooled->ns.high);
}

TEST(predict, the_share_of_surprises_is_of_calls_and_at_most_all) {
  format::recording recording = recording_of({{.blocks = 1000, .own_frees = 1000}});
  EXPECT_EQ(misprediction_rate_of(recording), std::nullopt) << "not counted";
  recording.threads[0].allocations = recording.threads[0].frees = 500;
  recording.end.instructions = 1'000'000;
  recording.end.branch_mispredictions = 250;
  EXPECT_DOUBLE_EQ(misprediction_rate_of(recording).value_or(-1), 0.25);
  recording.end.branch_mispredictions = 5000;
  EXPECT_DOUBLE_EQ(misprediction_rate_of(recording).value_or(-1), 1);
  recording.has_ended = false;
  EXPECT_EQ(misprediction_rate_of(recording), std::nullopt);
}

TEST(predict, reasons_are_those_of_the_site) {
  const auto has = [](const site_prediction& prediction, const char* excerpt) {
    return std::any_of(prediction.reasons.begin(), prediction.reasons.end(),
                       [&](const std::string& text) { return text.find(excerpt) != std::string::npos; });
  };
  EXPECT_TRUE(has(predicted(grown_by_realloc(), simple_costs()), "sizes differ"));
  EXPECT_TRUE(has(predicted(grown_by_realloc(), simple_costs()), "copies"));
  const site_prediction handed = predicted(recording_of({{.blocks = 1000, .other_frees = 1000}}), simple_costs());
  EXPECT_TRUE(has(handed, "two threads"));
  EXPECT_FALSE(has(handed, "sizes differ"));
}

// Sites of hostile recordings have counts that contradict one another.
TEST(predict, nonsense_is_finite) {
  format::recording recording =
      recording_of({{.blocks = 0, .own_frees = 7}, {.blocks = 1, .own_frees = ~0ULL, .other_frees = ~0ULL}});
  recording.sites[1].image = 99;
  recording.cells[{1, 0, 0}][format::reallocs] = ~0ULL;
  const cost_model costs = simple_costs();
  const predictor enlarged(recording, costs);
  const heap_findings findings = find(recording);
  for (const site& site : findings.sites) {
    for (const prediction& prediction : enlarged.predict(site).remedies)
      EXPECT_TRUE(prediction.saved_ns.low == prediction.saved_ns.low);
    EXPECT_LE(growth_of(site).bytes, 1U << 20);
  }
  EXPECT_EQ(enlarged.program_costs_of(findings).wall_ns, 1e9);
}

TEST(predict, too_few_samples_say_how_many_allocations_would_tell_the_growth) {
  site site;
  site.has_grown = true;
  site.error = 0.4;
  site.sums[format::blocks] = 1000;
  site.sums[format::size_buckets] = 200;
  site.sums[format::size_buckets + 1] = 600;
  site.sums[format::size_buckets + 2] = 200;
  EXPECT_EQ(growth_of(site).steps, 0U);
  EXPECT_EQ(blocks_until_growth_is_known(site), 3001U) << "half the error takes four times the samples";
  site.error = 0.1;
  EXPECT_EQ(blocks_until_growth_is_known(site), 0U) << "the samples tell that buffers do not grow";
  site.error = 0.4;
  site.has_grown = false;
  EXPECT_EQ(blocks_until_growth_is_known(site), 0U) << "no name shows a container";
  site.has_grown = true;
  site.sums[format::size_buckets] = 600;
  site.sums[format::size_buckets + 1] = 250;
  site.sums[format::size_buckets + 2] = 150;
  EXPECT_EQ(blocks_until_growth_is_known(site), 0U) << "larger sizes are rarer, in spite of the error";
}

}  // namespace
}  // namespace tarn::analyse
