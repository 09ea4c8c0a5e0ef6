// Tests which system calls a report names, and with which remedy.
#include "profiler/findings/waits/system_calls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/syscall.h>

#include <cmath>

#include "profiler/findings/waits/call_names.hpp"

namespace tarn::analyse {
namespace {

using format::call_counts;
using testing::HasSubstr;

// The numbers are those of x86-64, as in the recorder.
constexpr std::uint32_t read_number = 0, write_number = 1, poll_number = 7, munmap_number = 11,
                        rt_sigaction_number = 13, rt_sigprocmask_number = 14, sendfile_number = 40, sendto_number = 44,
                        recvfrom_number = 45, recvmsg_number = 47, wait4_number = 61, fsync_number = 74,
                        openat_number = 257, newfstatat_number = 262;

format::recording recording_with(std::uint32_t number, std::uint64_t calls, call_counts counts = {}) {
  format::recording recording;
  recording.threads.resize(2);
  recording.sites.resize(2);
  counts[format::calls] = calls;
  recording.calls[{1, 0, number}] = counts;
  recording.clock = {2, 1};
  return recording;
}
call_site only_site(const format::recording& recording) {
  const call_findings findings = find_calls(recording);
  EXPECT_EQ(findings.sites.size(), 1U);
  return findings.sites.front();
}
call_counts counts_of(std::initializer_list<std::pair<format::call_counter, std::uint64_t>> pair) {
  call_counts result{};
  for (const auto& [counter, value] : pair) result[counter] = value;
  return result;
}

TEST(syscalls, sums_are_over_threads_and_times_in_nanoseconds) {
  format::recording recording =
      recording_with(write_number, 3, counts_of({{format::call_ticks, 10}, {format::errors, 1}}));
  recording.calls[{1, 1, write_number}] = counts_of({{format::calls, 4}, {format::call_ticks, 30}});
  recording.calls[{0, 1, write_number}] = counts_of({{format::calls, 1}});
  const call_findings findings = find_calls(recording);
  EXPECT_EQ(findings.calls, 8U);
  EXPECT_EQ(findings.nanoseconds, 20U);
  ASSERT_EQ(findings.sites.size(), 2U);
  EXPECT_EQ(findings.sites[0].sums[format::calls], 7U);
  EXPECT_EQ(findings.sites[0].threads, 2U);
  EXPECT_EQ(findings.sites[0].name, "write");
  EXPECT_EQ(findings.sites[1].site, 0U);
}

TEST(syscalls, errors_of_estimates_add_up_within_a_thread_and_cancel_between_threads) {
  const auto estimate = [](std::uint64_t calls, std::uint64_t spread) {
    return counts_of({{format::calls, calls}, {format::call_spread, spread}});
  };
  EXPECT_EQ(only_site(recording_with(read_number, 100)).error, 0);
  EXPECT_NEAR(only_site(recording_with(read_number, 100, estimate(100, 25))).error, 1.96 * 5 / 100, 1e-9);
  format::recording recording = recording_with(read_number, 100, estimate(100, 9));
  recording.calls[{1, 1, read_number}] = estimate(100, 16);
  EXPECT_NEAR(only_site(recording).error, 1.96 * 5 / 200, 1e-9);
  recording.calls[{1, 0, write_number}] = estimate(200, 25);
  const double largest_block = 16.0 / 100;  // one more may have been missed
  EXPECT_NEAR(find_calls(recording).error, 1.96 * std::hypot(3 + 5, 4, largest_block) / 400, 1e-9);
}

TEST(syscalls, counts_of_a_sampled_thread_are_no_exact_totals) {
  format::recording recording = recording_with(write_number, 10'000, counts_of({{format::call_spread, 10'000 * 99}}));
  recording.calls[{0, 0, fsync_number}] = counts_of({{format::calls, 4}});
  recording.calls[{0, 1, openat_number}] = counts_of({{format::calls, 5}});
  recording.has_ended = true;
  recording.end.writes = 10'000;
  const call_findings findings = find_calls(reconcile_calls(recording));
  ASSERT_EQ(findings.sites.size(), 3U);
  EXPECT_NEAR(findings.sites[0].error, 1.96 * 99 / 10'000, 1e-9)
      << "a block of other sites may be in the kernel's count";
  EXPECT_FALSE(findings.sites[0].is_lower_bound);
  EXPECT_EQ(findings.sites[1].name, "openat");
  EXPECT_FALSE(findings.sites[1].is_lower_bound) << "all calls of its thread were counted";
  EXPECT_TRUE(findings.sites[2].is_lower_bound);
  EXPECT_NEAR(findings.error, 1.96 * 99 / 10'009, 1e-9) << "a block of 99 calls may have been missed";
}

TEST(syscalls, estimates_are_scaled_to_what_the_kernel_counted) {
  format::recording recording =
      recording_with(read_number, 0, counts_of({{format::requested_bytes, 9000}, {format::call_spread, 90'000}}));
  recording.calls[{1, 0, read_number}][format::calls] = 9000;
  recording.calls[{1, 1, write_number}] = counts_of({{format::calls, 100}});
  recording.has_ended = true;
  recording.end.reads = 10'000;
  recording.end.writes = 117;  // also of the loader
  call_findings findings = find_calls(reconcile_calls(recording));
  ASSERT_EQ(findings.sites.size(), 2U);
  EXPECT_EQ(findings.sites[0].sums[format::calls], 10'000U);
  EXPECT_EQ(findings.sites[0].sums[format::requested_bytes], 10'000U) << "all figures of a call";
  EXPECT_NEAR(findings.sites[0].error, 1.96 * (10 / 0.9) / 10'000, 1e-8)
      << "a site without a sample may have a block of what the kernel counted";
  EXPECT_EQ(findings.sites[1].sums[format::calls], 100U) << "these were all counted";

  recording.calls[{0, 1, read_number}] = counts_of({{format::calls, 900}, {format::call_spread, 9000}});
  recording.sites.resize(3);
  findings = find_calls(reconcile_calls(recording));
  EXPECT_EQ(findings.sites[0].sums[format::calls] + findings.sites[1].sums[format::calls], 10'000U);
  EXPECT_GT(findings.sites[1].error, 0) << "how much of it each site has is still an estimate";

  recording.end.reads = 11'500;
  EXPECT_EQ(find_calls(reconcile_calls(recording)).calls, 10'000U) << "not by chance: not all were recorded";
  recording.end.reads = 10'000;
  recording.part = {1, 2};
  EXPECT_EQ(find_calls(reconcile_calls(recording)).calls, 10'000U) << "the kernel's count is of the whole run";
  recording.part = {};
  ASSERT_EQ(find_calls(reconcile_calls(recording)).calls, 10'100U);
  recording.unrecorded.forks = 1;
  EXPECT_EQ(find_calls(reconcile_calls(recording)).calls, 10'000U) << "it may include those of the child";
  recording.unrecorded.forks = 0;
  for (const std::uint32_t number : {sendfile_number, wait4_number}) {
    format::recording with_other = recording;
    with_other.calls[{1, 1, number}] = counts_of({{format::calls, 1}});
    EXPECT_EQ(find_calls(reconcile_calls(with_other)).calls, 10'001U) << "the kernel's count is of other calls, too";
  }
}

TEST(syscalls, counts_of_many_threads_are_scaled_to_the_exact_sum) {
  constexpr std::uint32_t threads = 600;
  format::recording recording = recording_with(read_number, 0);
  recording.threads.resize(threads + 1);
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    recording.calls[{1, thread, read_number}] =
        counts_of({{format::calls, 10}, {format::errors, 10}, {format::call_spread, 90}});
  }
  recording.has_ended = true;
  recording.end.reads = threads * 10 - 200;
  const call_site site = only_site(reconcile_calls(recording));
  EXPECT_EQ(site.sums[format::calls], threads * 10 - 200);
  EXPECT_EQ(site.sums[format::errors], site.sums[format::calls]) << "all figures of a call";
}

TEST(syscalls, a_thread_is_inside_the_kernel_no_longer_than_the_run) {
  format::recording recording = recording_with(poll_number, 30, counts_of({{format::call_ticks, 6000}}));
  recording.calls[{1, 1, read_number}] = counts_of({{format::calls, 1}, {format::call_ticks, 100}});
  recording.has_ended = true;
  recording.end.wall_us = 2;
  const call_findings findings = find_calls(reconcile_calls(recording));
  ASSERT_EQ(findings.sites.size(), 2U);
  EXPECT_EQ(findings.sites[0].nanoseconds, 2000U) << "3,000 by the samples of its first thread";
  EXPECT_EQ(findings.sites[1].nanoseconds, 50U) << "the other thread's";
  EXPECT_EQ(findings.nanoseconds, 2050U);
}

TEST(syscalls, a_measured_wait_is_not_shortened_for_an_estimated_one) {
  format::recording recording = recording_with(poll_number, 30, counts_of({{format::call_ticks, 3000}}));
  recording.calls[{0, 0, read_number}] =
      counts_of({{format::calls, 100}, {format::call_ticks, 6000}, {format::call_spread, 9900}});
  recording.has_ended = true;
  recording.end.wall_us = 2;
  const call_findings findings = find_calls(reconcile_calls(recording));
  ASSERT_EQ(findings.sites.size(), 2U);
  EXPECT_EQ(findings.sites[0].sums[format::calls], 100U) << "how many the kernel counted is not known";
  EXPECT_EQ(findings.sites[0].nanoseconds, 500U) << "what the run leaves";
  EXPECT_EQ(findings.sites[1].nanoseconds, 1500U);
}

TEST(syscalls, many_that_move_little_want_a_buffer) {
  const auto counts = counts_of({{format::requested_bytes, 20'000}, {format::returned_bytes, 20'000}});
  EXPECT_EQ(only_site(recording_with(read_number, 2000, counts)).category, call_category::small);
  EXPECT_THAT(only_site(recording_with(read_number, 2000, counts)).remedy, HasSubstr("tarn::io::reader"));
  EXPECT_THAT(only_site(recording_with(write_number, 2000, counts)).remedy, HasSubstr("tarn::io::writer"));
  EXPECT_THAT(only_site(recording_with(write_number, 2000, counts)).remedy, HasSubstr("with one writev"));
  EXPECT_EQ(only_site(recording_with(write_number, 999, counts)).remedy, "");
  EXPECT_EQ(only_site(recording_with(write_number, 2000, counts_of({{format::requested_bytes, 2000 * 4096}}))).category,
            call_category::needed);
}

TEST(syscalls, stacks_that_differ_behind_the_caller_are_one_site) {
  format::recording recording = recording_with(read_number, 600, counts_of({{format::requested_bytes, 6000}}));
  recording.modules = {{0, 0x1000, 0x1fff, 0, "/lib/libc.so.6", ""}, {0, 0x2000, 0x3000, 0, "/home/program", ""}};
  recording.sites = {{}, {0, {0x1001, 0x2100, 0x2200}}, {0, {0x1001, 0x2100, 0x2300}}};
  recording.calls[{2, 1, read_number}] = counts_of({{format::calls, 700}, {format::requested_bytes, 7000}});
  EXPECT_EQ(only_site(recording).sums[format::calls], 1300U);
  EXPECT_EQ(only_site(recording).stacks, 2U);
  EXPECT_EQ(only_site(recording).site, 2U) << "the one with the most calls stands for it";
  EXPECT_EQ(only_site(recording).category, call_category::small);
  recording.sites[2].frames[1] = 0x2101;
  EXPECT_EQ(find_calls(recording).sites.size(), 2U);
  recording.modules[1].path = "/usr/lib/libold.so.1";
  recording.sites[2].frames[1] = 0x2100;
  EXPECT_THAT(only_site(recording).remedy, HasSubstr("inside libold.so.1"));
}

TEST(syscalls, what_takes_no_time_gets_no_remedy) {
  format::recording recording =
      recording_with(read_number, 2000, counts_of({{format::requested_bytes, 6000}, {format::call_ticks, 2'000'000}}));
  recording.has_ended = true;
  recording.end.user_us = 200'000;  // 1.2 ms with the way there and back, of 200
  EXPECT_NE(only_site(recording).remedy, "");
  recording.end.user_us = 5'000'000;
  EXPECT_EQ(only_site(recording).remedy, "");
}

TEST(syscalls, equal_questions_want_a_cache) {
  EXPECT_THAT(only_site(recording_with(openat_number, 2000, counts_of({{format::same_arguments, 1999}}))).remedy,
              HasSubstr("reloadable"));
  EXPECT_THAT(only_site(recording_with(newfstatat_number, 2000, counts_of({{format::same_arguments, 1900}}))).remedy,
              HasSubstr("memo"));
  EXPECT_EQ(only_site(recording_with(newfstatat_number, 2000, counts_of({{format::same_arguments, 1000}}))).remedy, "");
}

TEST(syscalls, one_after_another_want_to_be_one) {
  const auto row = counts_of(
      {{format::in_a_row, 1500}, {format::requested_bytes, 2000 * 4096}, {format::returned_bytes, 2000 * 4096}});
  EXPECT_EQ(only_site(recording_with(read_number, 2000, row)).category, call_category::batch);
  auto short_ones = row;
  short_ones[format::returned_bytes] = 2000 * 100;
  EXPECT_EQ(only_site(recording_with(read_number, 2000, short_ones)).category, call_category::needed)
      << "it has taken what there was";
  EXPECT_THAT(only_site(recording_with(fsync_number, 2000, row)).remedy, HasSubstr("journal"));
  EXPECT_THAT(only_site(recording_with(newfstatat_number, 2000, row)).remedy, HasSubstr("batch"));
}

TEST(syscalls, an_answer_is_not_told_to_wait_for_others) {
  auto sent = counts_of({{format::requested_bytes, 2000 * 30}, {format::returned_bytes, 2000 * 30}});
  EXPECT_EQ(only_site(recording_with(sendto_number, 2000, sent)).category, call_category::needed)
      << "something comes between";
  EXPECT_EQ(only_site(recording_with(sendto_number, 2000, sent)).remedy, "");
  sent[format::in_a_row] = 1500;
  EXPECT_THAT(only_site(recording_with(sendto_number, 2000, sent)).remedy, HasSubstr("gather"));
}

TEST(syscalls, signals_that_are_set_again_and_again_are_found) {
  for (const std::uint32_t number : {rt_sigaction_number, rt_sigprocmask_number}) {
    EXPECT_EQ(only_site(recording_with(number, 240'000)).category, call_category::repeated);
    EXPECT_THAT(only_site(recording_with(number, 240'000)).remedy, HasSubstr("once around"));
    EXPECT_EQ(only_site(recording_with(number, 900)).remedy, "");
  }
}

TEST(syscalls, memory_and_waits_are_told_apart) {
  EXPECT_EQ(only_site(recording_with(munmap_number, 2000)).category, call_category::memory);
  EXPECT_THAT(only_site(recording_with(munmap_number, 2000)).remedy, HasSubstr("tarn run"));
  EXPECT_EQ(only_site(recording_with(poll_number, 2000)).category, call_category::waits);
  EXPECT_EQ(only_site(recording_with(poll_number, 2000)).remedy, "");
}

TEST(syscalls, that_receive_wait_where_they_take_longer_than_data_that_is_there) {
  // The clock has two ticks for each nanosecond.
  const auto category_of = [](std::uint32_t number, std::uint64_t ns, std::uint64_t bytes) {
    return only_site(recording_with(number, 2000,
                                    counts_of({{format::call_ticks, 2 * ns},
                                               {format::returned_bytes, bytes},
                                               {format::in_a_row, 1900}})))
        .category;
  };
  constexpr std::uint64_t second_ns = 1'000'000'000;
  for (const std::uint32_t number : {recvfrom_number, recvmsg_number}) {
    EXPECT_EQ(category_of(number, second_ns, 2000), call_category::waits);
    EXPECT_EQ(category_of(number, 2000 * 3000, 2000), call_category::batch);
    EXPECT_EQ(category_of(number, 2000 * 50'000, 2000 * 65536), call_category::batch);
  }
  EXPECT_EQ(category_of(write_number, second_ns, 0), call_category::small);
}

TEST(syscalls, have_the_names_of_strace) {
#if defined(__x86_64__)
  EXPECT_EQ(call_name(SYS_read), "read");
  EXPECT_EQ(call_name(SYS_rseq), "rseq");
  EXPECT_EQ(call_name(SYS_pidfd_send_signal), "pidfd_send_signal");
  EXPECT_EQ(call_name(SYS_io_uring_enter), "io_uring_enter");
  EXPECT_EQ(call_name(SYS_clone3), "clone3");
  EXPECT_EQ(call_name(SYS_futex_waitv), "futex_waitv");
#endif
  EXPECT_EQ(call_name(4095), "call_4095");
  EXPECT_EQ(call_name(400), "call_400");
}

}  // namespace
}  // namespace tarn::analyse
