// Tests the counts in the output of other tools.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiler/lab/count.hpp"
#include "profiler/lab/process.hpp"

namespace {

using namespace tarn::lab;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(lab_count, the_count_of_valgrind_is_read) {
  EXPECT_THAT(
      read_heap_summary("==7== HEAP SUMMARY:\n==7==     in use at exit: 18 bytes in 1 blocks\n"
                        "==7==   total heap usage: 560,687 allocs, 560,249 frees, 10,079,622 bytes allocated\n"),
      ElementsAre(Pair("allocations", 560687), Pair("bytes", 10079622), Pair("frees", 560249)));
  EXPECT_THAT(read_heap_summary("==7== Command: x\n"), IsEmpty());
}

TEST(lab_count, the_counts_of_strace_are_read) {
  EXPECT_THAT(read_call_summary("% time     seconds  usecs/call     calls    errors syscall\n"
                                "------ ----------- ----------- --------- --------- ----------------\n"
                                " 50.00    0.000100           1        77         1 read\n"
                                "------ ----------- ----------- --------- --------- ----------------\n"
                                "100.00    0.000200           1       129         2 total\n"),
              ElementsAre(Pair("system calls", 129)));
  EXPECT_THAT(read_call_summary("strace: no permission\n"), IsEmpty());
}

TEST(lab_process, its_result_says_how_it_ended) {
  EXPECT_EQ(run_program({"/nowhere/at/all"}, {}, std::chrono::seconds(10)).code, 127);
  const process_result process =
      run_program({"sh", "-c", "echo $TOLD; echo a >&2; echo b >&2; exit 7"}, {"TOLD=here"}, std::chrono::seconds(10));
  EXPECT_EQ(process.code, 7);
  EXPECT_EQ(process.output, "here\n");
  EXPECT_EQ(last_line(process.errors), "b");
  EXPECT_EQ(run_program({"sh", "-c", "kill -SEGV $$"}, {}, std::chrono::seconds(10)).code, 139);
}

TEST(lab_process, tuning_variables_do_not_reach_it) {
  ASSERT_EQ(::setenv("MALLOC_CONF", "tuned", 1), 0);
  const process_result process = run_program({"sh", "-c", "echo \"<$MALLOC_CONF>\""}, {}, std::chrono::seconds(10));
  ::unsetenv("MALLOC_CONF");
  EXPECT_EQ(process.output, "<>\n");
}

TEST(lab_process, a_process_past_its_time_limit_is_ended) {
  const process_result process = run_program({"sh", "-c", "exec sleep 100"}, {}, std::chrono::seconds(1));
  EXPECT_TRUE(process.is_late);
  EXPECT_EQ(process.code, 137);
}

}  // namespace
