// Tests how a wait for a lock is divided among those that held the lock meanwhile.
#include "profiler/preload/records/release_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace tarn::preload {
namespace {

using parts = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // holder, ticks

parts parts_of(const release_log& log, std::uint64_t since, std::uint64_t until) {
  parts result;
  for (const wait_parts::part& part : wait_parts(log, since, until)) result.emplace_back(part.holder, part.ticks);
  return result;
}

TEST(release_log, a_wait_is_divided_at_each_release) {
  release_log log{};
  EXPECT_EQ(parts_of(log, 100, 200), parts());
  log.add(1, 0, 50);  // before the wait
  EXPECT_EQ(parts_of(log, 100, 200), parts());
  log.add(2, 60, 180);
  log.add(3, 181, 190);
  EXPECT_EQ(parts_of(log, 100, 200), (parts{{2, 80}, {3, 9}}));
  EXPECT_EQ(parts_of(log, 100, 185), (parts{{2, 80}, {3, 4}})) << "it gave up while the last one held the lock";
  EXPECT_EQ(parts_of(log, 185, 200), (parts{{3, 5}}));
}

TEST(release_log, a_hold_that_was_not_timed_begins_at_the_release_before) {
  release_log log{};
  log.add(1, 0, 120);
  log.add(2, 0, 190);
  EXPECT_EQ(parts_of(log, 100, 200), (parts{{2, 70}, {1, 20}}));
}

TEST(release_log, the_longest_holders_are_kept_and_their_holds_added) {
  release_log log{};
  std::uint64_t now = 1000;
  for (const std::uint64_t ticks : {7U, 1U, 20U, 3U, 5U, 4U}) {
    log.add(ticks == 4 ? 7 : ticks, now, now + ticks);
    now += ticks;
  }
  EXPECT_EQ(parts_of(log, 1000, now), (parts{{20, 20}, {7, 11}, {5, 5}, {3, 3}}));
}

TEST(release_log, releases_that_are_no_longer_known_are_nobodys_but_for_the_longest) {
  release_log log{};
  log.add(1, 1000, 1500);
  log.add(1, 1500, 2000);
  for (std::uint64_t number = 0; number < release_log::size; ++number) log.add(2, 0, 2001 + number);
  EXPECT_EQ(parts_of(log, 1000, 3000), (parts{{1, 500}, {2, release_log::size - 1}}));
  log.add(3, 1500, 3000);  // the holds of several readers overlap
  EXPECT_EQ(parts_of(log, 1000, 3000).front(), (std::pair<std::uint64_t, std::uint64_t>{3, 3000 - 2032}));
}

// A thread holds the lock for a second while many others wait, and then each of these has it shortly.
TEST(release_log, a_long_hold_is_known_to_the_last_of_many_threads) {
  constexpr std::uint64_t second = 1'000'000'000, turn = 100, turns = 1000;
  release_log log{};
  log.add(1, 5, 10);
  log.add(9, 100, second);
  for (std::uint64_t number = 0; number < turns; ++number)
    log.add(2, second + number * turn, second + number * turn + turn / 2);
  const std::uint64_t end = second + turns * turn;
  const wait_parts wait(log, 200, end);
  EXPECT_EQ(wait.begin()->holder, 9U);
  EXPECT_EQ(wait.begin()->ticks, second - 200);
  EXPECT_NEAR(static_cast<double>(wait.free_ticks()), turns * turn / 2., turn) << "half of the time after it";
  EXPECT_EQ(wait_parts(log, second + 1, end).begin()->holder, 2U) << "a wait that began later";
}

TEST(release_log, a_long_hold_without_a_time_began_at_the_release_before) {
  release_log log{};
  log.add(1, 0, 1000);
  log.add(9, 0, 500'000);
  for (std::uint64_t number = 0; number < release_log::size; ++number) log.add(2, 500'000 + number, 500'001 + number);
  EXPECT_EQ(parts_of(log, 10, 500'100).front(), (std::pair<std::uint64_t, std::uint64_t>{9, 499'000}));
}

// The hold that is kept gives way to a longer one, and to any that ends more than a second later.
TEST(release_log, the_long_hold_is_a_recent_one) {
  constexpr std::uint64_t second = std::uint64_t{1} << 32;
  release_log log{};
  const auto add = [&](std::uint64_t holder, std::uint64_t since, std::uint64_t until) {
    log.add(holder, since, until);
    for (std::uint64_t number = 0; number < release_log::size; ++number) log.add(2, until, until);
    return log.long_hold().holder;
  };
  EXPECT_EQ(add(5, 1000, 2000), 5U);
  EXPECT_EQ(add(6, 3000, 3999), 5U);
  EXPECT_EQ(add(6, 1500, 1600), 5U) << "one of several readers, which notes its release late";
  EXPECT_EQ(add(7, 4000, 5001), 7U);
  EXPECT_EQ(add(8, second + 5002, second + 5003), 8U);
}

TEST(release_log, the_lock_is_free_between_a_release_and_the_next_hold) {
  release_log log{};
  EXPECT_EQ(wait_parts(log, 100, 200).free_ticks(), 0U) << "nothing is known of its holders";
  log.add(1, 60, 90);
  EXPECT_EQ(wait_parts(log, 100, 200).free_ticks(), 100U) << "released before the wait began, and not acquired again";
  log.add(2, 95, 120);
  EXPECT_EQ(wait_parts(log, 100, 200).free_ticks(), 80U);
  log.add(3, 150, 160);
  EXPECT_EQ(wait_parts(log, 100, 200).free_ticks(), 30U + 40U);
  log.add(4, 0, 190);
  EXPECT_EQ(wait_parts(log, 100, 200).free_ticks(), 30U + 10U) << "it may have been held since the release before";
}

TEST(release_log, a_lock_is_held_while_one_of_several_readers_has_it) {
  release_log log{};
  log.add(1, 110, 120);
  log.add(2, 90, 180);
  EXPECT_EQ(wait_parts(log, 100, 200).free_ticks(), 20U);
}

TEST(release_log, the_lock_is_taken_to_be_free_as_often_before_the_log_as_in_it) {
  release_log log{};
  // Held for a quarter of the time.
  constexpr std::uint64_t holds = 4 * release_log::size;
  for (std::uint64_t number = 1; number <= holds; ++number) log.add(1, 100 * number, 100 * number + 25);
  const auto free = static_cast<double>(wait_parts(log, 100, 100 * (holds + 1)).free_ticks());
  EXPECT_NEAR(free, 0.75 * 100 * holds, 0.02 * 100 * holds);
}

// Lets a thread release the lock `releases` times during one wait. Each hold takes `ticks(number)`, and the thread's
// number is `holder(number)`. Returns the end of the wait, which began at 1,000.
template <class Holder, class Ticks>
std::uint64_t wait_through(release_log& log, std::uint64_t releases, Holder holder, Ticks ticks) {
  std::uint64_t now = 1000;
  log.begin_wait(now);
  for (std::uint64_t number = 0; number < releases; ++number) {
    now += ticks(number);
    if (log.is_due(now)) log.add(holder(number), 0, now);
  }
  return now;
}

TEST(release_log, the_first_releases_of_each_wait_are_all_due) {
  release_log log{};
  for (int wait = 0; wait < 3; ++wait) {
    const std::uint64_t before = log.count();
    wait_through(
        log, release_log::dense_releases, [](auto) { return 1; }, [](auto) { return 1; });
    EXPECT_EQ(log.count() - before, release_log::dense_releases);
  }
}

TEST(release_log, a_long_wait_lets_releases_pass_which_count_as_held) {
  release_log log{};
  const std::uint64_t end = wait_through(
      log, 1'000'000, [](auto) { return 1; }, [](auto) { return 50; });
  EXPECT_LT(log.count(), 300U);
  const wait_parts wait(log, 1000, end);
  EXPECT_EQ(wait.free_ticks(), 0U);
  ASSERT_NE(wait.begin(), wait.end());
  EXPECT_GT(wait.begin()->ticks, (end - 1000) / 2) << "the last releases that were due are half of the wait";
}

TEST(release_log, a_long_hold_among_releases_that_pass_is_its_own_thread_s) {
  constexpr std::uint64_t turns = 10'000, turn = 50, long_hold = turns * turn;
  for (std::uint64_t turns_after : {1U, 7U, 1000U}) {
    release_log log{};
    const auto is_long = [&](std::uint64_t number) { return number == turns; };
    const std::uint64_t end = wait_through(
        log, turns + 1 + turns_after, [&](auto number) { return is_long(number) ? 9 : 1; },
        [&](auto number) { return is_long(number) ? long_hold : turn; });
    const wait_parts wait(log, 1000, end);
    EXPECT_EQ(wait.begin()->holder, 9U);
    const std::uint64_t passed = std::min(turns_after * turn, (end - 1000) / release_log::inverse_distance);
    EXPECT_GE(wait.begin()->ticks, long_hold) << turns_after;
    EXPECT_LE(wait.begin()->ticks, long_hold + passed) << "with the releases that passed after it";
  }
}

TEST(release_log, releases_that_pass_are_of_the_last_wait_alone) {
  release_log log{};
  const std::uint64_t end = wait_through(
      log, 1000, [](auto) { return 1; }, [](auto) { return 10; });
  EXPECT_EQ(wait_parts(log, end, end + 100).free_ticks(), 100U) << "nobody has acquired it since";
}

// One thread holds the lock for 100 ticks each time, and another one, which has it half as often, for 600.
TEST(release_log, the_parts_of_threads_that_alternate_are_right_on_average) {
  constexpr std::uint64_t waits = 300, releases = 3000;
  std::mt19937 random(1);
  std::uint64_t ticks_of[3] = {};
  for (std::uint64_t wait = 0; wait < waits; ++wait) {
    release_log log{};
    std::vector<std::uint64_t> holders(releases);
    for (std::uint64_t& holder : holders) holder = random() % 3 == 0 ? 2 : 1;
    const std::uint64_t end = wait_through(
        log, releases, [&](auto number) { return holders[number]; },
        [&](auto number) { return holders[number] == 2 ? 600 : 100; });
    for (const wait_parts::part& part : wait_parts(log, 1000, end)) ticks_of[part.holder] += part.ticks;
  }
  EXPECT_NEAR(static_cast<double>(ticks_of[2]) / static_cast<double>(ticks_of[1] + ticks_of[2]), 0.75, 0.03);
}

}  // namespace
}  // namespace tarn::preload
