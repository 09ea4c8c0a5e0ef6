// Tests pools that threads share: slots, exchange with the depot, ends of threads and pools, forks.
#include <tarn/shared_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "support/upstream.hpp"
#include "support/worker.hpp"
#include "unit/pools/threaded_pools.hpp"

namespace {

using pool_tests::instance_counter;
using support::worker;
using tarn::shared_pool;

constexpr std::size_t slots = tarn::detail::pool_slots;

TEST(shared_pool, creates_and_destroys) {
  shared_pool<instance_counter> pool;
  instance_counter* const object = pool.create(1);
  auto two = pool.make_unique(2);
  EXPECT_NE(object, two.get());
  EXPECT_EQ(instance_counter::alive, 2);
  EXPECT_THROW(static_cast<void>(pool.create(-1)), std::invalid_argument);
  pool.destroy(object);
  EXPECT_EQ(pool.create(3), object) << "what a thread freed last it gets first";
  pool.destroy(object);
  pool.destroy(nullptr);
  two.reset();
  EXPECT_EQ(instance_counter::alive, 0);
  EXPECT_TRUE(pool.is_valid());
}

TEST(shared_pool, each_pool_has_its_own_blocks) {
  std::vector<std::unique_ptr<shared_pool<std::uint64_t>>> pools;
  std::vector<std::vector<std::uint64_t*>> blocks(50);
  for (std::uint64_t pool = 0; pool < blocks.size(); ++pool) {
    pools.push_back(std::make_unique<shared_pool<std::uint64_t>>());
    for (int number = 0; number < 20; ++number) blocks[pool].push_back(pools[pool]->create(pool));
  }
  for (std::uint64_t pool = 0; pool < blocks.size(); ++pool) {
    for (std::uint64_t* const object : blocks[pool]) {
      EXPECT_EQ(*object, pool);
      pools[pool]->destroy(object);
    }
    EXPECT_TRUE(pools[pool]->is_valid());
  }
}

// The number of a pool that ended is reused; blocks that threads kept of the old pool must not appear in the new one.
TEST(shared_pool, a_pool_may_end_while_threads_that_used_it_live) {
  worker second_thread;
  for (int round = 0; round < 20; ++round) {
    support::upstream memory;
    {
      shared_pool<instance_counter> pool({.upstream = &memory});
      instance_counter* own_object = pool.create(1);
      instance_counter* theirs = nullptr;
      second_thread.run([&] {
        theirs = pool.create(2);
        pool.destroy(own_object);
      });
      pool.destroy(theirs);
      EXPECT_TRUE(pool.is_valid());
    }
    EXPECT_EQ(memory.blocks(), 0u);
  }
  EXPECT_EQ(instance_counter::alive, 0);
}

TEST(shared_pool, the_end_of_a_thread_returns_what_it_kept) {
  shared_pool<instance_counter> pool({.limit_blocks = slots});
  for (int round = 0; round < 50; ++round) {
    std::thread([&] {
      std::vector<instance_counter*> own_objects;
      for (std::size_t number = 0; number < slots; ++number) own_objects.push_back(pool.create());
      EXPECT_EQ(pool.try_allocate(), nullptr);
      for (instance_counter* const object : own_objects) pool.destroy(object);
    }).join();
  }
  EXPECT_EQ(pool.statistics().in_use, 0u);
  EXPECT_EQ(pool.statistics().capacity, slots);
}

// Some destructors of thread_local objects run after the slots are gone.
struct late_user {
  shared_pool<instance_counter>* pool = nullptr;
  instance_counter* object = nullptr;
  ~late_user() {
    if (pool != nullptr) {
      pool->destroy(object);
      pool->destroy(pool->create(1));
    }
  }
};

TEST(shared_pool, is_used_by_destructors_of_a_thread_that_ends) {
  shared_pool<instance_counter> pool;
  std::thread([&] {
    static thread_local late_user user;
    user.pool = &pool;
    user.object = pool.create(5);
  }).join();
  EXPECT_EQ(instance_counter::alive, 0);
  EXPECT_EQ(pool.statistics().in_use, 0u);
}

TEST(shared_pool, limit_is_exact) {
  shared_pool<instance_counter> pool({.name = "all", .limit_blocks = 3});
  std::vector<instance_counter*> objects{pool.create(), pool.create(), pool.create()};
  EXPECT_EQ(pool.try_allocate(), nullptr);
  EXPECT_THROW(static_cast<void>(pool.create()), tarn::pool_limit_reached);
  EXPECT_EQ(pool.statistics().capacity, 3u);
  pool.destroy(objects.back());
  EXPECT_NE(objects.back() = pool.create(), nullptr);
  for (instance_counter* const object : objects) pool.destroy(object);
}

TEST(shared_pool, a_request_that_fails_loses_nothing) {
  pool_tests::fail_each_request<shared_pool<instance_counter>>([](auto& pool) { EXPECT_TRUE(pool.is_valid()); });
}

TEST(shared_pool, steady_state_asks_for_nothing) {
  support::upstream memory;
  shared_pool<instance_counter> pool({.upstream = &memory});
  std::size_t requests = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<instance_counter*> objects;
    for (int number = 0; number < 2000; ++number) objects.push_back(pool.create(number));
    for (instance_counter* const object : objects) pool.destroy(object);
    EXPECT_TRUE(requests == 0 || memory.requests() == requests);
    requests = memory.requests();
  }
}

// Blocks circulate: each thread frees the blocks that the one before it made, and checks the contents.
TEST(shared_pool, blocks_travel_between_threads) {
  struct item {
    std::uint64_t maker;
    std::uint64_t number;
  };
  constexpr std::size_t threads = 3;
  constexpr std::uint64_t rounds = TARN_SMALL ? 300 : 2000;
  shared_pool<item> pool({.first_chunk_blocks = 4});
  struct box {
    std::mutex lock;
    std::vector<item*> content;
  };
  std::vector<box> boxes(threads);
  std::atomic<bool> is_wrong{false};
  std::vector<std::thread> running;
  for (std::uint64_t id = 0; id < threads; ++id) {
    running.emplace_back([&, id] {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        std::vector<item*> batch;
        for (std::uint64_t number = 0; number < round % 17; ++number) {
          batch.push_back(pool.create(item{id, round}));
        }
        box& next = boxes[(id + 1) % threads];
        {
          const std::lock_guard hold(next.lock);
          next.content.insert(next.content.end(), batch.begin(), batch.end());
        }
        batch.clear();
        {
          const std::lock_guard hold(boxes[id].lock);
          batch.swap(boxes[id].content);
        }
        for (item* const received : batch) {
          is_wrong = is_wrong || received->maker != (id + threads - 1) % threads || received->number >= rounds;
          pool.destroy(received);
        }
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_FALSE(is_wrong);
  for (box& from_box : boxes) {
    for (item* const left : from_box.content) pool.destroy(left);
  }
  EXPECT_TRUE(pool.is_valid());
}

// Pools are made and destroyed while threads start and end.
TEST(shared_pool, ends_of_threads_and_pools_meet) {
  std::atomic<bool> must_stop{false};
  std::mutex lock;
  std::optional<shared_pool<std::uint64_t>> pool;
  std::thread renewer([&] {
    for (int round = 0; round < (TARN_SMALL ? 100 : 500); ++round) {
      const std::lock_guard hold(lock);
      pool.emplace();
    }
    must_stop = true;
  });
  std::vector<std::thread> users;
  for (int id = 0; id < 2; ++id) {
    users.emplace_back([&] {
      while (!must_stop) {
        std::thread([&] {
          const std::lock_guard hold(lock);
          if (pool) {
            std::uint64_t* const object = pool->create(1u);
            pool->destroy(pool->create(2u));
            pool->destroy(object);
          }
        }).join();  // its slots end outside of the lock
      }
    });
  }
  renewer.join();
  for (std::thread& thread : users) thread.join();
}

#if !defined(__SANITIZE_THREAD__)  // its runtime does not follow a fork with threads
TEST(shared_pool, works_in_a_forked_child) {
  shared_pool<instance_counter> pool;
  std::atomic<bool> must_stop{false};
  std::thread second_thread([&] {
    while (!must_stop) {
      std::vector<instance_counter*> objects;
      for (int number = 0; number < 300; ++number) objects.push_back(pool.create(number));
      for (instance_counter* const object : objects) pool.destroy(object);
    }
  });
  for (int round = 0; round < 10; ++round) {
    const support::ending child_ending = support::in_child([&] {
      for (int number = 0; number < 1000; ++number) static_cast<void>(pool.create(number));
      return pool.is_valid() ? 0 : 1;
    });
    EXPECT_EQ(child_ending, support::ending{});
  }
  must_stop = true;
  second_thread.join();
}
#endif

#if TARN_CHECKS && !TARN_ADDRESS_SANITIZER
TEST(shared_pool_death, a_double_free_is_named_at_once) {
  shared_pool<std::uint64_t> pool({.name = "all"});
  std::uint64_t* const object = pool.create(1u);
  pool.destroy(object);
  EXPECT_DEATH(pool.destroy(object),
               "^tarn: pool \"all\" at 0x[0-9a-f]+: double free of the 8-byte block at 0x[0-9a-f]+\n");
  shared_pool<std::uint64_t> second_pool;
  EXPECT_DEATH(pool.destroy(second_pool.create(1u)),
               "^tarn: pool \"all\" at 0x[0-9a-f]+: foreign pointer 0x[0-9a-f]+: not a block of this pool\n");
}
#endif

}  // namespace
