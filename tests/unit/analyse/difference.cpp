// Two recordings compared: which sites are the same, what changed, and whether it was predicted.
#include "analyse/difference.hpp"

#include <gtest/gtest.h>

namespace tarn::analyse {
namespace {

site_view view(const char* function, int line, std::uint64_t blocks, category is = category::transient) {
  site_view made;
  made.facts.sums[format::blocks] = blocks;
  made.facts.sums[format::bytes] = blocks * 10;
  made.facts.is = is;
  made.stack = {{function, "file.cpp", line, "/program", 1}};
  made.predicted.now_ns = {10.0 * static_cast<double>(blocks), 20.0 * static_cast<double>(blocks)};
  return made;
}

site_view promised(site_view made, range saved) {
  made.offers.push_back({{remedy::pooled, {}, saved, 0}, {}});
  return made;
}

difference between(const std::vector<site_view>& before, const std::vector<site_view>& after) {
  return compare(sums_by_place(before), sums_by_place(after));
}

TEST(difference, of_the_same_is_none) {
  const difference none = between({view("f()", 1, 100), view("g()", 2, 50)}, {view("g()", 2, 50), view("f()", 1, 100)});
  EXPECT_TRUE(none.changes.empty());
  EXPECT_EQ(none.before, none.after);
}

TEST(difference, sites_of_one_place_are_one) {
  const auto sums = sums_by_place({view("f(int)", 1, 100), view("f(int)", 1, 50, category::shared)});
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0].allocations, 150U);
  EXPECT_EQ(sums[0].is, category::transient) << "the most of them";
  EXPECT_EQ(sums[0].function, "f");
}

TEST(difference, a_site_that_is_gone_saves_all_of_it) {
  const difference found = between({view("f()", 1, 100), view("g()", 1, 10)}, {view("g()", 1, 10)});
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_FALSE(found.changes[0].after);
  EXPECT_DOUBLE_EQ(found.changes[0].achieved_ns().low, 1000);
  EXPECT_DOUBLE_EQ(found.changes[0].achieved_ns().high, 2000);
  EXPECT_EQ(found.before[0], 110U);
  EXPECT_EQ(found.after[0], 10U);
}

TEST(difference, a_new_site_costs) {
  const difference found = between({}, {view("f()", 1, 100)});
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_FALSE(found.changes[0].before);
  EXPECT_DOUBLE_EQ(found.changes[0].achieved_ns().low, -2000);
  EXPECT_DOUBLE_EQ(found.changes[0].achieved_ns().high, -1000);
}

TEST(difference, a_line_that_moved_is_the_same_site) {
  const difference found =
      between({view("f()", 10, 100), view("f()", 20, 70)}, {view("f()", 13, 100), view("f()", 23, 7)});
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_EQ(found.changes[0].before->line, 20);
  EXPECT_EQ(found.changes[0].after->line, 23);
}

TEST(difference, the_same_line_goes_before_the_order) {
  const difference found = between({view("f()", 10, 100), view("f()", 20, 70)}, {view("f()", 20, 70)});
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_EQ(found.changes[0].before->line, 10);
  EXPECT_FALSE(found.changes[0].after);
}

TEST(difference, a_change_of_category_is_a_change) {
  EXPECT_EQ(between({view("f()", 1, 100)}, {view("f()", 1, 100, category::shared)}).changes.size(), 1U);
}

TEST(difference, the_largest_is_first) {
  const difference found = between({view("f()", 1, 10), view("g()", 1, 1000)}, {view("h()", 1, 100)});
  ASSERT_EQ(found.changes.size(), 3U);
  EXPECT_EQ(found.changes[0].before->function, "g");
  EXPECT_EQ(found.changes[1].after->function, "h");
}

TEST(difference, what_was_predicted_is_held_against_what_came) {
  const auto holds = [](range said) {
    return between({promised(view("f()", 1, 100), said)}, {}).changes.at(0).is_as_predicted();
  };
  EXPECT_TRUE(holds({900, 1100})) << "1000 to 2000 came";
  EXPECT_TRUE(holds({1900, 5000}));
  EXPECT_FALSE(holds({0, 900}));
  EXPECT_FALSE(holds({2100, 3000}));
  site_view open = promised(view("f()", 1, 100), {100, 900});
  open.offers.front().predicted.at_least = true;
  EXPECT_TRUE(between({open}, {}).changes.at(0).is_as_predicted()) << "more is no surprise";
  EXPECT_FALSE(between({view("f()", 1, 100)}, {}).changes.at(0).is_as_predicted()) << "nothing was said";
}

TEST(difference, predictions_of_one_place_add_up) {
  const auto sums = sums_by_place({promised(view("f()", 1, 100), {1, 2}), promised(view("f()", 1, 50), {3, 4})});
  ASSERT_TRUE(sums.at(0).first);
  EXPECT_DOUBLE_EQ(sums[0].first->predicted.saved_ns.low, 4);
  EXPECT_DOUBLE_EQ(sums[0].first->predicted.saved_ns.high, 6);
}

TEST(difference, without_names_the_module_and_offset_tell) {
  site_view a = view("", 0, 100), b = view("", 0, 100);
  a.stack[0] = {"", "", 0, "/lib/one.so", 16};
  b.stack[0] = {"", "", 0, "/lib/one.so", 32};
  EXPECT_EQ(sums_by_place({a, b}).size(), 2U);
  a.stack.clear();  // beyond the recorder's limit
  EXPECT_EQ(sums_by_place({a}).size(), 1U);
}

}  // namespace
}  // namespace tarn::analyse
