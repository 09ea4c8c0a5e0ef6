// Tests who waits for whom in a process that hung before it was recorded.
#include "profiler/findings/waits/lasting_waits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiler/format/generations.hpp"

namespace tarn::analyse {
namespace {

using enum format::awaited;
using testing::ElementsAre;

// Has one site of its own, and two stacks of these waits.
format::recording recording_with(std::vector<format::lasting_wait> waits) {
  format::recording recording;
  recording.sites = {{}, {0, {0x1001}}};
  recording.modules = {{0, 0x1000, 0x2000, 0x1000, "/bin/server", ""}};
  recording.lasting.modules = {{0, 0x1000, 0x2000, 0x1000, "/bin/server", ""},
                               {0, 0x7000, 0x8000, 0x7000, "/lib/c.so", ""}};
  recording.lasting.stacks = {{}, {0, {0x7001}}, {0, {0x7002, 0x1002}}};
  recording.lasting.waits = std::move(waits);
  return with_lasting_stacks(recording);
}

std::vector<std::uint32_t> numbers_of(const lasting_group& group) {
  std::vector<std::uint32_t> numbers;
  for (const named_thread& thread : group.threads) numbers.push_back(thread.id);
  return numbers;
}

TEST(lasting_waits, have_sites_and_modules_of_the_recording) {
  const format::recording recording = recording_with({{11, 2, mutex, 8, 12}, {12, 0, nothing, 0, 0}});
  ASSERT_EQ(recording.sites.size(), 4U);
  EXPECT_EQ(recording.modules.size(), 2U) << "one of them was there";
  EXPECT_EQ(recording.lasting.waits[0].stack, 3U);
  EXPECT_EQ(recording.sites[3].frames.front(), 0x7002U);
  EXPECT_EQ(recording.lasting.waits[1].stack, 0U);
}

TEST(lasting_waits, stand_in_the_module_that_is_there_and_not_in_one_that_was_there_before) {
  format::recording recording;
  recording.modules = {{0, 0x7000, 0x8000, 0x7000, "/lib/gone.so", "aa"}};
  recording.lasting.modules = {{0, 0x7000, 0x7800, 0x7000, "/lib/new.so", "bb"}};
  recording.lasting.stacks = {{}, {0, {0x7001, 0x9001}}};
  recording.lasting.waits = {{11, 1, mutex, 8, 12}};
  const format::recording joined = with_lasting_stacks(recording);
  ASSERT_EQ(joined.modules.size(), 2U);
  EXPECT_THAT(joined.sites[1].frames, ElementsAre(format::in_generation(0x7001, 1), 0x9001));
  EXPECT_EQ(joined.modules[1].start, format::in_generation(0x7000, 1));
  EXPECT_EQ(joined.modules[1].end, format::in_generation(0x7800, 1));

  recording.modules.push_back({0, format::in_generation(0x7000, 3), format::in_generation(0x7800, 3),
                               format::in_generation(0x7000, 3), "/usr/lib/new.so", "bb"});
  const format::recording with_noted_one = with_lasting_stacks(recording);
  EXPECT_EQ(with_noted_one.modules.size(), 2U) << "the recorder had noted it in generation 3";
  EXPECT_THAT(with_noted_one.sites[1].frames, ElementsAre(format::in_generation(0x7001, 3), 0x9001));
}

TEST(lasting_waits, in_a_circle_are_a_deadlock_and_those_behind_it_are_not) {
  const lasting_findings findings = find_lasting_waits(recording_with(
      {{10, 0, thread_end, 4, 11}, {13, 0, mutex, 8, 12}, {11, 1, mutex, 8, 12}, {12, 2, mutex, 16, 11}}));
  EXPECT_EQ(findings.in_deadlock, 2U);
  EXPECT_EQ(findings.for_mutexes, 3U);
  ASSERT_EQ(findings.groups.size(), 3U);
  EXPECT_TRUE(findings.groups[0].is_deadlock);
  EXPECT_THAT(numbers_of(findings.groups[0]), ElementsAre(11, 13))
      << "the one in the circle comes first, with its stack";
  EXPECT_EQ(findings.groups[0].site, 2U);
  EXPECT_THAT(numbers_of(findings.groups[1]), ElementsAre(12));
  EXPECT_FALSE(findings.groups[2].is_deadlock);
  EXPECT_TRUE(findings.groups[2].waits_in_turn);
}

TEST(lasting_waits, for_an_unknown_holder_or_a_word_are_no_deadlock) {
  const lasting_findings findings = find_lasting_waits(
      recording_with({{11, 0, mutex, 8, 12}, {12, 1, nothing, 0, 0}, {13, 0, mutex, 16, 0}, {14, 0, word, 24, 0}}));
  EXPECT_EQ(findings.in_deadlock, 0U);
  EXPECT_EQ(findings.for_words, 1U);
  ASSERT_EQ(findings.groups.size(), 2U);
  EXPECT_EQ(findings.groups[0].holder.id, 12U);
  EXPECT_EQ(findings.groups[0].holder_site, 2U);
  EXPECT_FALSE(findings.groups[0].waits_in_turn);
  EXPECT_EQ(findings.groups[1].holder.id, 0U);
}

TEST(lasting_waits, are_a_deadlock_only_if_the_numbers_are_of_threads_of_the_process) {
  using enum format::ownership;
  for (const format::ownership owner : {thread, possible, shared, format::ownership::parent, no_thread}) {
    const lasting_findings findings =
        find_lasting_waits(recording_with({{11, 0, mutex, 8, 12, owner}, {12, 0, mutex, 16, 11}}));
    EXPECT_EQ(findings.in_deadlock, owner == thread ? 2U : 0U);
    EXPECT_EQ(findings.groups[0].may_be_deadlock, owner == possible);
  }
}

TEST(lasting_waits, that_began_later_or_were_interrupted_count_in_a_deadlock_alone) {
  using enum format::wait_start;
  const lasting_findings closed = find_lasting_waits(
      recording_with({{11, 0, mutex, 8, 12}, {12, 0, stream, 16, 11, format::ownership::thread, later, "late"}}));
  EXPECT_EQ(closed.in_deadlock, 2U);
  EXPECT_TRUE(closed.groups[0].is_deadlock_later);
  EXPECT_EQ(closed.groups[0].holder.name, "late");
  const lasting_findings open = find_lasting_waits(
      recording_with({{11, 0, mutex, 8, 12}, {12, 1, mutex, 16, 13, format::ownership::thread, interrupted, ""}}));
  EXPECT_EQ(open.in_deadlock, 0U);
  EXPECT_EQ(open.interrupted, 1U);
  ASSERT_EQ(open.groups.size(), 1U);
  EXPECT_FALSE(open.groups[0].waits_in_turn) << "so its stack is shown";
  EXPECT_EQ(open.groups[0].holder_site, 2U);
}

TEST(lasting_waits, for_the_end_of_a_thread_alone_are_usual) {
  EXPECT_TRUE(find_lasting_waits(recording_with({{10, 0, thread_end, 4, 11}, {11, 0, nothing, 0, 0}})).groups.empty());
}

TEST(lasting_waits, of_a_thread_for_its_own_mutex_are_a_deadlock) {
  EXPECT_EQ(find_lasting_waits(recording_with({{11, 0, mutex, 8, 11}})).in_deadlock, 1U);
}

}  // namespace
}  // namespace tarn::analyse
