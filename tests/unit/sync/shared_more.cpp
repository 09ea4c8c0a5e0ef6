// Tests the calls of a shared beside with(): waits with a deadline, early release, conditional changes, ranges of
// locks.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <shared_mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <tarn/shared.hpp>
#include <tarn/spin_mutex.hpp>
#include <tarn/with.hpp>

#include "support/child.hpp"
#include "support/worker.hpp"

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
  while (!has_looked) std::this_thread::yield();
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
  for (int account = 0; account < 5; ++account) accounts.emplace_back(100);
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
  for (int round = 0; round < 100; ++round) ASSERT_EQ(tarn::with_range(std::as_const(accounts), sum), 500);
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(tarn::with_range(accounts, [](std::span<int* const> values) { return values.size(); }), 5u);
  for (auto& account : accounts) EXPECT_TRUE(account.try_lock()) << "all are released";
}

#ifndef __SANITIZE_THREAD__  // that of GCC 12 does not know pthread_mutex_clocklock, which these mutexes call
/// Objects whose locks have deadlines.
class with_deadlines : public testing::Test {
 protected:
  void expect_all_are_free() {
    support::worker().run([this] {
      EXPECT_TRUE(a_.try_lock());
      EXPECT_TRUE(b_.try_lock());
      EXPECT_TRUE(accounts_[0].try_lock());
    });
  }
  std::optional<int> sum_for(std::chrono::milliseconds longest) {
    return tarn::with_for(longest, a_, b_, accounts_[0], [](int x, int y, int z) { return x + y + z; });
  }

  tarn::shared<int, std::timed_mutex> a_{1};
  tarn::shared<int, std::shared_timed_mutex> b_{2};
  std::deque<tarn::shared<int, std::timed_mutex>> accounts_{3};  // of 0
};

TEST_F(with_deadlines, every_lock_is_waited_for_in_time) {
  EXPECT_EQ(sum_for(0ms), 3) << "free locks need no time";
  EXPECT_TRUE(tarn::with_for(24h, b_, a_, [](int& x, int&) { ++x; }));
  support::worker holder;
  const auto expect_late = [&] {
    holder.run([&] {
      EXPECT_EQ(sum_for(2ms), std::nullopt);
      EXPECT_EQ(sum_for(-1ms), std::nullopt);
    });
  };
  {
    const auto handle = a_.lock();
    expect_late();
  }
  {
    const auto handle = b_.lock_shared();
    expect_late();
    holder.run(
        [&] { EXPECT_TRUE(tarn::with_for(0ms, a_, std::as_const(b_), [](int, const int& x) { EXPECT_EQ(x, 3); })); });
  }
  {
    const auto handle = accounts_[0].lock();
    expect_late();
  }
  expect_all_are_free();
  EXPECT_THROW(void(tarn::with_for(1ms, a_, b_, [](int, int) { throw std::runtime_error("no"); })), std::runtime_error);
  expect_all_are_free();
}

/// A mutex that is free for who waits for it, and never for who only tries.
struct contended_mutex {
  void lock() {}
  void unlock() {}
  bool try_lock() { return false; }
  bool try_lock_for(std::chrono::nanoseconds longest) {
    waits.push_back(longest);
    return true;
  }
  static inline std::vector<std::chrono::nanoseconds> waits;
};

TEST_F(with_deadlines, no_wait_takes_longer_than_what_is_left) {
  tarn::shared<int, contended_mutex> contended[2];
  EXPECT_FALSE(tarn::with_for(5ms, contended[0], contended[1], [](int&, int&) {}));
  auto& waits = contended_mutex::waits;
  ASSERT_GT(waits.size(), 1u);
  EXPECT_LE(waits.front(), 5ms);
  EXPECT_TRUE(std::is_sorted(waits.rbegin(), waits.rend())) << "each is shorter than the one before";
}

TEST_F(with_deadlines, a_lock_that_becomes_free_in_time_is_taken) {
  std::atomic<bool> is_held{false};
  std::thread holder([&] {
    const auto handle = b_.lock();
    is_held = true;
    std::this_thread::sleep_for(5ms);
  });
  while (!is_held) std::this_thread::yield();
  EXPECT_EQ(sum_for(24h), 3);
  holder.join();
}

TEST_F(with_deadlines, a_range_is_waited_for_in_time) {
  const auto count = [](std::span<int* const> values) { return values.size(); };
  EXPECT_EQ(tarn::with_range_for(0ms, accounts_, count), 3u);
  support::worker holder;
  {
    const auto handle = accounts_[1].lock();
    holder.run([&] { EXPECT_EQ(tarn::with_range_for(2ms, accounts_, count), std::nullopt); });
    holder.run([&] { EXPECT_TRUE(accounts_[0].try_lock() && accounts_[2].try_lock()); });
  }
  EXPECT_TRUE(tarn::with_range_for(2ms, std::as_const(accounts_), [](std::span<const int* const>) {}));
}

#if TARN_CHECKS
TEST_F(with_deadlines, what_is_locked_later_comes_after_all_of_them) {
  tarn::shared<int> later(0);
  EXPECT_TRUE(tarn::with_for(0ms, a_, b_, [&](int&, int&) { later.with([](int&) {}); }));
  EXPECT_TRUE(tarn::with_range_for(0ms, accounts_, [&](std::span<int* const>) { later.with([](int&) {}); }));
  const auto expect_fault = [&](auto lock) {
    EXPECT_EQ(support::in_child([&] { later.with([&](int&) { lock(); }); }).signal, SIGABRT);
  };
  expect_fault([&] { a_.with([](int&) {}); });
  expect_fault([&] { b_.with([](int&) {}); });
  expect_fault([&] { accounts_[2].with([](int&) {}); });
}
#endif
#endif

TEST(shared_calls_of_ranges, an_empty_one_is_fine) {
  std::deque<tarn::shared<int>> empty;
  EXPECT_EQ(tarn::with_range(empty, [](std::span<int* const> values) { return values.size(); }), 0u);
}

}  // namespace
