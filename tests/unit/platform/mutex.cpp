#include "platform/mutex.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "platform/fake/platform.hpp"

namespace {

using tarn::platform::locked;
using tarn::platform::mutex;
namespace fake = tarn::platform::fake;

TEST(mutex, is_held_by_one) {
  mutex door(tarn::platform::lock_rank::isolated);
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
  door.unlock();
}

TEST(mutex, who_forks_may_lock_again) {
  mutex door(tarn::platform::lock_rank::isolated);
  door.lock_for_fork();
  for (int round = 0; round < 2; ++round) {
    const locked second(door);
    const locked and_again(door);
  }
  std::thread([&] { EXPECT_FALSE(door.try_lock()); }).join();  // held all the time
  std::atomic<bool> is_inside{false};
  std::thread waiter([&] {
    const locked hold(door);
    is_inside = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(is_inside);
  door.unlock_after_fork();
  waiter.join();
  EXPECT_TRUE(door.try_lock());
  door.unlock_after_fork();  // a mutex that no fork holds stays as it is
  EXPECT_FALSE(door.try_lock());
  door.unlock();
}

TEST(mutex, a_handler_of_a_fork_may_fork) {
  mutex door(tarn::platform::lock_rank::isolated);
  door.lock_for_fork();
  door.lock_for_fork();
  door.unlock_after_fork();
  door.unlock_after_fork();
  EXPECT_TRUE(door.try_lock());
  door.unlock();
}

TEST(mutex, is_open_in_the_child_of_who_forked) {
  mutex door(tarn::platform::lock_rank::isolated);
  door.lock_for_fork();
  door.reset();
  EXPECT_TRUE(door.try_lock());
  std::thread([&] { EXPECT_FALSE(door.try_lock()); }).join();
  door.unlock();
  EXPECT_TRUE(door.try_lock());
  door.unlock();
}

TEST(mutex, costs_no_system_call_without_contention) {
  mutex door(tarn::platform::lock_rank::isolated);
  fake::reset();
  for (int round = 0; round < 1'000; ++round) {
    const locked hold(door);
  }
  EXPECT_EQ(fake::kernel_calls(), 0u);
}

TEST(mutex, guards_what_threads_change) {
  mutex door(tarn::platform::lock_rank::isolated);
  std::uint64_t count = 0;  // not atomic: the lock orders it
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20'000; ++round) {
        const locked hold(door);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 80'000u);
}

TEST(mutex, a_waiter_sleeps_and_is_woken) {
  mutex door(tarn::platform::lock_rank::isolated);
  fake::reset();
  door.lock();
  std::thread waiter([&] { const locked hold(door); });
  while (fake::kernel_calls() == 0) {  // it sleeps, or is about to
    std::this_thread::yield();
  }
  door.unlock();
  waiter.join();
  EXPECT_TRUE(door.try_lock());
  door.unlock();
}

#if TARN_CHECKS
using tarn::platform::lock_rank;

TEST(lock_rank, rises) {
  mutex heap(lock_rank::heap);
  mutex magazines(lock_rank::magazines);
  {
    const locked first(heap);
    const locked second(magazines);
  }
  const locked first(magazines);
  EXPECT_DEATH(heap.lock(), "broken invariant.*locks are taken by rising rank");
  EXPECT_DEATH(static_cast<void>(heap.try_lock()), "locks are taken by rising rank");
  EXPECT_DEATH(heap.lock_for_fork(), "no lock is held when the process forks");
}

TEST(lock_rank, is_free_for_one_that_is_held_alone) {
  mutex heap(lock_rank::heap);
  mutex lone_mutex(lock_rank::isolated);
  {
    const locked first(heap);
    EXPECT_DEATH(lone_mutex.lock(), "locks are taken by rising rank");
  }
  const locked first(lone_mutex);
  EXPECT_DEATH(heap.lock(), "under this lock no other is taken");
}

TEST(lock_rank, rises_around_a_fork_too) {
  mutex heap(lock_rank::heap);
  mutex space(lock_rank::space);
  mutex other_space(lock_rank::space);
  mutex lone_mutex(lock_rank::isolated);
  mutex registry_mutex(lock_rank::registry);
  space.lock_for_fork();
  other_space.lock_for_fork();
  lone_mutex.lock_for_fork();
  { const locked hold(registry_mutex); }  // meets no other thread
  EXPECT_DEATH(heap.lock_for_fork(), "around a fork, too, locks are taken by rising rank");
  lone_mutex.unlock_after_fork();
  other_space.unlock_after_fork();
  space.reset();  // as in a child
  const locked first(heap);
  const locked second(space);
}
#endif

}  // namespace
