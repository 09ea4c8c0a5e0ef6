// Tests which system calls count as made while a lock is held.
#include "profiler/advise/calls_inside.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarn::analyse {
namespace {

constexpr std::uint32_t fdatasync_number = 75, futex_number = 202;

// A function at 0x1000 acquires a lock on line 10 and is called from 0x5000; other functions are at 0x2000 and so on.
// A frame's last three digits are its line.
std::vector<code_location> resolved(std::uint32_t, std::uint64_t frame) {
  const auto line = static_cast<int>(frame & 0xfff);
  return {{"function_" + std::to_string(frame >> 12), "program.cpp", line, "/home/program", frame}};
}

// Two threads hold the lock for 10 ms in all, and wait.
format::recording recording_with_call(const std::vector<std::uint64_t>& frames, std::uint64_t ns,
                                      std::uint32_t number = fdatasync_number) {
  format::recording recording;
  recording.threads.resize(3);
  recording.sites = {{}, {0, {0x1010, 0x5020}}, {0, frames}};
  recording.locks = {{}, {0, format::lock_type::mutex, 1, 0x1000}};
  for (const std::uint32_t thread : {0U, 1U}) {
    format::lock_counts& counts = recording.acquisitions[{1, thread, 1}];
    counts[format::acquisitions] = counts[format::holds] = 100;
    counts[format::contended] = 50;
    counts[format::wait_ticks] = counts[format::held_ticks] = 5'000'000;
    format::call_counts& calls = recording.calls[{2, thread, number}];
    calls[format::calls] = 100;
    calls[format::call_ticks] = ns / 2;
  }
  recording.clock = {1, 1};
  recording.has_ended = true;
  recording.end.wall_us = 100'000;
  return recording;
}

lock_group judge(const format::recording& recording) {
  lock_findings findings = find_locks(recording);
  add_calls_inside(findings, recording, resolved);
  return findings.groups.at(0);
}

TEST(calls_inside, a_later_call_of_the_same_function_is_inside) {
  const lock_group group = judge(recording_with_call({0x1020, 0x5020}, 9'000'000));
  ASSERT_EQ(group.calls_inside.size(), 1U);
  EXPECT_EQ(group.calls_inside[0].name, "fdatasync");
  EXPECT_EQ(group.calls_inside[0].nanoseconds, 9'000'000U);
  EXPECT_EQ(group.calls_inside[0].calls, 200U);
  EXPECT_EQ(group.calls_inside[0].site, 2U);
  EXPECT_THAT(group.remedy, testing::HasSubstr("call fdatasync without it"));
}

TEST(calls_inside, so_is_one_of_a_function_that_it_calls) {
  EXPECT_EQ(judge(recording_with_call({0x2001, 0x1020, 0x5020}, 9'000'000)).calls_inside.size(), 1U);
}

TEST(calls_inside, without_debug_information_wrappers_of_the_lock_are_skipped) {
  const auto named = [](std::uint32_t, std::uint64_t frame) -> std::vector<code_location> {
    const char* const names[] = {"",
                                 "",
                                 "std::thread::_State_impl<run()>::_M_run()",
                                 "std::mutex::lock()",
                                 "__gthread_mutex_lock(pthread_mutex_t*)",
                                 "main"};
    return {{names[frame >> 12], "", 0, "/home/program", frame}};
  };
  format::recording recording = recording_with_call({0x2020, 0x5020}, 9'000'000);
  for (const std::vector<std::uint64_t>& frames :
       {std::vector<std::uint64_t>{0x4010, 0x3010, 0x2010, 0x5020}, {0x2010, 0x5020}}) {
    recording.sites[1].frames = frames;
    lock_findings findings = find_locks(recording);
    add_calls_inside(findings, recording, named);
    EXPECT_EQ(findings.groups.at(0).calls_inside.size(), 1U) << frames.size();
  }
}

TEST(calls_inside, what_stacks_or_times_do_not_show_is_not_claimed) {
  for (const auto& recording : {
           recording_with_call({0x1005, 0x5020}, 9'000'000),                // before the acquisition
           recording_with_call({0x1010, 0x5020}, 9'000'000),                // by the acquisition itself
           recording_with_call({0x1020, 0x5030}, 9'000'000),                // with another caller
           recording_with_call({0x2001, 0x5020}, 9'000'000),                // another function
           recording_with_call({0x5020}, 9'000'000),                        // the caller
           recording_with_call({0x1020, 0x5020}, 90'000'000),               // longer than the lock is held
           recording_with_call({0x1020, 0x5020}, 1'000'000),                // a small part of that time
           recording_with_call({0x1020, 0x5020}, 9'000'000, futex_number),  // waits for a lock
       }) {
    const lock_group group = judge(recording);
    EXPECT_TRUE(group.calls_inside.empty());
    EXPECT_THAT(group.remedy, testing::HasSubstr("do less while it is held"));
  }
  format::recording recording = recording_with_call({0x1020, 0x5020}, 9'000'000);
  recording.calls.emplace({2, 2, fdatasync_number}, recording.calls.counts_of({2, 0, fdatasync_number}));
  recording.calls.erase({2, 0, fdatasync_number});
  recording.calls.erase({2, 1, fdatasync_number});
  EXPECT_TRUE(judge(recording).calls_inside.empty()) << "by a thread that never takes the lock";
}

}  // namespace
}  // namespace tarn::analyse
