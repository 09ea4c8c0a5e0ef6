// Tests that the verdict names each source that is worth a change, the largest gain first.
#include "profiler/advise/verdict.hpp"

#include <gtest/gtest.h>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

// Half a second of CPU time in a run of one second. The heap alone is worth a change.
format::recording heap_alone() { return recording_of({{.blocks = 4'000'000, .own_frees = 4'000'000}}); }

void add_lock(format::recording& recording, std::uint64_t waits, std::uint64_t waited_ns) {
  recording.clock = {1, 1};
  recording.locks = {{}, {0, format::lock_type::mutex, 1, 0x1000}};
  for (const std::uint32_t thread : {0U, 1U}) {
    format::lock_counts& counts = recording.acquisitions[{1, thread, 1}];
    counts[format::acquisitions] = counts[format::holds] = 200'000;
    counts[format::contended] = waits / 2;
    counts[format::wait_ticks] = waited_ns / 2;
    counts[format::held_ticks] = 200'000 * std::uint64_t{20'000};
  }
}

void add_writes(format::recording& recording, std::uint64_t calls) {
  recording.clock = {1, 1};
  constexpr std::uint32_t number = 1;  // of write
  format::call_counts& counts = recording.calls[{1, 0, number}];
  counts[format::calls] = counts[format::in_a_row] = calls;
  counts[format::requested_bytes] = counts[format::returned_bytes] = 6 * calls;
  counts[format::call_ticks] = calls * 1000;
}

std::vector<std::pair<judged_source, judgement>> judge(const format::recording& recording) {
  analysis analysis(recording, simple_costs());
  std::vector<std::pair<judged_source, judgement>> result;
  for (const verdict& verdict : verdicts_of(analysis)) result.emplace_back(verdict.source, verdict.judged);
  return result;
}
using expected_verdicts = std::vector<std::pair<judged_source, judgement>>;

TEST(verdict, a_program_without_a_remedy_has_none) {
  EXPECT_EQ(judge(recording_of({{.blocks = 10, .own_frees = 10}})), expected_verdicts());
}

TEST(verdict, long_waits_come_before_a_site_that_saves_less) {
  format::recording recording = heap_alone();
  EXPECT_EQ(judge(recording), (expected_verdicts{{judged_source::heap, judgement::worth_doing}}));
  add_lock(recording, 100'000, 12'000'000'000);
  EXPECT_EQ(judge(recording), (expected_verdicts{{judged_source::locks, judgement::worth_doing},
                                                 {judged_source::heap, judgement::worth_doing}}));
  analysis analysis(recording, simple_costs());
  const verdict locks = verdicts_of(analysis).front();
  EXPECT_EQ(locks.waited_ns, 12'000'000'000U);
  EXPECT_EQ(locks.remedies, 1U);
  EXPECT_EQ(locks.site, 1U);
}

TEST(verdict, a_thread_that_waits_for_several_locks_counts_once) {
  format::recording recording = heap_alone();
  add_lock(recording, 100'000, 12'000'000'000);
  recording.locks.push_back({0, format::lock_type::mutex, 1, 0x2000});
  recording.threads.resize(3);
  for (const auto& [thread, lock] : {std::pair(0U, 1U), std::pair(2U, 1U), std::pair(2U, 2U)}) {
    format::wait_counts& counts = recording.waits[{1, thread, lock, 1, 1}];
    counts[format::waits] = 10, counts[format::waited_ticks] = 1000;
  }
  analysis analysis(recording, simple_costs());
  EXPECT_EQ(verdicts_of(analysis).front().waiters, 2U);
}

TEST(verdict, waits_for_a_processor_are_no_gain_of_a_lock) {
  format::recording recording = heap_alone();
  add_lock(recording, 100'000, 12'000'000'000);
  for (auto& [key, counts] : recording.acquisitions)
    counts[format::free_ticks] = counts[format::wait_ticks] - 1'000'000;
  EXPECT_EQ(judge(recording), (expected_verdicts{{judged_source::heap, judgement::worth_doing},
                                                 {judged_source::locks, judgement::little}}));
  analysis analysis(recording, simple_costs());
  const verdict locks = verdicts_of(analysis).back();
  EXPECT_EQ(locks.waited_ns, 12'000'000'000U);
  EXPECT_EQ(locks.held_ns, 2'000'000U);
}

TEST(verdict, short_waits_come_after_what_is_worth_doing) {
  format::recording recording = heap_alone();
  add_lock(recording, 100'000, 1'000'000);
  EXPECT_EQ(judge(recording), (expected_verdicts{{judged_source::heap, judgement::worth_doing},
                                                 {judged_source::locks, judgement::little}}));
}

TEST(verdict, a_small_heap_site_hides_no_system_calls) {
  format::recording recording = recording_of({{.blocks = 30'000, .own_frees = 30'000}});
  add_writes(recording, 400'000);
  EXPECT_EQ(judge(recording), (expected_verdicts{{judged_source::calls, judgement::worth_doing},
                                                 {judged_source::heap, judgement::little}}));
  analysis analysis(recording, simple_costs());
  EXPECT_GT(verdicts_of(analysis).front().saved_ns.low, 0);
}

TEST(verdict, remedies_without_a_prediction_are_worth_a_look) {
  format::recording recording = heap_alone();
  add_writes(recording, 400'000);
  cost_model costs = simple_costs();
  costs.calls.slowdown = 0;  // unknown
  analysis analysis(recording, costs);
  const std::vector<verdict> verdicts = verdicts_of(analysis);
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_EQ(verdicts[0].source, judged_source::heap);
  EXPECT_EQ(verdicts[1].judged, judgement::unpredicted);
  EXPECT_EQ(verdicts[1].remedies, 1U);
}

}  // namespace
}  // namespace tarn::analyse
