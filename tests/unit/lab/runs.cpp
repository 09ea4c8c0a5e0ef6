// Tests how experiments run, on a script as the program, which can do things that our programs never should.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "profiler/lab/run.hpp"

namespace {

using namespace tarn::lab;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class lab_run : public testing::Test {
 protected:
  lab_run() {
    std::string name = testing::TempDir() + "tarn-lab-XXXXXX";
    folder_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
    experiment_.name = experiment_.program = "script";
    experiment_.forms = {{"old", "old", role::original}, {"new", "new", role::ours}};
    experiment_.parameters = {{"total", "", {40}, {4}, 1, 100}};
    sweep n_sweep;
    n_sweep.name = "n";
    n_sweep.axis = {"n", "", {1, 2}, {1}, 1, 1000, true};
    experiment_.sweeps = {n_sweep};
    experiment_.judge = [](const result&) { return verdict{claim_outcome::yes, "judged"}; };
  }
  ~lab_run() override { std::filesystem::remove_all(folder_); }

  // `body` is the script's work for a form, which is $1; the keys follow.
  void program_does(const std::string& body) const {
    const std::string path = folder_ + "/lab-script";
    std::ofstream(path) << "#!/bin/sh\n[ \"$1\" != --forms ] || { printf 'old\\nnew\\n'; exit; }\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  result run_it(const request& settings) const {
    return run(experiment_, settings, {folder_, folder_}, [](const std::string&) {});
  }
  result run_it(std::uint64_t rounds = 1) const {
    request settings;
    settings.rounds = rounds;
    return run_it(settings);
  }

  // Returns the arguments of each call of the program.
  void program_notes_its_text() const {
    program_does("echo \"$@\" >> \"$(dirname \"$0\")/told\"; " + std::string(answer));
  }
  std::vector<std::string> noted_calls() const {
    std::ifstream file(folder_ + "/told");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  static constexpr const char* answer =
      R"(echo '{"units": 10, "ns": 70, "processor_ns": 50, "checksum": "1", "malloc": "", "counts": {"calls": 3}}')";

  std::string folder_;
  experiment experiment_;
};

TEST_F(lab_run, each_form_runs_at_each_position_in_each_round) {
  program_does(answer);
  const result measurement = run_it(3);
  EXPECT_EQ(measurement.failure, "");
  EXPECT_EQ(measurement.rows.size(), 4);
  EXPECT_THAT(measurement.rows.front().ns, ElementsAre(7, 7, 7));
  EXPECT_THAT(measurement.rows.front().processor_ns, ElementsAre(5, 5, 5));
  EXPECT_GT(measurement.seconds, 0);
  EXPECT_THAT(measurement.rows.front().counts.at("calls"), ElementsAre(3, 3, 3));
  EXPECT_EQ(measurement.judgement.text, "judged");
}

TEST_F(lab_run, the_program_gets_the_numbers_and_each_round_begins_with_another_form) {
  program_notes_its_text();
  run_it(2);
  EXPECT_THAT(noted_calls(),
              ElementsAre("old n=1 total=40", "new n=1 total=40", "old n=2 total=40", "new n=2 total=40",
                          "new n=1 total=40", "old n=1 total=40", "new n=2 total=40", "old n=2 total=40"));
}

TEST_F(lab_run, a_quick_run_has_other_numbers_and_fewer_rounds) {
  program_notes_its_text();
  experiment_.quick_rounds = 2;
  request settings;
  settings.is_quick = true;
  settings.set["total"] = {9};
  EXPECT_EQ(run_it(settings).rounds, 2);
  EXPECT_THAT(noted_calls(), ElementsAre("old n=1 total=9", "new n=1 total=9", "new n=1 total=9", "old n=1 total=9"));
}

TEST_F(lab_run, a_sweep_decides_the_arguments_of_its_program) {
  program_notes_its_text();
  experiment_.forms.pop_back();
  experiment_.forms.front().settings = {"fast"};
  experiment_.parameters.push_back({"other", "", {7}, {7}, 1, 100});
  sweep& only_sweep = experiment_.sweeps.front();
  only_sweep.fixed = {{"fixed", 3}};
  only_sweep.adjust = [](numbers& of_program, std::uint64_t x) { of_program["total"] /= x; };
  only_sweep.parameters = {"total"};
  run_it();
  EXPECT_THAT(noted_calls(), ElementsAre("old fixed=3 n=1 total=40 fast", "old fixed=3 n=2 total=20 fast"));
}

TEST_F(lab_run, a_sweep_runs_only_its_own_forms) {
  program_does(answer);
  experiment_.sweeps.front().only = {"new"};
  const result measurement = run_it();
  EXPECT_EQ(measurement.rows.size(), 2);
  EXPECT_EQ(measurement.find(0, "old", 1), nullptr);
}

TEST_F(lab_run, positions_with_more_cores_than_the_process_may_use_are_left_out) {
  program_does(answer);
  experiment_.sweeps.front().is_of_cores = true;
  experiment_.sweeps.front().axis.usual = {1, 1'000'000};
  const result measurement = run_it();
  EXPECT_THAT(measurement.skipped, ElementsAre(HasSubstr("n 1000000 is skipped: this process may use ")));
  EXPECT_THAT(measurement.axes.front(), ElementsAre(1));
}

TEST_F(lab_run, the_file_is_made_before_the_run_and_removed_after_it) {
  program_does(std::string("for word; do case $word in file=*) file=${word#file=} ;; esac; done\n") +
               "[ $1 = make ] && echo words > $file\n" +
               "echo \"$1 $file $(cat $file)\" >> \"$(dirname \"$0\")/told\"\n" + answer);
  experiment_.makes_file = true;
  experiment_.forms.pop_back();
  EXPECT_EQ(run_it().failure, "");
  const std::vector<std::string> lines = noted_calls();
  ASSERT_EQ(lines.size(), 3);
  const std::string file = lines[0].substr(5, lines[0].rfind(' ') - 5);
  EXPECT_THAT(lines, ElementsAre("make " + file + " words", "old " + file + " words", "old " + file + " words"));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(file).parent_path())) << file;
}

TEST_F(lab_run, a_form_with_another_checksum_ends_the_run) {
  program_does(std::string("[ $1 = old ] && ") + answer + " || " +
               R"(echo '{"units": 10, "ns": 70, "processor_ns": 50, "checksum": "2"}')");
  const result measurement = run_it();
  EXPECT_EQ(measurement.failure, "new at n 1 did other work than old at n 1: checksum 2 instead of 1");
  EXPECT_EQ(measurement.judgement.text, "");
}

TEST_F(lab_run, a_form_that_cannot_run_is_left_out_and_the_others_run) {
  program_does(std::string("[ $1 = old ] && { echo no permission >&2; exit 3; }; ") + answer);
  const result measurement = run_it(2);
  EXPECT_EQ(measurement.failure, "");
  EXPECT_THAT(measurement.skipped,
              ElementsAre("old at n 1 is left out: no permission", "old at n 2 is left out: no permission"));
  EXPECT_EQ(measurement.rows.size(), 2);
}

TEST_F(lab_run, a_form_that_cannot_run_at_one_position_runs_at_the_other) {
  program_does(std::string("[ $2 = n=2 ] && { echo no room >&2; exit 3; }; ") + answer);
  experiment_.forms.pop_back();
  const result measurement = run_it(2);
  EXPECT_THAT(measurement.skipped, ElementsAre("old at n 2 is left out: no room"));
  EXPECT_THAT(measurement.rows.at(0).ns, ElementsAre(7, 7));
}

TEST_F(lab_run, an_exact_sweep_is_measured_once) {
  program_does(answer);
  experiment_.sweeps[0].is_exact = true;
  EXPECT_THAT(run_it(3).rows.at(0).ns, ElementsAre(7));
}

TEST_F(lab_run, crashes_and_errors_end_the_run_with_one_line) {
  program_does("kill -ABRT $$");
  EXPECT_THAT(run_it().failure, HasSubstr("old at n 1: ended by signal 6"));
  program_does("echo first >&2; echo bad key >&2; exit 2");
  EXPECT_EQ(run_it().failure, "old at n 1: exit 2: bad key");
  program_does("echo nonsense");
  EXPECT_EQ(run_it().failure, "old at n 1: what it printed is no result");
  program_does(R"(echo '{"units": 0, "ns": 1}')");
  EXPECT_EQ(run_it().failure, "old at n 1: what it printed is no result");
}

TEST_F(lab_run, an_experiment_without_what_it_needs_is_skipped) {
  const std::string path = folder_ + "/lab-script";
  std::ofstream(path) << "#!/bin/sh\necho 'lab-script: no wrk (Debian package wrk)' >&2\nexit 3\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const result measurement = run_it();
  EXPECT_EQ(measurement.failure, "");
  EXPECT_THAT(measurement.skipped, ElementsAre("it is skipped: lab-script: no wrk (Debian package wrk)"));
  EXPECT_EQ(measurement.judgement.outcome, claim_outcome::unknown);
  EXPECT_EQ(measurement.judgement.text, "It was not run.");
}

TEST_F(lab_run, a_missing_program_is_a_failure) {
  EXPECT_THAT(run_it().failure, HasSubstr("lab-script cannot be run"));
}

TEST_F(lab_run, missing_peers_are_named) {
  program_does(answer);
  experiment_.forms.push_back({"other", "other", role::peer, {}, "libother-dev"});
  experiment_.forms.push_back({"loaded", "old", role::peer, "libnowhere.so.9", "libnowhere9"});
  experiment_.forms.push_back({"ours", "old", role::ours, drop_in});
  const result measurement = run_it();
  EXPECT_EQ(measurement.failure, "");
  EXPECT_THAT(measurement.skipped, ElementsAre("other is skipped: this build has it not (Debian package libother-dev)",
                                               "loaded is skipped: no libnowhere.so.9 (Debian package libnowhere9)",
                                               "ours is skipped: no " + folder_ + "/libtarn-malloc.so"));
}

TEST_F(lab_run, a_preload_without_effect_is_no_measurement) {
  program_does("echo $1 $LD_PRELOAD $MORE >> \"$(dirname \"$0\")/told\"; " + std::string(answer));
  std::ofstream(folder_ + "/libtarn-malloc.so") << "no library";
  experiment_.forms.push_back({"ours", "old", role::ours, drop_in, {}, {"MORE=1"}});
  const result measurement = run_it();
  EXPECT_THAT(noted_calls(), ElementsAre("old", "new", "old " + folder_ + "/libtarn-malloc.so 1", "old", "new",
                                         "old " + folder_ + "/libtarn-malloc.so 1"));
  EXPECT_FALSE(measurement.rows.empty());
  EXPECT_EQ(measurement.find(0, "ours", 1), nullptr);
  EXPECT_THAT(measurement.skipped.at(0), HasSubstr("ours at n 1 is left out: malloc comes from "));
}

TEST_F(lab_run, an_experiment_without_any_form_is_a_failure) {
  program_does(answer);
  experiment_.forms = {{"other", "other"}};
  EXPECT_EQ(run_it().failure, "no form of it is there");
}

// The table of experiments: the description of each must be complete.
TEST(lab_table, each_experiment_is_described_completely) {
  for (const experiment& tested : experiments()) {
    SCOPED_TRACE(tested.name);
    EXPECT_FALSE(tested.claim.empty() || tested.source.empty() || tested.claimed.empty() || tested.why.empty() ||
                 tested.unit.empty());
    EXPECT_NE(tested.judge, nullptr);
    EXPECT_FALSE(tested.sweeps.empty() || tested.forms.empty());
    std::vector<parameter> parameters = tested.parameters;
    for (const sweep& entry : tested.sweeps) {
      EXPECT_EQ(entry.name, entry.axis.name);
      EXPECT_TRUE(entry.axis.is_list);
      EXPECT_FALSE(entry.title.empty() || entry.x_label.empty() || entry.y_label.empty());
      parameters.push_back(entry.axis);
    }
    for (const parameter& entry : parameters) {
      SCOPED_TRACE(entry.name);
      EXPECT_FALSE(entry.description.empty() || entry.usual.empty() || entry.quick.empty());
      EXPECT_THAT(entry.usual, testing::Each(testing::AllOf(testing::Ge(entry.minimum), testing::Le(entry.maximum))));
      EXPECT_THAT(entry.quick, testing::Each(testing::AllOf(testing::Ge(entry.minimum), testing::Le(entry.maximum))));
    }
    result nothing;  // no judge may assume that a value exists
    nothing.definition = &tested;
    for (const sweep& entry : tested.sweeps) nothing.axes.push_back(entry.axis.usual);
    EXPECT_EQ(tested.judge(nothing).outcome, claim_outcome::unknown);
  }
}

}  // namespace
