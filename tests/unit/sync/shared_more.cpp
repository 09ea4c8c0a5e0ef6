// Tests the calls of a shared beside with(): waits with a deadline, early release, conditional changes, ranges of
// locks.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <numeric>
#include <shared_mutex>
#include <span>
#include <thread>
#include <vector>

#include <tarn/shared.hpp>
#include <tarn/spin_mutex.hpp>
#include <tarn/with.hpp>

#include "support/child.hpp"

namespace {

using namespace std::chrono_literals;

TEST(shared_readers, wait_for_a_lock_until_a_deadline) {
  tarn::shared<int, std::shared_timed_mutex> number(1);
  const auto first = number.lock_shared();
  std::thread([&] {
    if (const auto second = number.try_lock_shared_for(0ms)) {
      EXPECT_EQ(*second, 1);
    } else {
      ADD_FAILURE() << "readers do not exclude each other";
    }
  }).join();
  tarn::shared<int, std::shared_timed_mutex> locked(1);
  const auto handle = locked.lock();
  std::thread([&] { EXPECT_FALSE(locked.try_lock_shared_for(1ms)); }).join();
}

template <class Mutex>
class shared_calls : public testing::Test {};
using mutexes = testing::Types<std::mutex, tarn::spin_mutex, std::shared_mutex>;
TYPED_TEST_SUITE(shared_calls, mutexes);

TYPED_TEST(shared_calls, a_wait_ends_at_its_deadline) {
  tarn::shared<int, TypeParam> number(0);
  const auto is_one = [](int n) { return n == 1; };
  EXPECT_FALSE(number.with_when_for(1ms, is_one, [](int& n) { n = 2; }));
  EXPECT_EQ(number.with_when_for(1ms, is_one, [](int& n) { return n; }), std::nullopt);
  EXPECT_EQ(std::as_const(number).read_when_for(1ms, is_one, [](const int& n) { return n; }), std::nullopt);
  number.with([](int& n) { n = 1; });
  EXPECT_EQ(number.with_when_for(0ms, is_one, [](int& n) { return n; }), 1);
  EXPECT_EQ(std::as_const(number).read_when_for(0ms, is_one, [](const int& n) { return n; }), 1);
  auto handle = number.lock();
  EXPECT_TRUE(handle.wait_until(std::chrono::steady_clock::now(), is_one));
  EXPECT_FALSE(handle.wait_until(std::chrono::steady_clock::now(), [](int n) { return n == 2; }));
}

TYPED_TEST(shared_calls, readers_wait_for_a_condition) {
  tarn::shared<int, TypeParam> number(0);
  std::atomic<bool> has_looked{false};
  int value = 0;
  std::thread waiter([&] {
    value = std::as_const(number).read_when(
        [&](int n) {
          has_looked = true;
          return n == 7;
        },
        [](const int& n) { return n; });
  });
  while (!has_looked) {
    std::this_thread::yield();
  }
  number.with([](int& n) { n = 7; });
  waiter.join();
  EXPECT_EQ(value, 7);
}

TYPED_TEST(shared_calls, a_handle_unlocks_early_and_once) {
  tarn::shared<int, TypeParam> number(0);
  auto handle = number.lock();
  *handle = 1;
  handle.unlock();
  EXPECT_TRUE(number.try_lock()) << "and the lock is free";
  handle.unlock();
  EXPECT_TRUE(number.try_lock()) << "nothing was released twice";
}

TEST(shared_calls_of_readers, unlock_early) {
  tarn::shared<int, std::shared_mutex> number(0);
  auto handle = number.lock_shared();
  handle.unlock();
  EXPECT_TRUE(number.try_lock());
}

#if TARN_CHECKS
TEST(shared_calls_of_readers, use_after_unlock_is_named) {
  const auto child_ending = support::in_child([] {
    tarn::shared<int> number(0);
    auto handle = number.lock();
    handle.unlock();
    return *handle;
  });
  EXPECT_NE(child_ending.error.find("tarn::shared"), std::string::npos) << child_ending;
}
#endif

TYPED_TEST(shared_calls, a_change_is_made_only_where_it_is_wanted) {
  tarn::shared<int, TypeParam> number(0);
  EXPECT_FALSE(number.with_if([](int n) { return n == 1; }, [](int& n) { n = 2; }));
  EXPECT_EQ(number.copy(), 0);
  EXPECT_EQ(number.with_if([](int n) { return n == 0; }, [](int& n) { return n = 3; }), 3);
  EXPECT_EQ(number.copy(), 3);
}

TYPED_TEST(shared_calls, the_condition_is_looked_at_again_under_the_lock) {
  tarn::shared<int, TypeParam> number(0);
  int looks = 0;
  EXPECT_FALSE(number.with_if([&](int) { return ++looks == 1; }, [](int& n) { n = 1; })) << "it has changed in between";
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(number.copy(), 0);
}

TYPED_TEST(shared_calls, a_range_is_locked_as_one) {
  std::deque<tarn::shared<int, TypeParam>> accounts;
  for (int account = 0; account < 5; ++account) {
    accounts.emplace_back(100);
  }
  std::vector<std::thread> running;
  for (int thread = 0; thread < 3; ++thread) {
    running.emplace_back([&, thread] {
      for (int round = 0; round < 300; ++round) {
        const auto move_one = [&](std::span<int* const> values) {
          --*values[static_cast<std::size_t>(round + thread) % values.size()];
          ++*values[static_cast<std::size_t>(round) % values.size()];
        };
        if (thread == 0) {
          tarn::with_range(accounts, move_one);
        } else {
          tarn::with_range(std::views::reverse(accounts), move_one);
        }
      }
    });
  }
  const auto sum = [](std::span<const int* const> values) {
    return std::accumulate(values.begin(), values.end(), 0, [](int total, const int* value) { return total + *value; });
  };
  for (int round = 0; round < 100; ++round) {
    ASSERT_EQ(tarn::with_range(std::as_const(accounts), sum), 500);
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  EXPECT_EQ(tarn::with_range(accounts, [](std::span<int* const> values) { return values.size(); }), 5u);
  for (auto& account : accounts) {
    EXPECT_TRUE(account.try_lock()) << "all are released";
  }
}

TEST(shared_calls_of_ranges, an_empty_one_is_fine) {
  std::deque<tarn::shared<int>> empty;
  EXPECT_EQ(tarn::with_range(empty, [](std::span<int* const> values) { return values.size(); }), 0u);
}

}  // namespace
