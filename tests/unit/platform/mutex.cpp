#include "platform/mutex.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "platform/fake.hpp"

namespace {

using tarn::platform::locked;
using tarn::platform::mutex;
namespace fake = tarn::platform::fake;

TEST(mutex, is_held_by_one) {
  mutex door;
  door.lock();
  EXPECT_FALSE(door.try_lock());
  door.unlock();
  EXPECT_TRUE(door.try_lock());
  door.unlock();
  {
    const locked hold(door);
    EXPECT_FALSE(door.try_lock());
  }
  EXPECT_TRUE(door.try_lock());
  door.reset();  // as in the child of a fork
  EXPECT_TRUE(door.try_lock());
  door.unlock();
}

TEST(mutex, who_forks_may_lock_again) {
  mutex door;
  door.lock_for_fork();
  for (int round = 0; round < 2; ++round) {
    const locked again(door);
    const locked and_again(door);
  }
  std::thread([&] { EXPECT_FALSE(door.try_lock()); }).join();  // held through all of that
  std::atomic<bool> inside{false};
  std::thread waiter([&] {
    const locked hold(door);
    inside = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(inside);
  door.unlock_after_fork();
  waiter.join();
  EXPECT_TRUE(door.try_lock());
  door.unlock_after_fork();  // one that no fork holds stays as it is
  EXPECT_FALSE(door.try_lock());
  door.unlock();
}

TEST(mutex, is_open_in_the_child_of_who_forked) {
  mutex door;
  door.lock_for_fork();
  door.reset();
  EXPECT_TRUE(door.try_lock());
  std::thread([&] { EXPECT_FALSE(door.try_lock()); }).join();
  door.unlock();
  EXPECT_TRUE(door.try_lock());
}

TEST(mutex, costs_no_system_call_without_contention) {
  mutex door;
  fake::reset();
  for (int round = 0; round < 1'000; ++round) {
    const locked hold(door);
  }
  EXPECT_EQ(fake::kernel_calls(), 0u);
}

TEST(mutex, guards_what_threads_change) {
  mutex door;
  std::uint64_t count = 0;  // not atomic: the lock is what orders
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20'000; ++round) {
        const locked hold(door);
        ++count;
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  EXPECT_EQ(count, 80'000u);
}

TEST(mutex, a_waiter_sleeps_and_is_woken) {
  mutex door;
  fake::reset();
  door.lock();
  std::thread waiter([&] { const locked hold(door); });
  while (fake::kernel_calls() == 0) {  // it has gone to sleep, or is about to
    std::this_thread::yield();
  }
  door.unlock();
  waiter.join();
  EXPECT_TRUE(door.try_lock());
  door.unlock();
}

}  // namespace
