// Checks that the sampled acquisitions of locks are counted right in the mean, with the error that is stated, and that
// the rules which need no luck hold: a first acquisition is recorded, and held locks are found.
#include "profiler/preload/records/lock_samples.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "profiler/preload/records/held_locks.hpp"
#include "unit/preload/cpu_clock.hpp"

namespace tarn::preload {
namespace {

constexpr std::uint64_t spacing_ns = 10;  // CPU time between two acquisitions

const void* lock_at(std::uintptr_t number) { return reinterpret_cast<const void*>((number + 1) * 64); }

class lock_samples_test : public testing::Test {
 protected:
  void SetUp() override { lock_samples::begin_anew(); }
};

TEST_F(lock_samples_test, the_first_ones_of_a_process_all_count) {
  lock_samples samples{};
  samples.set_up(1);
  for (std::uint64_t time = 0; time < full_counts; ++time) {
    ASSERT_TRUE(lock_samples::has_recorded_all());
    ASSERT_FALSE(samples.skips(lock_at(1), 7));
    ASSERT_EQ(samples.take_weight(lock_at(1), 7, clock_at(time * spacing_ns)), 1);
  }
  lock_samples second{};
  second.set_up(2);  // one more may have been drawn before
  std::uint64_t recorded = 0;
  for (std::uint64_t time = 0; time < 10'000; ++time) {
    if (second.skips(lock_at(1), 7)) continue;
    second.take_weight(lock_at(1), 7, clock_at(time * spacing_ns));
    ++recorded;
  }
  EXPECT_FALSE(lock_samples::has_recorded_all());
  EXPECT_LT(recorded, 9000U);
}

TEST_F(lock_samples_test, counts_are_right_in_the_mean_and_so_is_their_error) {
  constexpr int runs = 100;
  constexpr std::uint64_t times = 300'000;
  double sum_of_deviations = 0, sum_of_squares = 0;
  for (int run = 0; run < runs; ++run) {
    lock_samples::begin_anew();
    lock_samples samples{};
    samples.set_up(static_cast<std::uint64_t>(run) + 1);
    std::uint64_t count = 0, spread = 0, recorded = 0;
    for (std::uint64_t time = 0; time < times; ++time) {
      if (samples.skips(lock_at(1), 7)) continue;
      const std::uint64_t weight = samples.take_weight(lock_at(1), 7, clock_at(time * spacing_ns));
      count += weight;
      spread += weight * (weight - 1);
      ++recorded;
    }
    EXPECT_LT(recorded, times / 20);
    const double deviations =
        (static_cast<double>(count) - static_cast<double>(times)) / std::sqrt(static_cast<double>(spread));
    EXPECT_LT(std::fabs(deviations), 5) << run;
    sum_of_deviations += deviations;
    sum_of_squares += deviations * deviations;
  }
  EXPECT_LT(std::fabs(sum_of_deviations), 4 * std::sqrt(runs));
  EXPECT_NEAR(sum_of_squares / runs, 1, 0.6);
}

TEST_F(lock_samples_test, each_lock_is_first_seen_at_each_place) {
  lock_samples samples{};
  samples.set_up(3);
  std::uint64_t now = 0;
  while (lock_samples::has_recorded_all()) {
    if (!samples.skips(lock_at(0), 1)) samples.take_weight(lock_at(0), 1, clock_at(now += spacing_ns));
  }
  for (int time = 0; time < 1'000'000; ++time, now += spacing_ns) {  // the weight grows
    if (!samples.skips(lock_at(0), 1)) samples.take_weight(lock_at(0), 1, clock_at(now));
  }
  for (std::uintptr_t number = 1; number <= 20; ++number) {
    for (std::uintptr_t caller = 2; caller <= 3; ++caller) {
      ASSERT_FALSE(samples.skips(lock_at(number), caller));
      EXPECT_EQ(samples.take_weight(lock_at(number), caller, clock_at(now)), 1);
    }
  }
  // A thread that takes more than it remembers is not slowed down by it.
  int recorded = 0;
  for (int round = 0; round < 10; ++round) {
    for (std::uintptr_t number = 0; number < 10'000; ++number) {
      if (samples.skips(lock_at(number), 4)) continue;
      samples.take_weight(lock_at(number), 4, clock_at(now += spacing_ns));
      ++recorded;
    }
  }
  EXPECT_LT(recorded, 5000);
}

TEST_F(lock_samples_test, a_thread_that_takes_locks_seldom_records_all) {
  lock_samples samples{};
  samples.set_up(4);
  constexpr std::uint64_t seldom = 100'000;
  for (std::uint64_t time = 0; time < 100'000; ++time) {
    ASSERT_FALSE(samples.skips(lock_at(1), 7));
    ASSERT_EQ(samples.take_weight(lock_at(1), 7, clock_at(time * seldom)), 1);
  }
  EXPECT_FALSE(lock_samples::has_recorded_all()) << "the weight could have grown";
}

TEST_F(lock_samples_test, a_thread_that_counts_on_for_another_one_chooses_by_its_own_time) {
  lock_samples samples{};
  samples.set_up(5);
  std::uint64_t recorded = 0;
  for (const std::uint64_t begin : {std::uint64_t{3'600'000'000'000}, std::uint64_t{0}}) {
    lock_samples::begin_anew();
    recorded = 0;
    for (std::uint64_t time = 0; time < 300'000; ++time) {
      if (samples.skips(lock_at(1), 7)) continue;
      samples.take_weight(lock_at(1), 7, clock_at(begin + time * spacing_ns));
      ++recorded;
    }
    EXPECT_LT(recorded, 20'000U) << begin;
  }
}

TEST(held_locks, the_newest_of_equal_ones_is_found_first) {
  held_locks locks{};
  const auto take = [&](const void* lock, std::uintptr_t caller) {
    held_lock* const entry = locks.push();
    if (entry == nullptr) return;
    *entry = {};
    entry->address = lock;
    entry->acquisition.caller = caller;
  };
  take(lock_at(1), 10);
  take(lock_at(2), 20);
  take(lock_at(1), 30);
  take(lock_at(3), 40);
  EXPECT_EQ(locks.find(lock_at(1))->acquisition.caller, 30U);
  locks.remove(locks.find(lock_at(1)));
  EXPECT_EQ(locks.count(), 3U);
  EXPECT_EQ(locks.find(lock_at(1))->acquisition.caller, 10U);
  EXPECT_EQ(locks.find(lock_at(3))->acquisition.caller, 40U);
  EXPECT_EQ(locks[1].acquisition.caller, 20U);
  locks.remove(locks.find(lock_at(3)));
  locks.remove(locks.find(lock_at(1)));
  EXPECT_EQ(locks[0].acquisition.caller, 20U);
  EXPECT_EQ(locks.find(lock_at(1)), nullptr);
  for (std::uintptr_t number = 0; number < 100; ++number) take(lock_at(number), number);
  EXPECT_EQ(locks.count(), 32U) << "further ones are not kept";
}

}  // namespace
}  // namespace tarn::preload
