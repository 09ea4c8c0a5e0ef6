// Waits for a condition: only the thread that makes it true wakes the waiter.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <deque>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <tarn/shared.hpp>
#include <tarn/spin_mutex.hpp>

namespace {

using namespace std::chrono_literals;

template <class Mutex>
class waiting : public testing::Test {};
using mutexes = testing::Types<std::mutex, tarn::spin_mutex, std::shared_mutex>;
TYPED_TEST_SUITE(waiting, mutexes);

#ifndef __SANITIZE_ADDRESS__  // it takes the frames that pthread_cancel unwinds for live ones
// A thread that pthread_cancel ends while it waits leaves nothing behind that a later change would touch.
TYPED_TEST(waiting, a_cancelled_thread_leaves_the_list) {
  tarn::shared<int, TypeParam> number(0);
  std::atomic<bool> is_waiting{false};
  std::atomic<int> looks{0};
  std::thread waiter([&] {
    auto handle = number.lock();
    handle.wait([&](int) {
      is_waiting = true;
      ++looks;
      return false;
    });
  });
  while (!is_waiting) std::this_thread::yield();
  number.with([](int&) {});  // returns when the thread waits and the lock is free
  ASSERT_EQ(pthread_cancel(waiter.native_handle()), 0);
  waiter.join();
  const int before = looks;
  number.with([](int& n) { n = 1; });
  EXPECT_EQ(looks, before) << "nobody waits any more";
  EXPECT_EQ(number.copy(), 1);
}
#endif

TYPED_TEST(waiting, for_ever_is_not_over_at_once) {
  tarn::shared<int, TypeParam> number(0);
  std::thread changer([&] {
    std::this_thread::sleep_for(20ms);
    number.with([](int& n) { n = 1; });
  });
  EXPECT_TRUE(number.with_when_for(
      std::chrono::nanoseconds::max(), [](int n) { return n == 1; }, [](int& n) { n = 2; }));
  changer.join();
  EXPECT_TRUE(number.with_when_for(
      std::chrono::hours::max(), [](int n) { return n == 2; }, [](int&) {}));
  EXPECT_FALSE(number.with_when_for(
      std::chrono::hours::min(), [](int n) { return n == 1; }, [](int&) {}));
}

// Four threads share a queue of bounded length: it would stop if a wake-up were lost.
TYPED_TEST(waiting, nothing_is_lost_between_producers_and_consumers) {
  tarn::shared<std::deque<int>, TypeParam> queue;
  constexpr int numbers_each = 2000;
  std::atomic<long> sum{0};
  std::vector<std::thread> running;
  for (int thread = 0; thread < 2; ++thread) {
    running.emplace_back([&] {
      for (int number = 1; number <= numbers_each; ++number) {
        queue.with_when([](const auto& numbers) { return numbers.size() < 3; },
                        [&](auto& numbers) { numbers.push_back(number); });
      }
    });
    running.emplace_back([&] {
      for (int number = 1; number <= numbers_each; ++number) {
        auto handle = queue.lock();
        handle.wait([](const auto& numbers) { return !numbers.empty(); });
        sum += handle->front();
        handle->pop_front();
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(sum, 2L * numbers_each * (numbers_each + 1) / 2);
  EXPECT_TRUE(queue.unsafe_unlocked().empty());
}

TYPED_TEST(waiting, ends_at_the_deadline_with_the_lock_held) {
  tarn::shared<int, TypeParam> number(0);
  auto handle = number.lock();
  EXPECT_FALSE(handle.wait_for(2ms, [](int n) { return n == 1; }));
  *handle = 1;
  EXPECT_TRUE(handle.wait_for(0ms, [](int n) { return n == 1; }));
  std::thread([&] { EXPECT_FALSE(number.try_lock()); }).join();
}

TEST(waiters, only_those_whose_condition_holds_wake) {
  tarn::shared<int> number(0);
  std::atomic<int> looks{0};
  std::thread waiter([&] {
    auto handle = number.lock();
    handle.wait([&](int n) {
      ++looks;
      return n == 100;
    });
    EXPECT_EQ(*handle, 100);
  });
  while (looks == 0) std::this_thread::yield();
  number.with([](int& n) { n = 1; });
  const int before = looks;
  EXPECT_GE(before, 1);
  for (int round = 2; round <= 100; ++round) {
    number.with([&](int& n) { n = round; });
  }
  waiter.join();
  EXPECT_LE(looks, before + 99 + 3) << "one look for each change, and the waiter's own";
}

TEST(waiters, changes_before_a_wait_are_seen_by_others) {
  tarn::shared<int> turn(0);
  std::thread second_thread([&] { turn.with_when([](int t) { return t == 1; }, [](int& t) { t = 2; }); });
  auto handle = turn.lock();
  *handle = 1;
  handle.wait([](int t) { return t == 2; });
  EXPECT_EQ(*handle, 2);
  second_thread.join();
}

TEST(waiters, what_a_condition_throws_reaches_the_one_that_waits) {
  tarn::shared<int> number(0);
  std::atomic<bool> is_waiting{false};
  std::thread waiter([&] {
    auto handle = number.lock();
    EXPECT_THROW(handle.wait([&](int n) {
      is_waiting = true;
      return n == 0 ? false : throw std::runtime_error("odd");
    }),
                 std::runtime_error);
    EXPECT_EQ(*handle, 1) << "and it holds the lock";
  });
  while (!is_waiting) std::this_thread::yield();
  number.with([](int& n) { n = 1; });
  waiter.join();
  number.with([](int& n) { EXPECT_EQ(n, 1); });
}

}  // namespace
