// Tests which lock orders could deadlock, and which chains of waits there were, on recordings made by hand.
#include "profiler/findings/waits/lock_order.hpp"

#include <gtest/gtest.h>

namespace tarn::analyse {
namespace {

// Has ten locks, each first used at the site of its number, and more sites.
format::recording ten_locks() {
  format::recording recording;
  recording.images = 1;
  recording.threads.resize(5);
  recording.locks.emplace_back();
  for (std::uint32_t number = 0; number < 100; ++number) recording.sites.push_back({0, {0x1000U + number}});
  for (std::uint32_t number = 1; number <= 10; ++number)
    recording.locks.push_back({0, format::lock_type::mutex, number, 8 * number});
  recording.clock = {1, 1};
  return recording;
}

struct acquisition {
  std::uint32_t thread, held_lock, lock;
  std::uint64_t times = 1, ticks = 0;
  std::uint32_t gate = 0;
};
// The lock is held from site 10 + its number and taken at site 20 + its number.
void take(format::recording& recording, const acquisition& value) {
  recording.orders[{20 + value.lock, value.thread, value.lock, 10 + value.held_lock, value.held_lock, value.gate}] = {
      value.times, value.ticks == 0 ? 0U : 1U, value.ticks};
}

TEST(orders, both_ways_is_an_inversion) {
  format::recording recording = ten_locks();
  take(recording, {.thread = 0, .held_lock = 1, .lock = 2, .times = 5});
  take(recording, {.thread = 3, .held_lock = 1, .lock = 2, .times = 2});
  take(recording, {.thread = 1, .held_lock = 2, .lock = 1, .times = 4});
  take(recording, {.thread = 1, .held_lock = 2, .lock = 3});
  const order_findings findings = find_orders(recording);
  ASSERT_EQ(findings.inversions.size(), 1U);
  const inversion& inversion = findings.inversions[0];
  ASSERT_EQ(inversion.steps.size(), 2U);
  EXPECT_EQ(inversion.steps[0].holds, 1U);
  EXPECT_EQ(inversion.steps[0].takes, 2U);
  EXPECT_EQ(inversion.steps[0].times, 7U);
  EXPECT_EQ(inversion.steps[0].threads, (std::vector<std::uint32_t>{0, 3}));
  EXPECT_EQ(inversion.steps[0].held_site, 11U);
  EXPECT_EQ(inversion.steps[0].taken_site, 22U);
  EXPECT_EQ(inversion.steps[1].times, 4U);
  EXPECT_FALSE(inversion.has_one_thread);
}

TEST(orders, an_inversion_in_which_all_still_wait_is_a_deadlock) {
  format::recording recording = ten_locks();
  take(recording, {.thread = 0, .held_lock = 1, .lock = 2});
  take(recording, {.thread = 1, .held_lock = 2, .lock = 1});
  take(recording, {.thread = 2, .held_lock = 3, .lock = 4});
  take(recording, {.thread = 3, .held_lock = 4, .lock = 3});
  recording.open_uses = {{{false, 13, 2, 3}, 0}, {{true, 24, 2, 4}, 0}, {{false, 14, 3, 4}, 0}};
  for (const inversion& inversion : find_orders(recording).inversions) EXPECT_FALSE(inversion.is_deadlock);
  recording.open_uses[{true, 23, 3, 3}] = 0;
  const order_findings findings = find_orders(recording);
  ASSERT_EQ(findings.inversions.size(), 2U);
  EXPECT_TRUE(findings.inversions[0].is_deadlock) << "the deadlock comes first";
  EXPECT_EQ(findings.inversions[0].steps[0].holds, 3U);
  EXPECT_FALSE(findings.inversions[1].is_deadlock);
}

TEST(orders, one_order_is_none_however_long) {
  format::recording recording = ten_locks();
  for (std::uint32_t lock = 1; lock < 10; ++lock) {
    for (std::uint32_t next = lock + 1; next <= 10; ++next)
      take(recording, {.thread = lock % 5, .held_lock = lock, .lock = next});
  }
  EXPECT_TRUE(find_orders(recording).inversions.empty());
}

TEST(orders, a_circle_of_several_is_one_inversion) {
  format::recording recording = ten_locks();
  for (std::uint32_t lock = 1; lock <= 4; ++lock)
    take(recording, {.thread = lock, .held_lock = lock, .lock = lock % 4 + 1});
  take(recording, {.thread = 0, .held_lock = 7, .lock = 1});  // leads into the circle
  take(recording, {.thread = 0, .held_lock = 1, .lock = 8});  // leads out of it
  const order_findings findings = find_orders(recording);
  ASSERT_EQ(findings.inversions.size(), 1U);
  ASSERT_EQ(findings.inversions[0].steps.size(), 4U);
  for (std::size_t index = 0; index < 4; ++index)
    EXPECT_EQ(findings.inversions[0].steps[index].takes, findings.inversions[0].steps[(index + 1) % 4].holds);
}

TEST(orders, by_one_thread_alone_is_said) {
  format::recording recording = ten_locks();
  take(recording, {.thread = 2, .held_lock = 1, .lock = 2});
  take(recording, {.thread = 2, .held_lock = 2, .lock = 1});
  ASSERT_EQ(find_orders(recording).inversions.size(), 1U);
  EXPECT_TRUE(find_orders(recording).inversions[0].has_one_thread);
}

TEST(orders, a_gate_guards_what_is_always_behind_it) {
  const auto with_gates = [](std::uint32_t first, std::uint32_t second, bool has_ungated_order) {
    format::recording recording = ten_locks();
    take(recording, {.thread = 0, .held_lock = 1, .lock = 2, .gate = first});
    take(recording, {.thread = 1, .held_lock = 2, .lock = 1, .gate = second});
    if (has_ungated_order) take(recording, {.thread = 3, .held_lock = 2, .lock = 1});
    return find_orders(recording).inversions.size();
  };
  EXPECT_EQ(with_gates(5, 5, false), 0U);
  EXPECT_EQ(with_gates(5, 6, false), 1U) << "two gates guard nothing";
  EXPECT_EQ(with_gates(5, 5, true), 1U);
  EXPECT_EQ(with_gates(0, 0, false), 1U);
}

TEST(orders, locks_that_are_only_read_wait_for_nobody) {
  format::recording recording = ten_locks();
  take(recording, {.thread = 0, .held_lock = 1, .lock = 2});
  take(recording, {.thread = 1, .held_lock = 2, .lock = 1});
  recording.acquisitions[{1, 0, 1}][format::acquisitions] = 2;
  recording.acquisitions[{1, 0, 1}][format::reader_acquisitions] = 2;
  EXPECT_TRUE(find_orders(recording).inversions.empty());
  recording.acquisitions[{2, 3, 1}][format::acquisitions] = 1;  // one write
  EXPECT_EQ(find_orders(recording).inversions.size(), 1U);
}

TEST(orders, locks_of_one_kind_are_one_finding) {
  format::recording recording = ten_locks();
  for (std::uint32_t lock = 1; lock <= 4; ++lock) recording.locks[lock].site = 1;
  for (const auto& [pair, second] : {std::pair(1U, 2U), std::pair(3U, 4U)}) {
    recording.orders[{22, 0, second, 11, pair, 0}] = {1, 0, 0};
    recording.orders[{22, 1, pair, 11, second, 0}] = {1, 0, 0};
  }
  const order_findings findings = find_orders(recording);
  ASSERT_EQ(findings.inversions.size(), 1U);
  EXPECT_EQ(findings.inversions[0].similar_cycles, 2U);
}

TEST(orders, beyond_the_limit_they_are_counted) {
  format::recording recording = ten_locks();
  recording.orders[{0, 0, 0, 0, 0, 0}] = {9, 0, 0};
  EXPECT_EQ(find_orders(recording).unattributed, 9U);
  EXPECT_TRUE(find_orders(recording).inversions.empty());
}

// Thread 0 waits for lock 1, whose holder 1 waits for lock 2, whose holder 2 waits for lock 3.
TEST(orders, a_chain_of_waits_goes_on_as_far_as_it_does) {
  format::recording recording = ten_locks();
  recording.waits[{21, 0, 1, 11, 1}] = {4, 400};
  recording.waits[{21, 3, 1, 11, 1}] = {1, 50};  // another thread waits there
  take(recording, {.thread = 1, .held_lock = 1, .lock = 2, .ticks = 300});
  recording.waits[{22, 1, 2, 12, 2}] = {3, 310};
  take(recording, {.thread = 2, .held_lock = 2, .lock = 3, .ticks = 500});
  recording.waits[{23, 2, 3, 13, 4}] = {1, 500};
  recording.waits[{24, 3, 4, 14, 4}] = {1, 9000};  // its holder does not wait
  const order_findings findings = find_orders(recording);
  ASSERT_EQ(findings.chains.size(), 2U) << "the end of a chain is one as well";
  const wait_chain& first = findings.chains[0];
  ASSERT_EQ(first.links.size(), 3U);
  EXPECT_EQ(first.nanoseconds, 300U + 50U) << "the shortest wait of each of two threads";
  EXPECT_EQ(first.links[0].holder, 1U);
  EXPECT_EQ(first.links[1].thread, 1U);
  EXPECT_EQ(first.links[1].nanoseconds, 300U);
  EXPECT_EQ(first.links[2].holder, 4U);
  EXPECT_EQ(findings.chains[1].links.size(), 2U);
}

TEST(orders, a_chain_does_not_go_in_a_circle) {
  format::recording recording = ten_locks();
  recording.waits[{21, 0, 1, 11, 1}] = {1, 100};
  take(recording, {.thread = 1, .held_lock = 1, .lock = 2, .ticks = 100});
  recording.waits[{22, 1, 2, 12, 0}] = {1, 100};
  take(recording, {.thread = 0, .held_lock = 2, .lock = 1, .ticks = 100});
  for (const wait_chain& chain : find_orders(recording).chains) EXPECT_EQ(chain.links.size(), 2U);
}

}  // namespace
}  // namespace tarn::analyse
