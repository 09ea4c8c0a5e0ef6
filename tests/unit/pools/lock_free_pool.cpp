// Pools without a lock: many threads grow them at once, blocks travel, and no block has two holders.
#include <tarn/lock_free_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/upstream.hpp"
#include "unit/pools/threaded_pools.hpp"

namespace {

using pool_tests::instance_counter;
using tarn::lock_free_pool;

TEST(lock_free_pool, creates_and_destroys) {
  lock_free_pool<instance_counter> pool;
  instance_counter* const object = pool.create(1);
  auto two = pool.make_unique(2);
  EXPECT_NE(object, two.get());
  EXPECT_THROW(static_cast<void>(pool.create(-1)), std::invalid_argument);
  pool.destroy(object);
  EXPECT_EQ(pool.create(3), object);
  pool.destroy(object);
  pool.destroy(nullptr);
  two.reset();
  EXPECT_EQ(instance_counter::alive, 0);
}

struct alignas(64) wide {
  char bytes[100];
};

TEST(lock_free_pool, blocks_are_apart_and_aligned) {
  support::upstream memory;
  lock_free_pool<wide> pool({.upstream = &memory, .first_chunk_blocks = 3});
  std::set<char*> places;
  for (int round = 0; round < 2; ++round) {
    std::vector<wide*> objects;
    for (int number = 0; number < 1000; ++number) {
      objects.push_back(pool.create());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(objects.back()) % 64, 0u);
      const auto next = places.insert(objects.back()->bytes).first;
      EXPECT_TRUE(next == places.begin() || *std::prev(next) + sizeof(wide) <= *next);
    }
    EXPECT_EQ(places.size(), 1000u);
    EXPECT_EQ(pool.capacity(), 1020u);  // 4 + 8 + … + 512
    for (wide* const object : objects) pool.destroy(object);
  }
}

TEST(lock_free_pool, limit_is_exact) {
  lock_free_pool<instance_counter> pool({.name = "all", .first_chunk_blocks = 4, .limit_blocks = 21});
  std::vector<instance_counter*> objects;
  for (int number = 0; number < 21; ++number) objects.push_back(pool.create());
  EXPECT_EQ(pool.try_allocate(), nullptr);
  EXPECT_THROW(static_cast<void>(pool.create()), tarn::pool_limit_reached);
  EXPECT_THROW(pool.reserve(22), tarn::pool_limit_reached);
  EXPECT_EQ(pool.capacity(), 21u);
  std::thread([&] { pool.destroy(objects.back()); }).join();
  EXPECT_EQ(pool.create(), objects.back()) << "freed by another thread";
  for (instance_counter* const object : objects) pool.destroy(object);
}

TEST(lock_free_pool, a_request_that_fails_loses_nothing) {
  pool_tests::fail_each_request<lock_free_pool<instance_counter>>([](auto& pool) {
    try {
      pool.reserve(3000);
      EXPECT_GE(pool.capacity(), 3000u);
    } catch (const std::bad_alloc&) {
    }
  });
}

// Every block bears its holder's name while it is held: if it were given to two, a name would be wrong. One thread
// frees, all others take from its frees, so that they meet on one stack. There are more of them than processors, so
// that they are interrupted anywhere; in builds with TARN_SMALL always at the worst point. Without the tag of
// with_next_tag this test fails.
TEST(lock_free_pool, no_block_is_with_two_threads) {
  struct item {
    std::atomic<std::uint64_t> holder{0};
    std::atomic<item*> next{nullptr};
  };
  lock_free_pool<item> pool({.first_chunk_blocks = 4, .limit_blocks = 12});
  constexpr std::uint64_t takers = 6;
  std::atomic<int> wrong{0};
  std::atomic<bool> must_stop{false};
  std::atomic<item*> returned{nullptr};  // a stack that is only ever emptied as a whole
  std::vector<std::thread> running;
  for (std::uint64_t id = 1; id <= takers; ++id) {
    running.emplace_back([&, id] {
      while (!must_stop.load(std::memory_order_relaxed)) {
        auto* const own_item = static_cast<item*>(pool.try_allocate());
        if (own_item == nullptr) {
          std::this_thread::yield();
          continue;
        }
        wrong += own_item->holder.exchange(id, std::memory_order_relaxed) != 0;
        wrong += own_item->holder.exchange(0, std::memory_order_relaxed) != id;
        item* first = returned.load(std::memory_order_relaxed);
        do {
          own_item->next.store(first, std::memory_order_relaxed);
        } while (
            !returned.compare_exchange_weak(first, own_item, std::memory_order_release, std::memory_order_relaxed));
      }
    });
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (std::chrono::steady_clock::now() < end && wrong == 0) {
    item* next = returned.exchange(nullptr, std::memory_order_acquire);
    if (next == nullptr) std::this_thread::yield();
    for (int steps = 100; next != nullptr && steps != 0; --steps) {  // without the tag it may have become circular
      item* const current = next;
      next = current->next.load(std::memory_order_relaxed);
      pool.deallocate(current);
    }
  }
  must_stop = true;
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(lock_free_pool, grows_while_many_ask) {
  for (int round = 0; round < 20; ++round) {
    support::upstream memory;
    struct locked : std::pmr::memory_resource {
      support::upstream& upstream;
      std::mutex lock;
      explicit locked(support::upstream& upstream_) : upstream(upstream_) {}
      void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        const std::lock_guard hold(lock);
        return upstream.allocate(bytes, alignment);
      }
      void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        const std::lock_guard hold(lock);
        upstream.deallocate(block, bytes, alignment);
      }
      bool do_is_equal(const std::pmr::memory_resource& resource) const noexcept override { return this == &resource; }
    } guarded(memory);
    {
      lock_free_pool<instance_counter> pool({.upstream = &guarded, .first_chunk_blocks = 1});
      std::mutex lock;
      std::set<instance_counter*> objects;
      std::vector<std::thread> running;
      for (int id = 0; id < 4; ++id) {
        running.emplace_back([&] {
          for (int number = 0; number < 100; ++number) {
            instance_counter* const object = pool.create();
            const std::lock_guard hold(lock);
            EXPECT_TRUE(objects.insert(object).second);
          }
        });
      }
      for (std::thread& thread : running) thread.join();
      for (instance_counter* const object : objects) pool.destroy(object);
      EXPECT_LT(pool.capacity(), 1024u);
    }
  }
  EXPECT_EQ(instance_counter::alive, 0);
}

// A thread may be stopped after it has installed a chunk and before it has counted it. Others go on, and ask for
// nothing.
TEST(lock_free_pool, thread_that_is_stopped_during_growth_blocks_nobody) {
  support::upstream memory;
  tarn::detail::lock_free_store store(16, 16, {.upstream = &memory, .first_chunk_blocks = 4});
  ASSERT_TRUE(store.grow(0));
  store.chunk_count.store(0, std::memory_order_relaxed);
  store.chunks[0].links.store(nullptr, std::memory_order_relaxed);
  EXPECT_TRUE(store.grow(0));
  EXPECT_EQ(store.chunk_count.load(std::memory_order_relaxed), 1u);
  EXPECT_EQ(memory.requests(), 1u);
  EXPECT_EQ(store.chunks[0].links.load(std::memory_order_relaxed)[3].load(std::memory_order_relaxed), 0u);
  EXPECT_TRUE(store.grow(0)) << "a thread that looked long ago changes nothing";
  EXPECT_EQ(store.chunk_count.load(std::memory_order_relaxed), 1u);
}

TEST(lock_free_pool_death, foreign_blocks_are_named) {
  lock_free_pool<std::uint64_t[4]> pool({.name = "all"});
  void* const block = pool.allocate();
  int local = 0;
  EXPECT_DEATH(pool.deallocate(&local),
               "^tarn: pool \"all\" at 0x[0-9a-f]+: foreign pointer 0x[0-9a-f]+: not a block of this pool\n");
  EXPECT_DEATH(pool.deallocate(static_cast<char*>(block) + 8),
               "^tarn: pool \"all\" at 0x[0-9a-f]+: foreign pointer 0x[0-9a-f]+: 8 bytes into the 32-byte block at ");
}

}  // namespace
