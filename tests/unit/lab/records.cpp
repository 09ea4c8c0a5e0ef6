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

TEST(LabCsv, ReadsWhatItWrites) {
  const table written = {{"a", "b"}, {"with, comma", "with \"quotes\""}, {"", "two\nlines"}};
  EXPECT_EQ(as_csv(written), "a,b\n\"with, comma\",\"with \"\"quotes\"\"\"\n,\"two\nlines\"\n");
  EXPECT_EQ(read_csv(as_csv(written)), written);
  EXPECT_EQ(read_csv("a,b"), (table{{"a", "b"}}));
  EXPECT_EQ(read_csv(""), table{});
}

class LabRecord : public testing::Test {
 protected:
  LabRecord() {
    std::string name = testing::TempDir() + "tarn-record-XXXXXX";
    folder_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
    experiment_.name = "none";
    experiment_.forms = {{"pool, mutex", "one", role::ours}};
    sweep n_sweep;
    n_sweep.name = "n";
    experiment_.sweeps = {n_sweep};
    done_.definition = &experiment_;
    done_.forms = experiment_.forms;
    done_.axes = {{5}};
    done_.rows = {{0, 5, "pool, mutex", {1, 2.34567, 3}, {}, {{"calls", {7}}}}};
    done_.judgement = {holds::partly, "so, so"};
  }
  ~LabRecord() override { std::filesystem::remove_all(folder_); }

  std::string keep() {
    return record(folder_, {done_}, {{"date", "2026-11-21 16:00 UTC"}, {"cpu", "A (B) C"}, {"cores", "2"}}, false);
  }

  std::string folder_;
  experiment experiment_;
  result done_;
};

TEST_F(LabRecord, KeepsAllOfARun) {
  const std::string folder = keep();
  EXPECT_EQ(folder, folder_ + "/a-b-c-2-cores/2026-11-21");
  const kept_run kept = read_record(folder);
  EXPECT_THAT(kept.machine, testing::Contains(Pair("kind of run", "full")));
  EXPECT_THAT(kept.verdicts, ElementsAre(Pair("none", "partly")));
  ASSERT_EQ(kept.figures.size(), 2);
  EXPECT_EQ(kept.figures[0].form, "pool, mutex");
  EXPECT_EQ(kept.figures[0].role, "ours");
  EXPECT_EQ(kept.figures[0].measure, "ns");
  EXPECT_EQ(kept.figures[0].values.median, 2.3457) << "five digits";
  EXPECT_EQ(kept.figures[0].values.low, 1.6728);
  EXPECT_EQ(kept.figures[1].measure, "calls");
}

TEST_F(LabRecord, NothingIsOverwritten) {
  keep();
  EXPECT_EQ(keep(), folder_ + "/a-b-c-2-cores/2026-11-21-2");
  EXPECT_EQ(keep(), folder_ + "/a-b-c-2-cores/2026-11-21-3");
}

TEST_F(LabRecord, RefusesWhatIsNone) {
  EXPECT_THROW(read_record(folder_ + "/nowhere"), problem);
  const std::string folder = keep();
  std::ofstream(folder + "/figures.csv") << "experiment\none,two\n";
  EXPECT_THROW(read_record(folder), problem);
  EXPECT_THROW(record("/proc/nowhere", {done_}, {}, false), problem);
}

}  // namespace
