// The parts of `tarn fix` that need no other program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "profiler/base/failure.hpp"
#include "profiler/fix/gain.hpp"
#include "profiler/fix/proposals.hpp"
#include "profiler/fix/tidy.hpp"
#include "profiler/fix/united.hpp"

namespace tarn::fix {
namespace {

using testing::ElementsAre;

TEST(fix, reads_one_proven_edit) {
  const verdict verdict = verdict_of(
      "/src/a.cpp:12:3: warning: 'v' grows in this loop: reserve(7) [tarn-reserve]\n"
      "  for (int i = 0; i < 7; ++i) v.push_back(i);\n  ^\n",
      "tarn-reserve");
  EXPECT_EQ(verdict.level, certainty::proven);
  EXPECT_EQ(verdict.text, "'v' grows in this loop: reserve(7)");
  EXPECT_TRUE(verdict.notes.empty());
}

TEST(fix, reads_the_condition_that_failed_and_its_line) {
  const verdict verdict = verdict_of(
      "/src/a.cpp:12:3: warning: no edit: 'v' is cleared in the loop [tarn-reserve]\n"
      "/src/a.cpp:14:5: note: 'v' is cleared in the loop\n"
      "/src/b.cpp:2:1: warning: unused variable 'note: x' [clang-diagnostic-unused]\n"
      "/src/b.cpp:3:1: note: of another check\n",
      "tarn-reserve");
  EXPECT_EQ(verdict.level, certainty::no_edit);
  EXPECT_EQ(verdict.text, "'v' is cleared in the loop");
  EXPECT_THAT(verdict.notes, ElementsAre("/src/a.cpp:14: 'v' is cleared in the loop"));
}

TEST(fix, a_note_that_several_units_have_is_one) {
  const std::string output =
      "/src/a.hpp:12:3: warning: no edit: 'v' is cleared in the loop [tarn-reserve]\n"
      "/src/a.hpp:14:5: note: 'v' is cleared in the loop\n"
      "/src/a.hpp:15:5: note: an iteration may throw\n";
  EXPECT_THAT(verdict_of(output + output, "tarn-reserve").notes,
              ElementsAre("/src/a.hpp:14: 'v' is cleared in the loop", "/src/a.hpp:15: an iteration may throw"));
}

TEST(fix, of_several_edits_the_least_certain_counts) {
  const std::string refused = "a.cpp:1:1: warning: no edit: x [tarn-reserve]\n";
  const std::string proven = "a.cpp:1:1: warning: y [tarn-reserve]\n";
  const std::string review = "a.cpp:1:1: warning: review: z [tarn-reserve]\n";
  const std::string error = "a.cpp:9:1: error: no type named 't' [clang-diagnostic-error]\n";
  EXPECT_EQ(verdict_of("", "tarn-reserve").level, certainty::silent);
  EXPECT_EQ(verdict_of(proven, "tarn-make-shared").level, certainty::silent);
  EXPECT_EQ(verdict_of(refused + proven, "tarn-reserve").level, certainty::proven);
  EXPECT_EQ(verdict_of(proven + refused, "tarn-reserve").level, certainty::proven);
  EXPECT_EQ(verdict_of(proven + review + proven, "tarn-reserve").text, "z");
  EXPECT_EQ(verdict_of(proven + error + review, "tarn-reserve").level, certainty::failed);
  EXPECT_EQ(verdict_of(proven + error + review, "tarn-reserve").text,
            "clang-tidy cannot compile it: a.cpp:9: no type named 't'");
}

TEST(fix, tells_the_answers_of_one_run_apart) {
  const std::string output =
      "a.cpp:1:1: warning: no edit: x [tarn-hoist.1]\na.cpp:1:1: warning: review: y [tarn-hoist.12,tarn-hoist.3]\n";
  EXPECT_EQ(verdict_of(output, "tarn-hoist.1").level, certainty::no_edit);
  EXPECT_EQ(verdict_of(output, "tarn-hoist.12").level, certainty::review);
  EXPECT_EQ(verdict_of(output, "tarn-hoist.3").level, certainty::review);
  EXPECT_EQ(verdict_of(output, "tarn-hoist.2").level, certainty::silent);
}

TEST(fix, names_files_by_their_whole_paths) {
  EXPECT_EQ(with_whole_paths("../s/a.hpp:4:8: warning: x [c]\n  code: note: x\n/s/b.cpp:1:2: note: y\n", "/b"),
            "/s/a.hpp:4:8: warning: x [c]\n  code: note: x\n/s/b.cpp:1:2: note: y\n");
  EXPECT_EQ(with_paths("  FilePath:        '../s/a.hpp'\n  FilePath: ''\n  Text: 'a'\n",
                       [](const std::string& path) { return "/b/" + path; }),
            "  FilePath:        '/b/../s/a.hpp'\n  FilePath: ''\n  Text: 'a'\n");
}

TEST(fix, of_all_units_a_refusal_counts) {
  const std::string refused = "b.cpp:1:1: warning: no edit: x [tarn-pooled]\n";
  const std::string proven = "a.hpp:7:1: warning: y [tarn-pooled]\n";
  EXPECT_EQ(verdict_of(proven + refused, "tarn-pooled").position, "a.hpp:7");
  EXPECT_EQ(verdict_of(refused + proven, "tarn-pooled", true).level, certainty::no_edit);
  EXPECT_EQ(verdict_of(proven + refused, "tarn-pooled", true).text, "x");
}

TEST(fix, the_least_certain_unit_counts) {
  const verdict proven{certainty::proven, "p", "a.hpp:3", {}, {"a.hpp:3"}}, review{certainty::review, "r"},
      refused{certainty::no_edit, "x"}, failed{certainty::failed, "f"}, silent;
  verdict other_code;
  other_code.other_code = "a.hpp:1";
  EXPECT_EQ(united_verdict({silent, proven, silent}).text, "p") << "a unit without the code does not count";
  EXPECT_THAT(united_verdict({proven, proven}).places, testing::ElementsAre("a.hpp:3"));
  EXPECT_EQ(united_verdict({proven, review}).text, "r");
  EXPECT_EQ(united_verdict({refused, review}).text, "x");
  EXPECT_EQ(united_verdict({failed, refused}).text, "f");
  EXPECT_EQ(united_verdict({refused, failed, proven}).text, "f");
  EXPECT_EQ(united_verdict({other_code}).level, certainty::silent) << "it answers for itself";
  const verdict objection = united_verdict({proven, other_code});
  EXPECT_EQ(objection.level, certainty::no_edit);
  EXPECT_THAT(objection.notes, testing::ElementsAre("a.hpp:1: " + objection.text));
}

TEST(fix, a_unit_may_have_other_code) {
  const std::string output = "a.hpp:1:2: warning: silent: another one [tarn-reserve.4]\n";
  EXPECT_EQ(verdict_of(output, "tarn-reserve.4").level, certainty::silent);
  EXPECT_EQ(verdict_of(output, "tarn-reserve.4").other_code, "a.hpp:1");
  EXPECT_EQ(verdict_of(output, "tarn-reserve.5").other_code, "");
}

TEST(fix, finds_the_units_that_include_a_file) {
  const char* const rules =
      "a.o: \\\n  /s/a.cpp \\\n  /s/x.hpp \\\n  /s/sub/../x.hpp\nb.o: \\\n  /s/b.cpp\nc.o: \\\n  /s/c.cpp /s/x.hpp\n";
  EXPECT_THAT(units_with(rules, "/s/x.hpp"), ElementsAre("/s/a.cpp", "/s/c.cpp"));
  EXPECT_THAT(units_with(rules, "/s/b.cpp"), ElementsAre("/s/b.cpp"));
  EXPECT_TRUE(units_with("", "/s/b.cpp").empty());
}

TEST(fix, reads_the_units_of_a_build) {
  EXPECT_THAT(
      units_of(R"([{"directory": "/b", "file": "../s/a.cpp"}, {"directory": "/b", "file": "/s/./b.cpp"}])", "f"),
      ElementsAre(unit{"/s/a.cpp", "/b"}, unit{"/s/b.cpp", "/b"}));
  for (const char* const text : {"", "[", "{}", "[]", "[3]", R"([{"file": 1}])"}) {
    EXPECT_THROW(units_of(text, "f"), command::failure) << text;
  }
}

TEST(fix, changes_of_neighbouring_lines_fit_together) {
  const std::string text = "a\nb\nc\n";
  const std::string names = "--- a/x.cpp\n+++ b/x.cpp\n";
  const auto united = [&](const std::string& first, const std::string& second) {
    return united_changes(text, {names + first, names + second});
  };
  EXPECT_EQ(united("@@ -1,0 +2 @@\n+first\n", "@@ -1,0 +2 @@\n+second\n"), "a\nfirst\nsecond\nb\nc\n");
  EXPECT_EQ(united("@@ -1 +1,2 @@\n-a\n+A\n+1\n", "@@ -2 +2 @@ f()\n-b\n+B\n"), "A\n1\nB\nc\n") << "neighbours";
  EXPECT_EQ(united("@@ -2,0 +3 @@\n+x\n@@ -3 +4 @@\n-c\n+C\n", "@@ -0,0 +1 @@\n+y\n@@ -2 +3 @@\n-b\n+B\n"),
            "y\na\nB\nx\nC\n");
  EXPECT_EQ(united("@@ -0,0 +1,2 @@\n+\n+#include <x>\n", "@@ -0,0 +1,2 @@\n+\n+#include <x>\n"),
            "\n#include <x>\na\nb\nc\n");
  EXPECT_EQ(united("@@ -3,0 +4 @@\n+end\n", ""), "a\nb\nc\nend\n");
  EXPECT_EQ(united("@@ -1,0 +2 @@\n+first\n", "@@ -1,0 +2,2 @@\n+first\n+second\n"), std::nullopt);
  EXPECT_EQ(united("@@ -1,2 +1 @@\n-a\n-b\n+A\n", "@@ -2 +2 @@\n-b\n+B\n"), std::nullopt) << "the same line";
  EXPECT_EQ(united("@@ -1,2 +1 @@\n-a\n-b\n+A\n", "@@ -1,0 +2 @@\n+x\n"), std::nullopt) << "between two of them";
  EXPECT_EQ(united("@@ -1 +1 @@\n-b\n+A\n", ""), std::nullopt) << "not of this text";
  EXPECT_EQ(united("@@ -3 +3 @@\n-c\n+C\n\\ No newline at end of file\n", ""), std::nullopt);
}

TEST(fix, tells_a_constructor_that_copies) {
  EXPECT_TRUE(is_copy_constructor("entry::entry(entry const&)"));
  EXPECT_TRUE(is_copy_constructor("a::b::entry::entry(a::b::entry const&)"));
  EXPECT_FALSE(is_copy_constructor("entry::entry(table const&)"));
  EXPECT_FALSE(is_copy_constructor("entry::entry(entry const&, int)"));
  EXPECT_FALSE(is_copy_constructor("entry::compare(entry const&)"));
  EXPECT_FALSE(is_copy_constructor("entry(entry const&)"));
}

TEST(fix, tells_counts_that_are_allocated_alone) {
  const std::string counts = "std::__shared_count<(__gnu_cxx::_Lock_policy)2>::__shared_count";
  EXPECT_TRUE(allocates_counts_alone(counts + "<token*>(token*)"));
  EXPECT_TRUE(allocates_counts_alone(counts + "<token*>(token*, std::integral_constant<bool, false>)"));
  EXPECT_TRUE(allocates_counts_alone("__shared_count<(anonymous namespace)::token*>"));
  EXPECT_TRUE(allocates_counts_alone(counts + "<table<int, int>*>(table<int, int>*)"));
  EXPECT_FALSE(allocates_counts_alone("__shared_count<(anonymous namespace)::token, std::allocator<void>, int*>"));
  // std::make_shared, std::allocate_shared; a unique_ptr that is taken over has no check.
  EXPECT_FALSE(allocates_counts_alone(counts + "<token, std::allocator<void>, int&>(token*&, " +
                                      "std::_Sp_alloc_shared_tag<std::allocator<void> >, int&)"));
  EXPECT_FALSE(allocates_counts_alone("std::shared_ptr<token>::shared_ptr<token, void>(token*)"));
}

TEST(fix, ranks_are_tested_exactly) {
  EXPECT_DOUBLE_EQ(rank_test({6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}), 1.0 / 252) << "one order of 252";
  EXPECT_DOUBLE_EQ(rank_test({5, 7, 8, 9, 10}, {1, 2, 3, 4, 6}), 2.0 / 252);
  EXPECT_DOUBLE_EQ(rank_test({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}), 1);
  EXPECT_DOUBLE_EQ(rank_test({1}, {1}), 0.5) << "half a pair";
  EXPECT_DOUBLE_EQ(rank_test({2, 4}, {1, 3}), 2.0 / 6) << "of the orders, two have at most one pair";
}

TEST(fix, a_gain_is_more_than_noise) {
  const gain clear = gain_of({10, 10.1, 10.2, 10.1, 10}, {9, 9.1, 9, 9.2, 9}, 0.1);
  EXPECT_EQ(clear.outcome, effect::likely_gain) << "of fifty patches without an effect, some would have such runs";
  EXPECT_NEAR(clear.saved_share, 0.1, 0.01);
  EXPECT_EQ(clear.text,
            "median 10.0 % of CPU time saved (pairs: 8.9 to 11.8 %), 5 interleaved pairs, rank test p = 0.004");
  EXPECT_EQ(gain_of({10, 10.1, 10.2, 10.1, 10, 10, 10.2}, {9, 9.1, 9, 9.2, 9, 9.1, 9.2}, 0.1).outcome, effect::gain);
  const gain unchanged = gain_of({10, 10.1, 10.2, 10.1, 10}, {10.1, 10, 10.1, 10.2, 10}, 0.1);
  EXPECT_EQ(unchanged.outcome, effect::no_gain) << "a tenth would have been seen";
  EXPECT_EQ(gain_of({10, 10.1, 10.2, 10.1, 10}, {10.1, 10, 10.1, 10.2, 10}, 0.01).outcome, effect::unclear);
}

TEST(fix, a_loss_is_no_noise) {
  const gain clear = gain_of({1, 1, 1, 1, 1}, {2.3, 2.2, 2.5, 2.3, 2.4}, 0.1);
  EXPECT_EQ(clear.outcome, effect::loss) << "however much the runs differ from the prediction";
  EXPECT_EQ(clear.text, "median 2.3 times the CPU time (pairs: 2.2 to 2.5), 5 interleaved pairs, rank test p = 0.004");
  const gain small = gain_of({10, 10.1, 10.2, 10.1, 10}, {11, 11.1, 11.2, 11.1, 11.2}, 0.01);
  EXPECT_EQ(small.outcome, effect::loss);
  EXPECT_EQ(small.text, "median 9.9 % more CPU time (pairs: 9.8 to 12.0 %), 5 interleaved pairs, rank test p = 0.004");
  EXPECT_LT(small.saved_share, 0);
}

TEST(fix, pairs_that_all_agree_are_no_noise) {
  // Other work slows down later runs: the ranks overlap, but no pair contradicts another one.
  EXPECT_EQ(gain_of({10, 12, 14, 16, 18}, {9, 11, 13, 14, 17}, 0.01).outcome, effect::likely_gain);
  EXPECT_EQ(gain_of({9, 11, 13, 14, 17}, {10, 12, 14, 16, 18}, 0.01).outcome, effect::no_gain) << "a loss, perhaps";
  EXPECT_EQ(gain_of({10, 12, 14, 16, 18, 10, 12, 14, 16, 18}, {6, 8, 9, 10, 11, 6, 8, 9, 10, 11}, 0.01).outcome,
            effect::gain)
      << "more of such runs show it";
}

TEST(fix, one_disturbed_run_asks_for_more_runs) {
  const gain likely = gain_of({10, 10.1, 10.2, 10.3, 10.4}, {9, 9.1, 9.2, 9.3, 10.05}, 0.01);
  EXPECT_EQ(likely.outcome, effect::likely_gain);
  EXPECT_THAT(likely.text, testing::HasSubstr("p = 0.008"));
}

TEST(fix, equal_gains_are_in_the_order_of_their_places) {
  const auto proposal_at = [](const char* file, int line, const char* remedy, double saved_ns) {
    proposal result;
    result.location.file = file;
    result.location.line = line;
    result.remedy = remedy;
    result.saved_ns = {saved_ns, saved_ns};
    return result;
  };
  const std::vector<proposal> ordered = {proposal_at("b.cpp", 9, "move", 2), proposal_at("a.cpp", 7, "reserve", 1),
                                         proposal_at("a.cpp", 10, "move", 1), proposal_at("a.cpp", 10, "reserve", 1),
                                         proposal_at("b.cpp", 1, "hoist", 1)};
  for (std::size_t first = 0; first < ordered.size(); ++first) {
    for (std::size_t second = 0; second < ordered.size(); ++second)
      EXPECT_EQ(saves_more_than(ordered[first], ordered[second]), first < second) << first << ' ' << second;
  }
}

}  // namespace
}  // namespace tarn::fix
