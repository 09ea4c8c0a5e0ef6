// Tests the settings on a command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiler/lab/run.hpp"

namespace {

using namespace tarn::lab;

std::vector<experiment> two() {
  std::vector<experiment> made(2);
  made[0].name = "first";
  made[0].parameters = {{"total", "", {5}, {5}, 1, 100, false}};
  made[1].name = "second";
  made[1].parameters = {{"total", "", {5}, {5}, 1, 10, false}};
  sweep in;
  in.axis = {"n", "", {1}, {1}, 1, 1000, true};
  made[1].sweeps = {in};
  return made;
}

std::map<std::string, settings> read(const std::vector<std::string>& words) {
  const std::vector<experiment> all = two();
  return read_settings({all.data(), all.data() + 1}, words);
}

std::string refusal(const std::string& word) {
  try {
    read({word});
  } catch (const problem& wrong) {
    return wrong.what();
  }
  return "";
}

TEST(LabSettings, KeyMeansAllThatHaveIt) {
  auto all = read({"total=7", "n=1,10,1"});
  EXPECT_THAT(all["first"]["total"], testing::ElementsAre(7));
  EXPECT_THAT(all["second"]["total"], testing::ElementsAre(7));
  EXPECT_THAT(all["second"]["n"], testing::ElementsAre(1, 10));
  EXPECT_FALSE(all["first"].contains("n"));
}

TEST(LabSettings, NamedExperimentAlone) {
  auto all = read({"first.total=100"});
  EXPECT_THAT(all["first"]["total"], testing::ElementsAre(100));
  EXPECT_TRUE(all["second"].empty());
}

TEST(LabSettings, RefusesInOneLine) {
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
  std::string many = "n=1";
  for (int each = 2; each <= 32; ++each) many += "," + std::to_string(each);
  EXPECT_EQ(refusal(many), "");
  EXPECT_THAT(refusal(many + ",33"), HasSubstr("numbers from 1 to 1000"));
  EXPECT_THAT(refusal("second.total=1,2"), HasSubstr("a number from 1 to 10"));
}

}  // namespace
