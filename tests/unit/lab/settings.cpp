// Tests the settings on a command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiler/lab/run.hpp"

namespace {

using namespace tarn::lab;

std::vector<experiment> two_experiments() {
  std::vector<experiment> experiments(2);
  experiments[0].name = "first";
  experiments[0].parameters = {{"total", "", {5}, {5}, 1, 100, false}};
  experiments[1].name = "second";
  experiments[1].parameters = {{"total", "", {5}, {5}, 1, 10, false}};
  sweep n_sweep;
  n_sweep.axis = {"n", "", {1}, {1}, 1, 1000, true};
  experiments[1].sweeps = {n_sweep};
  return experiments;
}

std::map<std::string, settings> read(const std::vector<std::string>& arguments) {
  const std::vector<experiment> experiments = two_experiments();
  return read_settings({experiments.data(), experiments.data() + 1}, arguments);
}

std::string refusal(const std::string& word) {
  try {
    read({word});
  } catch (const problem& wrong) {
    return wrong.what();
  }
  return "";
}

TEST(lab_settings, a_key_without_an_experiment_sets_it_in_every_experiment_that_has_it) {
  auto values = read({"total=7", "n=1,10,1"});
  EXPECT_THAT(values["first"]["total"], testing::ElementsAre(7));
  EXPECT_THAT(values["second"]["total"], testing::ElementsAre(7));
  EXPECT_THAT(values["second"]["n"], testing::ElementsAre(1, 10));
  EXPECT_FALSE(values["first"].contains("n"));
}

TEST(lab_settings, a_key_with_an_experiment_sets_it_in_that_experiment_only) {
  auto values = read({"first.total=100"});
  EXPECT_THAT(values["first"]["total"], testing::ElementsAre(100));
  EXPECT_TRUE(values["second"].empty());
}

TEST(lab_settings, a_refusal_names_the_range) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal("total"), HasSubstr("not [EXPERIMENT.]KEY=NUMBER"));
  EXPECT_THAT(refusal("none=1"), HasSubstr("no chosen experiment has it"));
  EXPECT_THAT(refusal("first.n=1"), HasSubstr("no chosen experiment has it"));
  EXPECT_THAT(refusal("n=0"), HasSubstr("numbers from 1 to 1000"));
  EXPECT_THAT(refusal("n=1001"), HasSubstr("numbers from 1 to 1000"));
  EXPECT_THAT(refusal("n=-1"), HasSubstr("numbers from 1 to 1000"));
  EXPECT_THAT(refusal("n=1,,2"), HasSubstr("numbers from 1 to 1000"));
  EXPECT_THAT(refusal("n="), HasSubstr("numbers from 1 to 1000"));
  EXPECT_THAT(refusal("n=many"), HasSubstr("numbers from 1 to 1000"));
  EXPECT_THAT(refusal("n=1000000000000000000000"), HasSubstr("numbers from 1 to 1000"));
  EXPECT_THAT(refusal("n=12x"), HasSubstr("numbers from 1 to 1000"));
  std::string list = "n=1";
  for (int number = 2; number <= 32; ++number) list += "," + std::to_string(number);
  EXPECT_EQ(refusal(list), "");
  EXPECT_THAT(refusal(list + ",33"), HasSubstr("numbers from 1 to 1000"));
  EXPECT_THAT(refusal("second.total=1,2"), HasSubstr("a number from 1 to 10"));
}

}  // namespace
