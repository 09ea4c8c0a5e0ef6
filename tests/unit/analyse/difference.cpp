// Tests the comparison of two recordings: matching sites, changes, and predictions of counts.
#include "profiler/advise/difference.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tarn::analyse {
namespace {

site_view view(const char* function, int line, std::uint64_t blocks,
               heap_category category = heap_category::same_thread) {
  site_view result;
  result.facts.sums[format::blocks] = blocks;
  result.facts.sums[format::bytes] = blocks * 10;
  result.facts.category = category;
  result.stack = {{function, "file.cpp", line, "/program", 1}};
  result.predicted.now_ns = {10.0 * static_cast<double>(blocks), 20.0 * static_cast<double>(blocks)};
  return result;
}

site_view promised(site_view view, range saved) {
  view.offers.push_back({{remedy_kind::pooled, {}, saved, 0}, {}});
  return view;
}

difference differences_of(const std::vector<site_view>& before, const std::vector<site_view>& after) {
  return compare(sums_by_location(before), sums_by_location(after));
}

TEST(difference, of_the_same_is_none) {
  const difference empty =
      differences_of({view("f()", 1, 100), view("g()", 2, 50)}, {view("g()", 2, 50), view("f()", 1, 100)});
  EXPECT_TRUE(empty.changes.empty());
  EXPECT_EQ(empty.before, empty.after);
}

TEST(difference, sites_of_one_place_are_one) {
  const auto sums = sums_by_location({view("f(int)", 1, 100), view("f(int)", 1, 50, heap_category::cross_thread)});
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0].allocations, 150U);
  EXPECT_EQ(sums[0].category, heap_category::same_thread) << "the most of them";
  EXPECT_EQ(sums[0].function, "f");
}

TEST(difference, sites_of_one_place_count_by_their_category) {
  const std::vector<site_view> views = {view("f(int)", 1, 100), view("f(int)", 1, 50, heap_category::cross_thread)};
  ASSERT_EQ(sums_by_location(views, heap_category::cross_thread).size(), 1U);
  EXPECT_EQ(sums_by_location(views, heap_category::cross_thread)[0].allocations, 50U);
  EXPECT_TRUE(sums_by_location(views, heap_category::kept).empty());
  const difference empty = differences_of(views, views);
  EXPECT_EQ(empty.before[static_cast<std::size_t>(heap_category::same_thread)], 100U);
  EXPECT_EQ(empty.before[static_cast<std::size_t>(heap_category::cross_thread)], 50U);
}

TEST(difference, a_site_that_is_gone_saves_all_of_it) {
  const difference difference = differences_of({view("f()", 1, 100), view("g()", 1, 10)}, {view("g()", 1, 10)});
  ASSERT_EQ(difference.changes.size(), 1U);
  EXPECT_FALSE(difference.changes[0].after);
  EXPECT_DOUBLE_EQ(difference.changes[0].model_saved_ns().low, 1000);
  EXPECT_DOUBLE_EQ(difference.changes[0].model_saved_ns().high, 2000);
  EXPECT_EQ(difference.before[0], 110U);
  EXPECT_EQ(difference.after[0], 10U);
}

TEST(difference, a_new_site_costs) {
  const difference difference = differences_of({}, {view("f()", 1, 100)});
  ASSERT_EQ(difference.changes.size(), 1U);
  EXPECT_FALSE(difference.changes[0].before);
  EXPECT_DOUBLE_EQ(difference.changes[0].model_saved_ns().low, -2000);
  EXPECT_DOUBLE_EQ(difference.changes[0].model_saved_ns().high, -1000);
}

TEST(difference, a_line_that_moved_is_the_same_site) {
  const difference difference =
      differences_of({view("f()", 10, 100), view("f()", 20, 70)}, {view("f()", 13, 100), view("f()", 23, 7)});
  ASSERT_EQ(difference.changes.size(), 1U);
  EXPECT_EQ(difference.changes[0].before->line, 20);
  EXPECT_EQ(difference.changes[0].after->line, 23);
}

TEST(difference, the_same_line_goes_before_the_order) {
  const difference difference = differences_of({view("f()", 10, 100), view("f()", 20, 70)}, {view("f()", 20, 70)});
  ASSERT_EQ(difference.changes.size(), 1U);
  EXPECT_EQ(difference.changes[0].before->line, 10);
  EXPECT_FALSE(difference.changes[0].after);
}

TEST(difference, a_change_of_category_is_a_change) {
  EXPECT_EQ(differences_of({view("f()", 1, 100)}, {view("f()", 1, 100, heap_category::cross_thread)}).changes.size(),
            1U);
}

TEST(difference, an_alternative_that_was_applied_is_taken) {
  site_view before = view("f()", 1, 1000);
  before.offers.push_back({{remedy_kind::reserve, {}, {400, 600}, 600}, {}});
  before.offers.push_back({{remedy_kind::hoist, {}, {9000, 21'000}, 1000}, {}});
  before.offers.push_back({{remedy_kind::drop_in, {}, {1, 2}, 0}, {}});
  const change hoisted = differences_of({before}, {view("f()", 1, 2)}).changes.at(0);
  ASSERT_TRUE(hoisted.is_taken);
  EXPECT_EQ(hoisted.judged_offer()->predicted.remedy, remedy_kind::hoist);
  EXPECT_EQ(hoisted.outcome(), count_outcome::as_predicted);
  const change reserved = differences_of({before}, {view("f()", 1, 400)}).changes.at(0);
  ASSERT_TRUE(reserved.is_taken);
  EXPECT_FALSE(reserved.taken_instead);
  EXPECT_EQ(reserved.judged_offer()->predicted.remedy, remedy_kind::reserve);
  const change untouched = differences_of({before}, {view("f()", 1, 990)}).changes.at(0);
  EXPECT_FALSE(untouched.is_taken);
  EXPECT_EQ(untouched.judged_offer()->predicted.remedy, remedy_kind::reserve) << "the first one";
}

// A hoist leaves a call or two, and the thread's own heap none that malloc sees.
TEST(difference, of_remedies_that_leave_next_to_nothing_the_first_is_taken) {
  site_view before = view("f()", 1, 1000);
  before.offers.push_back({{remedy_kind::hoist, {}, {9000, 21'000}, 999}, {}});
  before.offers.push_back({{remedy_kind::pooled, {}, {400, 600}, 0}, {}});
  const change removal = differences_of({before}, {view("f()", 1, 1)}).changes.at(0);
  ASSERT_TRUE(removal.is_taken);
  EXPECT_FALSE(removal.taken_instead);
  EXPECT_EQ(removal.judged_offer()->predicted.remedy, remedy_kind::hoist);
}

// The code may have been removed, or the function may have another name.
TEST(difference, of_a_site_that_is_gone_no_remedy_is_taken) {
  site_view before = view("f()", 1, 1000);
  before.offers.push_back({{remedy_kind::reserve, {}, {9000, 21'000}, 600}, {}});
  before.offers.push_back({{remedy_kind::pooled, {}, {400, 600}, 0}, {}});
  const change removal = differences_of({before}, {view("g()", 1, 400)}).changes.at(0);
  ASSERT_TRUE(removal.is_gone());
  EXPECT_FALSE(removal.is_taken);
  EXPECT_FALSE(removal.taken_instead);
  EXPECT_EQ(removal.judged_offer()->predicted.remedy, remedy_kind::reserve) << "the first one";
  EXPECT_EQ(removal.outcome(), count_outcome::not_taken);
}

site_view view_in(const char* file, const char* function, std::uint64_t blocks, const char* type) {
  site_view result = view(function, 1, blocks);
  result.stack[0].file = file;
  result.allocation.type = type;
  return result;
}

TEST(difference, a_source_that_was_renamed_has_the_same_sites) {
  site_view before = view_in("a.cpp", "f()", 1000, "std::vector<int>");
  before.offers.push_back({{remedy_kind::reserve, {}, {9000, 21'000}, 800}, {}});
  before.offers.push_back({{remedy_kind::pooled, {}, {400, 600}, 0}, {}});
  const difference renamed =
      differences_of({before, view_in("a.cpp", "g()", 70, "std::string")},
                     {view_in("b.cpp", "f()", 200, "std::vector<int>"), view_in("b.cpp", "g()", 70, "std::string")});
  ASSERT_EQ(renamed.changes.size(), 1U);
  EXPECT_EQ(renamed.changes[0].after->file, "b.cpp");
  ASSERT_TRUE(renamed.changes[0].is_taken);
  EXPECT_EQ(renamed.changes[0].judged_offer()->predicted.remedy, remedy_kind::reserve);
  EXPECT_EQ(renamed.common_share, 1) << "one program";
}

TEST(difference, a_function_of_another_type_or_of_several_files_has_not_moved) {
  const site_view before = view_in("a.cpp", "f()", 1000, "std::vector<int>");
  EXPECT_EQ(differences_of({before}, {view_in("b.cpp", "f()", 1000, "std::string")}).changes.size(), 2U);
  EXPECT_EQ(differences_of({before}, {view_in("b.cpp", "f()", 1000, "std::vector<int>"),
                                      view_in("c.cpp", "f()", 1000, "std::vector<int>")})
                .changes.size(),
            3U);
  EXPECT_EQ(differences_of({view_in("a.so", "", 1000, "")}, {view_in("b.so", "", 1000, "")}).changes.size(), 2U)
      << "nothing has a name";
}

TEST(difference, builds_of_sources_in_two_folders_match) {
  const auto view_of = [](const char* file, std::uint64_t blocks) { return view_in(file, "f()", blocks, ""); };
  const difference moved = differences_of({view_of("/old/file.cpp", 100)}, {view_of("/new/file.cpp", 40)});
  ASSERT_EQ(moved.changes.size(), 1U);
  EXPECT_EQ(moved.changes[0].before->allocations, 100U);
  EXPECT_EQ(moved.changes[0].after->allocations, 40U);
  EXPECT_EQ(moved.common_share, 1);
  const difference same_names = differences_of({view_of("/a/file.cpp", 100), view_of("/b/file.cpp", 70)},
                                               {view_of("/b/file.cpp", 7), view_of("/a/file.cpp", 100)});
  ASSERT_EQ(same_names.changes.size(), 1U) << "the folder tells files of one name apart";
  EXPECT_EQ(same_names.changes[0].before->file, "/b/file.cpp");
}

site_view called_by(const char* caller, const char* function, std::uint64_t blocks) {
  site_view result = view(function, 1, blocks);
  result.stack.push_back({caller, "file.cpp", 9, "/program", 2});
  return result;
}

TEST(difference, a_function_with_another_name_has_the_same_sites) {
  const auto changes_between = [](const std::vector<site_view>& before, const std::vector<site_view>& after) {
    return differences_of(before, after).changes.size();
  };
  const site_view earlier = called_by("main", "f()", 1000), later = called_by("main", "renamed()", 1000);
  EXPECT_EQ(changes_between({earlier}, {later}), 0U);
  EXPECT_EQ(changes_between({earlier}, {called_by("main", "renamed()", 900)}), 2U) << "other counts";
  EXPECT_EQ(changes_between({earlier}, {called_by("g()", "renamed()", 1000)}), 2U) << "another caller";
  EXPECT_EQ(changes_between({view("f()", 1, 1000)}, {view("renamed()", 1, 1000)}), 2U) << "no caller is known";
  EXPECT_EQ(changes_between({earlier}, {later, called_by("main", "h()", 1000)}), 3U) << "either may be the one";
  EXPECT_EQ(changes_between({earlier, called_by("g()", "renamed()", 70)}, {later}), 2U) << "both were there before";
}

TEST(difference, one_run_each_tells_no_saving_that_the_changes_do_not) {
  const range hundred = {100, 100}, fewer = {70, 70};
  const auto saving = [&](const range& before, const range& after, const range& changes) {
    return saving_of_runs(before, after, changes);
  };
  const auto expect = [](const measured_saving& saved, double low, double high, bool is_explained) {
    EXPECT_NEAR(saved.ns.low, low, 1e-9);
    EXPECT_NEAR(saved.ns.high, high, 1e-9);
    EXPECT_EQ(saved.is_explained, is_explained);
  };
  expect(saving(hundred, fewer, {20, 35}), 20, 40, true);
  expect(saving(hundred, fewer, {-1, 1}), -20, 80, false);
  expect(saving(fewer, hundred, {-1, 1}), -80, 20, false);
  expect(saving(fewer, hundred, {-30, -25}), -40, -20, true);
  expect(saving(hundred, fewer, {-5, 25}), -20, 80, false);
  expect(saving(hundred, hundred, {-1, 1}), -10, 10, true);
  expect(saving(hundred, hundred, {30, 40}), -50, 50, false);
}

TEST(difference, changes_that_samples_do_not_tell_apart_save_nothing_for_sure) {
  const auto sampled = [](const char* function, std::uint64_t samples) {
    site_view result = view(function, 1, samples * 100);
    result.facts.sums[format::spread] = samples * 100 * 99;
    return result;
  };
  const range renamed = saved_by_changes(differences_of({sampled("f()", 400)}, {sampled("g()", 420)}).changes);
  EXPECT_LT(renamed.low, 0);
  EXPECT_GT(renamed.high, 0);
  const range halved = saved_by_changes(differences_of({sampled("f()", 4000)}, {sampled("f()", 2000)}).changes);
  EXPECT_GT(halved.low, 0);
  site_view before = view("f()", 1, 1000);
  before.offers.push_back({{remedy_kind::hoist, {}, {9000, 21'000}, 999}, {}});
  before.offers.front().predicted.saves_more = true;
  EXPECT_EQ(saved_by_changes(differences_of({before}, {view("f()", 1, 900)}).changes).high, 2000);
  EXPECT_GT(saved_by_changes(differences_of({before}, {view("f()", 1, 1)}).changes).high, 1e300);
}

TEST(difference, the_largest_is_first) {
  const difference difference = differences_of({view("f()", 1, 10), view("g()", 1, 1000)}, {view("h()", 1, 100)});
  ASSERT_EQ(difference.changes.size(), 3U);
  EXPECT_EQ(difference.changes[0].before->function, "g");
  EXPECT_EQ(difference.changes[1].after->function, "h");
}

// The times of both are of one model, so that they would agree wherever the counts do.
TEST(difference, counts_are_held_against_the_prediction) {
  const auto outcome_of = [](std::uint64_t after, range prediction = {900, 1100}) {
    site_view before = view("f()", 1, 1000);
    before.offers.push_back({{remedy_kind::reserve, {}, prediction, 600}, {}});
    return differences_of({before, view("g()", 2, 100)}, {view("f()", 1, after), view("g()", 2, 100)})
        .changes.at(0)
        .outcome();
  };
  EXPECT_EQ(outcome_of(400), count_outcome::as_predicted);
  EXPECT_EQ(outcome_of(400, {0, 1}), count_outcome::as_predicted) << "whatever the model says of the time";
  EXPECT_EQ(outcome_of(450), count_outcome::as_predicted) << "a tenth of 600";
  EXPECT_EQ(outcome_of(470), count_outcome::fewer_gone);
  EXPECT_EQ(outcome_of(350), count_outcome::as_predicted);
  EXPECT_EQ(outcome_of(330), count_outcome::more_gone);
  EXPECT_EQ(outcome_of(900), count_outcome::not_taken);
  EXPECT_EQ(differences_of({view("f()", 1, 100)}, {view("f()", 1, 1)}).changes.at(0).outcome(),
            count_outcome::not_taken)
      << "nothing was predicted";
  site_view first = view("f()", 1, 1000), second = view("g()", 2, 1000);
  for (site_view* const before : {&first, &second})
    before->offers.push_back({{remedy_kind::reserve, {}, {900, 1100}, 600}, {}});
  const difference remedied = differences_of({first, second, view("h()", 3, 2000)},
                                             {view("f()", 1, 400), view("g()", 2, 400), view("h()", 3, 2000)});
  ASSERT_EQ(remedied.changes.size(), 2U);
  for (const change& change : remedied.changes)
    EXPECT_EQ(change.outcome(), count_outcome::as_predicted) << "the decrease of one is no smaller load of the other";
}

TEST(difference, every_program_has_a_main) {
  EXPECT_EQ(differences_of({view_in("a.c", "main", 100, "")}, {view_in("b.c", "main", 100, "")}).common_share, 0);
  EXPECT_EQ(differences_of({view_in("a.c", "main", 100, "")}, {view_in("/c/a.c", "main", 70, "")}).common_share, 1);
}

TEST(difference, samples_of_the_same_work_do_not_differ) {
  const auto sampled = [](std::uint64_t samples, heap_category category = heap_category::same_thread) {
    site_view sampled_view = view("f()", 1, samples * 100, category);
    sampled_view.facts.sums[format::spread] = samples * 100 * 99;
    return sampled_view;
  };
  EXPECT_TRUE(differences_of({sampled(90)}, {sampled(110)}).changes.empty());
  EXPECT_TRUE(differences_of({sampled(90)}, {view("f()", 1, 10'000)}).changes.empty())
      << "against one that was counted";
  EXPECT_TRUE(differences_of({sampled(3)}, {}).changes.empty()) << "no sample fell there";
  EXPECT_TRUE(differences_of({sampled(2)}, {sampled(3, heap_category::cross_thread)}).changes.empty())
      << "by one sample";
  EXPECT_EQ(differences_of({sampled(100)}, {sampled(10)}).changes.size(), 1U);
  EXPECT_EQ(differences_of({sampled(100)}, {}).changes.size(), 1U);
  site_view handed = sampled(100), larger = sampled(100), still_live = sampled(100);
  handed.facts.remote_frees = 9'000;
  larger.facts.sums[format::bytes] *= 4;
  still_live.facts.live = 9'000;
  for (const site_view& changed : {handed, larger, still_live})
    EXPECT_EQ(differences_of({sampled(100)}, {changed}).changes.size(), 1U);
}

site_view holding(const char* function, std::uint64_t peak_bytes, std::uint64_t end_bytes) {
  site_view result = view(function, 1, 100);
  result.facts.peak_bytes = peak_bytes;
  result.facts.live_bytes = end_bytes;
  return result;
}

std::vector<change> memory_between(const std::vector<site_view>& before, const std::vector<site_view>& after,
                                   double interval = 0) {
  return memory_changes(sums_by_location(before), sums_by_location(after), {interval, interval});
}

TEST(difference, memory_is_compared_at_the_peak_and_at_the_end) {
  const std::vector<site_view> before = {holding("f()", 1'000'000, 0), holding("g()", 0, 900'000),
                                         holding("h()", 5'000'000, 5'000'000)};
  EXPECT_TRUE(memory_between(before, before).empty());
  const auto changes = memory_between(
      before, {holding("f()", 400'000, 0), holding("h()", 5'000'000, 5'000'000), holding("i()", 0, 9'000)});
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].before->function, "g") << "the largest first";
  EXPECT_FALSE(changes[0].after);
  EXPECT_EQ(changes[1].after->peak_bytes, 400'000U);
  EXPECT_EQ(changes[2].after->end_bytes, 9'000U);
}

TEST(difference, memory_that_differs_little_is_the_same) {
  EXPECT_TRUE(memory_between({holding("f()", 0, 10'000)}, {holding("f()", 0, 14'000)}).empty()) << "below 4 KiB";
  EXPECT_TRUE(memory_between({holding("f()", 10'000'000, 0)}, {holding("f()", 10'090'000, 0)}).empty())
      << "below a hundredth of the peak";
  EXPECT_EQ(memory_between({holding("f()", 10'000'000, 0)}, {holding("f()", 10'200'000, 0)}).size(), 1U);
  EXPECT_TRUE(memory_between({holding("f()", 0, 3'000'000)}, {holding("f()", 0, 4'000'000)}, 131'072).empty())
      << "some thirty samples each";
  EXPECT_EQ(memory_between({holding("f()", 0, 3'000'000)}, {holding("f()", 0, 12'000'000)}, 131'072).size(), 1U);
}

TEST(difference, less_work_is_no_remedy) {
  const auto unit = [](std::uint64_t remedied, std::uint64_t second) {
    return std::vector{promised(view("f()", 1, remedied), {0, 5000}), view("g()", 2, second)};
  };
  const auto is_taken = [&](std::uint64_t remedied, std::uint64_t second) {
    const auto changes = differences_of(unit(100, 100), unit(remedied, second)).changes;
    return std::any_of(changes.begin(), changes.end(), [](const change& change) { return change.is_taken; });
  };
  EXPECT_TRUE(is_taken(0, 100));
  EXPECT_TRUE(is_taken(40, 100));
  EXPECT_FALSE(is_taken(80, 100)) << "most of it is still there";
  EXPECT_FALSE(is_taken(50, 50)) << "half of the work";
  EXPECT_TRUE(is_taken(10, 50)) << "less than the work";
  site_view growing = promised(view("f()", 1, 100), {0, 5000});
  growing.offers.front().predicted.calls_saved = 60;
  EXPECT_EQ(differences_of({growing}, {view("f()", 1, 40)}).changes.at(0).outcome(), count_outcome::as_predicted);
  EXPECT_FALSE(differences_of({growing}, {view("f()", 1, 80)}).changes.at(0).is_taken);
  growing.offers.front().predicted.remedy = remedy_kind::drop_in;
  EXPECT_FALSE(differences_of({growing}, {view("f()", 1, 0)}).changes.at(0).is_taken) << "which leaves the allocations";
}

site_view reservable(const char* function, std::uint64_t blocks, std::uint64_t saved) {
  site_view result = view(function, 1, blocks);
  result.offers.push_back({{remedy_kind::reserve, {}, {900, 1100}, saved}, {}});
  return result;
}

TEST(difference, remedies_that_are_applied_at_all_places_at_once_are_taken) {
  const auto outcomes_between = [](const std::vector<site_view>& before, const std::vector<site_view>& after) {
    std::vector<count_outcome> outcomes;
    for (const change& change : differences_of(before, after).changes)
      if (!change.is_gone()) outcomes.push_back(change.outcome());
    return outcomes;
  };
  constexpr count_outcome fits = count_outcome::as_predicted, denied = count_outcome::not_taken;
  const site_view growing = reservable("f()", 7000, 6000);
  using list = std::vector<count_outcome>;
  EXPECT_EQ(outcomes_between({growing, view("g()", 2, 3000), view("h()", 3, 1000)}, {view("f()", 1, 1000)}),
            list({fits}))
      << "all other places are gone";
  EXPECT_EQ(outcomes_between({growing, reservable("g()", 10'000, 9000)}, {view("f()", 1, 1000), view("g()", 1, 1000)}),
            list({fits, fits}))
      << "all have what the remedies leave";
  EXPECT_EQ(outcomes_between({growing, view("g()", 1, 90'000)}, {view("f()", 1, 1000), view("g()", 1, 9000)}),
            list({denied, fits}))
      << "the other one has another decrease";
  EXPECT_EQ(outcomes_between({growing, view("g()", 1, 7000)}, {view("f()", 1, 1000), view("g()", 1, 1000)}),
            list({denied, denied}))
      << "a seventh of the load";
}

TEST(difference, predictions_of_one_place_add_up) {
  const auto sums = sums_by_location({promised(view("f()", 1, 100), {1, 2}), promised(view("f()", 1, 50), {3, 4})});
  ASSERT_TRUE(sums.at(0).first);
  EXPECT_DOUBLE_EQ(sums[0].first->predicted.saved_ns.low, 4);
  EXPECT_DOUBLE_EQ(sums[0].first->predicted.saved_ns.high, 6);
}

TEST(difference, without_names_the_module_and_offset_tell) {
  site_view a = view("", 0, 100), b = view("", 0, 100);
  a.stack[0] = {"", "", 0, "/lib/one.so", 16};
  b.stack[0] = {"", "", 0, "/lib/one.so", 32};
  EXPECT_EQ(sums_by_location({a, b}).size(), 2U);
  a.stack.clear();  // it is beyond the recorder's limit
  EXPECT_EQ(sums_by_location({a}).size(), 1U);
}

}  // namespace
}  // namespace tarn::analyse
