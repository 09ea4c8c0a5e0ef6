// Tests the runs that are kept.
#include "profiler/lab/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "profiler/lab/run.hpp"

namespace {

using namespace tarn::lab;
using testing::ElementsAre;
using testing::Pair;

TEST(lab_csv, what_is_written_is_read_back) {
  const table written = {{"a", "b"}, {"with, comma", "with \"quotes\""}, {"", "two\nlines"}};
  EXPECT_EQ(as_csv(written), "a,b\n\"with, comma\",\"with \"\"quotes\"\"\"\n,\"two\nlines\"\n");
  EXPECT_EQ(read_csv(as_csv(written)), written);
  EXPECT_EQ(read_csv("a,b"), (table{{"a", "b"}}));
  EXPECT_EQ(read_csv(""), table{});
}

class lab_record : public testing::Test {
 protected:
  lab_record() {
    std::string name = testing::TempDir() + "tarn-record-XXXXXX";
    folder_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
    experiment_.name = "none";
    experiment_.forms = {{"pool, mutex", "one", role::ours}};
    sweep n_sweep;
    n_sweep.name = "n";
    experiment_.sweeps = {n_sweep};
    result_.definition = &experiment_;
    result_.forms = experiment_.forms;
    result_.axes = {{5}};
    result_.rows = {{0, 5, "pool, mutex", {1, 2.34567, 3}, {}, {{"calls", {7}}}}};
    result_.judgement = {claim_outcome::partly, "so, so"};
  }
  ~lab_record() override { std::filesystem::remove_all(folder_); }

  std::string keep() {
    return record(folder_, {result_}, {{"date", "2026-11-21 16:00 UTC"}, {"cpu", "A (B) C"}, {"cores", "2"}}, false);
  }

  std::string folder_;
  experiment experiment_;
  result result_;
};

TEST_F(lab_record, a_record_has_all_of_a_run) {
  const std::string folder = keep();
  EXPECT_EQ(folder, folder_ + "/a-b-c-2-cores/2026-11-21");
  const kept_run stored = read_record(folder);
  EXPECT_THAT(stored.machine, testing::Contains(Pair("kind of run", "full")));
  EXPECT_THAT(stored.verdicts, ElementsAre(Pair("none", "partly")));
  ASSERT_EQ(stored.figures.size(), 2);
  EXPECT_EQ(stored.figures[0].form, "pool, mutex");
  EXPECT_EQ(stored.figures[0].role, "ours");
  EXPECT_EQ(stored.figures[0].measure, "ns");
  EXPECT_EQ(stored.figures[0].values.median, 2.3457) << "five digits";
  EXPECT_EQ(stored.figures[0].values.low, 1.6728);
  EXPECT_EQ(stored.figures[1].measure, "calls");
}

TEST_F(lab_record, an_earlier_record_is_not_overwritten) {
  keep();
  EXPECT_EQ(keep(), folder_ + "/a-b-c-2-cores/2026-11-21-2");
  EXPECT_EQ(keep(), folder_ + "/a-b-c-2-cores/2026-11-21-3");
}

TEST_F(lab_record, a_folder_that_is_no_record_is_refused) {
  EXPECT_THROW(read_record(folder_ + "/nowhere"), problem);
  const std::string folder = keep();
  std::ofstream(folder + "/figures.csv") << "experiment\none,two\n";
  EXPECT_THROW(read_record(folder), problem);
  EXPECT_THROW(record("/proc/nowhere", {result_}, {}, false), problem);
}

}  // namespace
