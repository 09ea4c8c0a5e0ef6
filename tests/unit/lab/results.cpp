// Tests the values that are computed from measurements.
#include "profiler/lab/result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profiler/lab/json.hpp"

namespace {

using namespace tarn::lab;

experiment two_forms() {
  experiment definition;
  definition.name = "none";
  definition.forms = {{"old", "old", role::original}, {"peer", "peer"}, {"new", "new", role::ours}};
  sweep n_sweep;
  n_sweep.name = n_sweep.axis.name = "n";
  n_sweep.ratios = {{"old / new", "old", "new"}};
  n_sweep.originals = {{"then", "ns", {{1, 1234567}}}};
  definition.sweeps = {n_sweep};
  return definition;
}

result measured(const experiment& definition) {
  result measurement;
  measurement.definition = &definition;
  measurement.forms = definition.forms;
  measurement.axes = {{1, 2}};
  measurement.rows = {{0, 1, "old", {4, 8, 400}, {1}, {}},
                      {0, 1, "peer", {3, 3, 3}, {1}, {}},
                      {0, 1, "new", {2, 4, 2}, {1}, {{"calls", {7, 9, 8}}}},
                      {0, 2, "old", {5}, {1}, {}}};
  return measurement;
}

TEST(lab_result, a_spread_has_the_median_and_the_quartiles) {
  const spread summary = spread_of({5, 1, 4, 2, 3});
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.low, 2);
  EXPECT_EQ(summary.high, 4);
  EXPECT_EQ(spread_of({1, 2}).median, 1.5);
  EXPECT_EQ(spread_of({}).median, 0);
}

TEST(lab_result, a_ratio_is_taken_round_by_round) {
  const experiment definition = two_forms();
  result measurement = measured(definition);
  EXPECT_EQ(measurement.ratio(0, "old", "new", 1), 2);  // of 2, 2 and 200; that of the medians would be 4
  EXPECT_EQ(measurement.ratio(0, "old", "new", 2), std::nullopt);
  EXPECT_THAT(measurement.ratios(0, "old", "new"), testing::ElementsAre(2));
  measurement.rows[2].ns = {4, 2};                        // a round less
  EXPECT_EQ(measurement.ratio(0, "old", "new", 1), 2.5);  // of 1 and 4
}

// A time can fall below zero when the cost of measuring is subtracted.
TEST(lab_result, a_mean_leaves_out_runs_that_were_too_short) {
  EXPECT_DOUBLE_EQ(geometric_mean({2, -1, 8, 0}), 4);
  EXPECT_EQ(geometric_mean({-1}), 0);
  EXPECT_EQ(geometric_mean({}), 0);
}

TEST(lab_result, the_best_other_form_is_not_ours) {
  const experiment definition = two_forms();
  result measurement = measured(definition);
  EXPECT_EQ(measurement.ns(0, best_other, 1), 3);
  EXPECT_EQ(measurement.ratio(0, best_other, "new", 1), 1.5);
  EXPECT_EQ(measurement.ns(0, best_other, 2), 5);
  measurement.rows[1].ns = {0};
  EXPECT_EQ(measurement.ratio(0, "new", best_other, 1), std::nullopt);
}

TEST(lab_result, an_exponent_is_fitted) {
  const experiment definition = two_forms();
  result measurement = measured(definition);
  EXPECT_EQ(measurement.exponent(0, "old"), std::nullopt);  // two points
  measurement.axes = {{0, 1, 10, 100}};
  measurement.rows = {{0, 0, "old", {99}, {}, {}},
                      {0, 1, "old", {2}, {}, {}},
                      {0, 10, "old", {20}, {}, {}},
                      {0, 100, "old", {200}, {}, {}}};
  EXPECT_NEAR(measurement.exponent(0, "old").value_or(0), 1, 1e-9);
}

TEST(lab_result, the_result_says_where_it_is_slower) {
  const experiment definition = two_forms();
  result measurement = measured(definition);
  EXPECT_EQ(measurement.slowdown_text(0, "new"), "");
  measurement.rows[2].ns = {3.2};
  EXPECT_EQ(measurement.slowdown_text(0, "new"), "") << "that is noise";
  measurement.rows[2].ns = {3.6};
  EXPECT_THAT(measurement.slowdown_text(0, "new"), testing::EndsWith(" 1.2 times its time."));
  measurement.rows[2].ns = {6, 6, 6};
  EXPECT_EQ(measurement.slowdown_text(0, "new"), " new is slower than the fastest other at n 1: 2.0 times its time.");
}

TEST(lab_result, a_count_is_the_median) {
  const experiment definition = two_forms();
  const result measurement = measured(definition);
  EXPECT_EQ(measurement.count(0, "new", 1, "calls"), 8);
  EXPECT_EQ(measurement.count(0, "old", 1, "calls"), std::nullopt);
}

TEST(lab_result, numbers_are_short) {
  EXPECT_EQ(two_digits(3.849), "3.8");
  EXPECT_EQ(two_digits(12.7), "13");
  EXPECT_EQ(two_digits(9.96), "10");
  EXPECT_EQ(two_digits(0.4249), "0.42");
  EXPECT_EQ(two_digits(0.0997), "0.10");
  EXPECT_EQ(two_digits(0.0123), "0.012");
  EXPECT_EQ(times_text({3.8, 4.6, 4.2}), "3.8 to 4.6 times");
  EXPECT_EQ(times_text({2, 2.01}), "2.0 times");
  EXPECT_EQ(times_text({}), "not measured");
}

TEST(lab_json, the_json_has_what_the_schema_says) {
  const experiment definition = two_forms();
  result measurement = measured(definition);
  measurement.judgement = {claim_outcome::partly, "so so"};
  measurement.skipped = {"one is skipped"};
  const auto json = as_json({measurement}, true, {{"cores", "2"}});
  EXPECT_EQ(json.at("format"), json_version);
  EXPECT_EQ(json.at("machine").at("cores"), "2");
  const auto& only = json.at("experiments").at(0);
  EXPECT_EQ(only.at("verdict").at("holds"), "partly");
  EXPECT_EQ(only.at("skipped").at(0), "one is skipped");
  EXPECT_EQ(only.at("rows").size(), 4);
  EXPECT_EQ(only.at("rows").at(2).at("counts").at("calls"), 8);
  EXPECT_EQ(only.at("rows").at(0).at("ns").at("rounds").dump(), "[4.0,8.0,400.0]");
  EXPECT_EQ(only.at("sweeps").at(0).at("ratios").at(0).at("points").dump(), "[[1,2.0]]");
  EXPECT_EQ(only.at("sweeps").at(0).at("originals").at(0).at("points").dump(), "[[1.0,1234600.0]]");
  EXPECT_FALSE(only.contains("failure"));
}

}  // namespace
