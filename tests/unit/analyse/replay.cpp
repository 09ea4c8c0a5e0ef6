// Turns trace excerpts into events that can be repeated.
#include "profiler/predict/trace.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "profiler/advise/analysis.hpp"
#include "profiler/format/code.hpp"
#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

using format::excerpt_event;
using enum format::excerpt_kind;
using kind = replay_step::step_kind;

constexpr std::uint32_t one_site = 1, other_site = 2;

replay_plan planned(std::vector<excerpt_event> steps) { return plan_of({0, 0, std::move(steps)}, {one_site}); }

TEST(replay, blocks_have_places_of_their_own) {
  const replay_plan plan = planned({{allocate, one_site, 40, 0x10},
                                    {release, 0, 56, 0x10},
                                    {allocate, other_site, 8, 0x10},
                                    {release, 0, 24, 0x10}});
  EXPECT_EQ(plan.slots, 2U);
  const std::vector<replay_step> expected_steps = {{kind::allocate, true, false, 0, 0, 40},
                                                   {kind::release, true, false, 0, 0, 40},
                                                   {kind::allocate, false, false, 1, 0, 8},
                                                   {kind::release, false, false, 1, 0, 8}};
  EXPECT_EQ(plan.steps, expected_steps);
  EXPECT_TRUE(plan.before.empty());
  EXPECT_TRUE(plan.after.empty());
}

TEST(replay, blocks_from_before_are_there_as_they_lay) {
  const replay_plan plan = planned({{release, 0, 64, 0x90}, {release, 0, 24, 0x20}});
  const std::vector<replay_step> expected_steps = {{kind::allocate, false, false, 0, 0, 24},
                                                   {kind::allocate, false, false, 1, 0, 64}};
  EXPECT_EQ(plan.before, expected_steps) << "by their addresses";
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].slot, 1U) << "released in their order";
}

TEST(replay, what_is_left_is_released_after) {
  const replay_plan plan = planned({{allocate, one_site, 1, 0x10}, {allocate, other_site, 2, 0x20}});
  const std::vector<replay_step> expected_steps = {{kind::release, true, false, 0, 0, 1},
                                                   {kind::release, false, false, 1, 0, 2}};
  EXPECT_EQ(plan.after, expected_steps);
}

TEST(replay, a_realloc_is_one_step) {
  const replay_plan plan = planned(
      {{allocate, one_site, 16, 0x10}, {resize, 0, 24, 0x10}, {allocate, one_site, 32, 0x40}, {release, 0, 40, 0x40}});
  ASSERT_EQ(plan.steps.size(), 3U);
  EXPECT_EQ(plan.steps[1], (replay_step{kind::resize, true, false, 1, 0, 32}));
  EXPECT_EQ(plan.steps[2].slot, 1U);
  EXPECT_TRUE(plan.after.empty()) << "what was resized is gone";
}

TEST(replay, a_realloc_is_chosen_by_its_own_site) {
  const std::vector<excerpt_event> steps = {
      {allocate, one_site, 16, 0x10}, {resize, 0, 24, 0x10}, {allocate, other_site, 32, 0x40}, {release, 0, 40, 0x40}};
  const replay_plan first = plan_of({0, 0, steps}, {one_site}), second = plan_of({0, 0, steps}, {other_site});
  EXPECT_EQ(first.steps[1], (replay_step{kind::resize, false, false, 1, 0, 32}));
  EXPECT_FALSE(first.steps[2].is_chosen);
  EXPECT_EQ(second.steps[1], (replay_step{kind::resize, true, false, 1, 0, 32}));
  EXPECT_TRUE(second.steps[2].is_chosen);
}

TEST(replay, a_block_whose_address_comes_again_was_freed_elsewhere) {
  const replay_plan plan = planned({{allocate, one_site, 16, 0x10}, {allocate, other_site, 32, 0x10}});
  const std::vector<replay_step> expected_steps = {{kind::release, true, false, 0, 0, 16},
                                                   {kind::release, false, false, 1, 0, 32}};
  EXPECT_EQ(plan.after, expected_steps);
}

TEST(replay, no_more_is_reserved_than_the_report_may_take) {
  std::vector<excerpt_event> steps;
  for (std::uint64_t index = 0; index < 1000; ++index) steps.push_back({allocate, one_site, 16, 16 * index});
  replay_job job;
  job.plans.push_back(planned(steps));
  reserve(job, 4096);
  EXPECT_EQ(job.reserved_bytes, 4096U);
  reserve(job, 1 << 20);
  EXPECT_EQ(job.reserved_bytes, 0U) << "1000 buffers are there at once";
}

TEST(replay, a_container_that_outgrows_its_buffer_is_seen) {
  const replay_plan plan =
      planned({{allocate, one_site, 16, 0x10}, {allocate, one_site, 32, 0x40}, {release, 0, 24, 0x10}});
  EXPECT_EQ(plan.steps[1], (replay_step{kind::grow, true, false, 1, 0, 32}));
  EXPECT_TRUE(plan.steps[2].is_outgrown);
}

TEST(replay, one_that_is_not_larger_or_not_released_next_did_not_grow) {
  EXPECT_EQ(
      planned({{allocate, one_site, 32, 0x10}, {allocate, one_site, 32, 0x40}, {release, 0, 40, 0x10}}).steps[1].kind,
      kind::allocate);
  EXPECT_EQ(planned({{allocate, one_site, 16, 0x10},
                     {allocate, one_site, 32, 0x40},
                     {allocate, other_site, 8, 0x80},
                     {release, 0, 24, 0x10}})
                .steps[1]
                .kind,
            kind::allocate);
}

TEST(replay, jobs_are_read_as_they_are_written) {
  replay_job job{.has_one_thread = true,
                 .is_of_first_thread = false,
                 .uses_new = true,
                 .is_copied_text = false,
                 .is_filled = true,
                 .is_whole = true,
                 .reserved_bytes = 512,
                 .plans = {}};
  job.plans.push_back(
      planned({{allocate, one_site, 16, 0x10}, {allocate, one_site, 32, 0x40}, {release, 0, 24, 0x10}}));
  const std::vector<replay_job> read = decode_jobs(encode({job, {}}));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(std::tuple(read[0].has_one_thread, read[0].is_of_first_thread, read[0].uses_new, read[0].is_copied_text,
                       read[0].is_filled, read[0].is_whole, read[0].reserved_bytes),
            std::tuple(true, false, true, false, true, true, 512U));
  ASSERT_EQ(read[0].plans.size(), 1U);
  EXPECT_EQ(read[0].plans[0].steps, job.plans[0].steps);
  EXPECT_EQ(read[0].plans[0].after, job.plans[0].after);
  EXPECT_TRUE(read[1].is_of_first_thread);
  const std::string bytes = encode({job});
  for (std::size_t size = 1; size < bytes.size(); ++size)
    EXPECT_THROW(decode_jobs(bytes.substr(0, size)), format::unreadable) << size;
}

// Makes excerpts of two threads with `first` and `second` allocations of the site.
format::recording excerpted(std::size_t first, std::size_t second) {
  format::recording recording = recording_of({{.blocks = 1000, .own_frees = 1000}, {.blocks = 1, .own_frees = 1}});
  const auto part = [](std::uint32_t thread, std::size_t blocks) {
    format::excerpt_facts excerpt{thread, 0, {}};
    for (std::size_t index = 0; index < blocks; ++index) excerpt.events.push_back({allocate, one_site, 16, 16 * index});
    return excerpt;
  };
  recording.excerpts = {part(0, first), part(1, second)};
  return recording;
}

TEST(replay, a_job_is_of_the_thread_that_has_most) {
  const replay_job first = job_of(excerpted(400, 300), {one_site});
  EXPECT_TRUE(first.is_of_first_thread);
  EXPECT_FALSE(first.has_one_thread) << "there are two threads";
  EXPECT_EQ(first.plans.size(), 1U);
  EXPECT_FALSE(job_of(excerpted(300, 400), {one_site}).is_of_first_thread);
}

TEST(replay, too_few_allocations_or_too_much_memory_are_no_job) {
  EXPECT_TRUE(job_of(excerpted(100, 100), {one_site}).plans.empty());
  EXPECT_TRUE(job_of(excerpted(400, 0), {other_site}).plans.empty());
  format::recording large = excerpted(400, 0);
  for (excerpt_event& event : large.excerpts[0].events) event.bytes = ~0U;
  EXPECT_TRUE(job_of(large, {one_site}).plans.empty());
}

TEST(replay, a_difference_within_the_noise_leaves_the_prices) {
  format::recording recording = recording_of({{.blocks = 1'000'000, .size = 16, .own_frees = 1'000'000}}, 1);
  recording.excerpts = excerpted(400, 0).excerpts;
  const auto costs_after = [&](const call_ns& now) {
    analysis analysis(recording, cheap_remedies());
    analysis.replay(analysis.grouped_sites(), 1, [&](const std::vector<replay_job>& jobs) {
      std::vector<replayed> results(jobs.size());
      if (!results.empty()) results.front().now = now;
      return results;
    });
    return std::pair(analysis.now_ns_of(analysis.grouped_sites().front()), analysis.whole().heap_ns);
  };
  EXPECT_DOUBLE_EQ(costs_after({40, 40, 40}).first.middle(), 40e6) << "it was replayed";
  for (const call_ns& noise : {call_ns{-33, 27, 0}, call_ns{-14, -7, -8}, call_ns{}}) {
    const auto [site_ns, heap_ns] = costs_after(noise);
    EXPECT_DOUBLE_EQ(site_ns.low, 100e6) << noise.overlapping;
    EXPECT_DOUBLE_EQ(site_ns.high, 101e6) << noise.overlapping;
    EXPECT_DOUBLE_EQ(heap_ns.low, 100e6) << noise.overlapping;
  }
}

TEST(replay, the_drop_in_is_predicted_from_whole_excerpts) {
  format::recording recording = excerpted(400, 300);
  recording.sites.push_back({0, {0x9000, 0x2000}});
  format::heap_counts& freed_elsewhere = recording.cells[{3, 0, 0}];
  freed_elsewhere[format::blocks] = freed_elsewhere[format::size_buckets] = 500;
  recording.cells[{3, 0, 1}] = format::heap_counts{};
  recording.cells[{3, 0, 1}][format::frees] = 500;
  analysis analysis(std::move(recording), cheap_remedies());
  analysis.replay({}, 0, [](const std::vector<replay_job>& jobs) {
    EXPECT_EQ(jobs.size(), 1U);
    EXPECT_TRUE(jobs.front().is_whole);
    replayed result;
    result.drop_in = {20, 20, 20};
    return std::vector<replayed>{result};
  });
  const double replayed_ns = 1001 * 20.0, priced_ns = 500 * 90.0;  // the latter by the cost model
  EXPECT_DOUBLE_EQ(analysis.whole().drop_in_saves_ns.low, replayed_ns * 0.75 + priced_ns);
  EXPECT_DOUBLE_EQ(analysis.whole().drop_in_saves_ns.high, replayed_ns * 1.25 + priced_ns);
}

TEST(replay, the_drop_in_saves_no_more_than_the_heap_costs) {
  analysis analysis(excerpted(400, 300), cheap_remedies());
  analysis.replay({}, 0, [](const std::vector<replay_job>&) {
    replayed result;
    result.drop_in = {1e6, 1e6, 1e6};
    return std::vector<replayed>{result};
  });
  EXPECT_DOUBLE_EQ(analysis.whole().drop_in_saves_ns.low, analysis.whole().heap_ns.low);
  EXPECT_DOUBLE_EQ(analysis.whole().drop_in_saves_ns.high, analysis.whole().heap_ns.high);
}

TEST(replay, a_replay_that_answers_too_little_leaves_the_cost_model) {
  analysis analysis(excerpted(400, 300), cheap_remedies());
  const range before = analysis.whole().drop_in_saves_ns;
  analysis.replay({}, 0, [](const std::vector<replay_job>&) { return std::vector<replayed>(); });
  EXPECT_DOUBLE_EQ(analysis.whole().drop_in_saves_ns.low, before.low);
  EXPECT_DOUBLE_EQ(analysis.whole().drop_in_saves_ns.high, before.high);
}

}  // namespace
}  // namespace tarn::analyse
