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

namespace {

using support::worker;
using tarn::shared_pool;

constexpr std::size_t slots = tarn::detail::pool_slots;

struct counted {
  explicit counted(int value_ = 0) : value(value_) {
    if (value < 0) {
      throw std::invalid_argument("negative");
    }
    ++alive;
  }
  ~counted() { --alive; }
  int value;
  static inline std::atomic<int> alive{0};
};

TEST(shared_pool, creates_and_destroys) {
  shared_pool<counted> all;
  counted* const one = all.create(1);
  auto two = all.make_unique(2);
  EXPECT_NE(one, two.get());
  EXPECT_EQ(counted::alive, 2);
  EXPECT_THROW(static_cast<void>(all.create(-1)), std::invalid_argument);
  all.destroy(one);
  EXPECT_EQ(all.create(3), one) << "what a thread freed last it gets first";
  all.destroy(one);
  all.destroy(nullptr);
  two.reset();
  EXPECT_EQ(counted::alive, 0);
  EXPECT_TRUE(all.is_valid());
}

TEST(shared_pool, each_pool_has_its_own_blocks) {
  std::vector<std::unique_ptr<shared_pool<std::uint64_t>>> pools;
  std::vector<std::vector<std::uint64_t*>> blocks(50);
  for (std::uint64_t pool = 0; pool < blocks.size(); ++pool) {
    pools.push_back(std::make_unique<shared_pool<std::uint64_t>>());
    for (int each = 0; each < 20; ++each) {
      blocks[pool].push_back(pools[pool]->create(pool));
    }
  }
  for (std::uint64_t pool = 0; pool < blocks.size(); ++pool) {
    for (std::uint64_t* const each : blocks[pool]) {
      EXPECT_EQ(*each, pool);
      pools[pool]->destroy(each);
    }
    EXPECT_TRUE(pools[pool]->is_valid());
  }
}

// The number of a pool that ended is reused; blocks that threads kept of the old pool must not appear in the new one.
TEST(shared_pool, a_pool_may_end_while_threads_that_used_it_live) {
  worker other;
  for (int round = 0; round < 20; ++round) {
    support::upstream memory;
    {
      shared_pool<counted> all({.upstream = &memory});
      counted* mine = all.create(1);
      counted* theirs = nullptr;
      other.run([&] {
        theirs = all.create(2);
        all.destroy(mine);
      });
      all.destroy(theirs);
      EXPECT_TRUE(all.is_valid());
    }
    EXPECT_EQ(memory.blocks(), 0u);
  }
  EXPECT_EQ(counted::alive, 0);
}

TEST(shared_pool, the_end_of_a_thread_returns_what_it_kept) {
  shared_pool<counted> all({.limit = slots});
  for (int round = 0; round < 50; ++round) {
    std::thread([&] {
      std::vector<counted*> mine;
      for (std::size_t each = 0; each < slots; ++each) {
        mine.push_back(all.create());
      }
      EXPECT_EQ(all.try_allocate(), nullptr);
      for (counted* const each : mine) {
        all.destroy(each);
      }
    }).join();
  }
  EXPECT_EQ(all.statistics().in_use, 0u);
  EXPECT_EQ(all.statistics().capacity, slots);
}

// Some destructors of thread_local objects run after the slots are gone.
struct late_user {
  shared_pool<counted>* pool = nullptr;
  counted* object = nullptr;
  ~late_user() {
    if (pool != nullptr) {
      pool->destroy(object);
      pool->destroy(pool->create(1));
    }
  }
};

TEST(shared_pool, is_used_by_destructors_of_a_thread_that_ends) {
  shared_pool<counted> all;
  std::thread([&] {
    static thread_local late_user late;
    late.pool = &all;
    late.object = all.create(5);
  }).join();
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(all.statistics().in_use, 0u);
}

TEST(shared_pool, limit_and_statistics) {
  shared_pool<counted> all({.name = "all", .limit = 3});
  std::vector<counted*> made{all.create(), all.create(), all.create()};
  EXPECT_EQ(all.try_allocate(), nullptr);
  EXPECT_THROW(static_cast<void>(all.create()), tarn::pool_limit_reached);
  EXPECT_EQ(all.statistics().capacity, 3u);
  all.destroy(made.back());
  EXPECT_NE(made.back() = all.create(), nullptr);
  for (counted* const each : made) {
    all.destroy(each);
  }
}

TEST(shared_pool, a_request_that_fails_loses_nothing) {
  bool failed = true;
  for (std::size_t n = 1; failed; ++n) {
    support::upstream memory;
    memory.fail_request(n);
    shared_pool<counted> all({.upstream = &memory, .first_chunk = 4});
    std::vector<counted*> made;
    for (int each = 0; each < 300; ++each) {
      try {
        made.push_back(all.create(each));
      } catch (const std::bad_alloc&) {
      }
    }
    EXPECT_GE(made.size(), 299u);
    for (counted* const each : made) {
      all.destroy(each);
    }
    ASSERT_TRUE(all.is_valid());
    failed = memory.refused() != 0;
  }
  EXPECT_EQ(counted::alive, 0);
}

TEST(shared_pool, steady_state_asks_for_nothing) {
  support::upstream memory;
  shared_pool<counted> all({.upstream = &memory});
  std::size_t requests = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<counted*> made;
    for (int each = 0; each < 2000; ++each) {
      made.push_back(all.create(each));
    }
    for (counted* const each : made) {
      all.destroy(each);
    }
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
  shared_pool<item> all({.first_chunk = 4});
  struct box {
    std::mutex lock;
    std::vector<item*> content;
  };
  std::vector<box> boxes(threads);
  std::atomic<bool> wrong{false};
  std::vector<std::thread> running;
  for (std::uint64_t id = 0; id < threads; ++id) {
    running.emplace_back([&, id] {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        std::vector<item*> batch;
        for (std::uint64_t each = 0; each < round % 17; ++each) {
          batch.push_back(all.create(item{id, round}));
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
        for (item* const each : batch) {
          wrong = wrong || each->maker != (id + threads - 1) % threads || each->number >= rounds;
          all.destroy(each);
        }
      }
    });
  }
  for (std::thread& each : running) {
    each.join();
  }
  EXPECT_FALSE(wrong);
  for (box& each : boxes) {
    for (item* const left : each.content) {
      all.destroy(left);
    }
  }
  EXPECT_TRUE(all.is_valid());
}

// Pools are made and destroyed while threads start and end.
TEST(shared_pool, ends_of_threads_and_pools_meet) {
  std::atomic<bool> stop{false};
  std::mutex lock;
  std::optional<shared_pool<std::uint64_t>> pool;
  std::thread renewer([&] {
    for (int round = 0; round < (TARN_SMALL ? 100 : 500); ++round) {
      const std::lock_guard hold(lock);
      pool.emplace();
    }
    stop = true;
  });
  std::vector<std::thread> users;
  for (int id = 0; id < 2; ++id) {
    users.emplace_back([&] {
      while (!stop) {
        std::thread([&] {
          const std::lock_guard hold(lock);
          if (pool) {
            std::uint64_t* const one = pool->create(1u);
            pool->destroy(pool->create(2u));
            pool->destroy(one);
          }
        }).join();  // its slots end outside of the lock
      }
    });
  }
  renewer.join();
  for (std::thread& each : users) {
    each.join();
  }
}

#if !defined(__SANITIZE_THREAD__)  // its runtime does not follow a fork with threads
TEST(shared_pool, works_in_a_forked_child) {
  shared_pool<counted> all;
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      std::vector<counted*> made;
      for (int each = 0; each < 300; ++each) {
        made.push_back(all.create(each));
      }
      for (counted* const each : made) {
        all.destroy(each);
      }
    }
  });
  for (int round = 0; round < 10; ++round) {
    const support::ending seen = support::in_child([&] {
      for (int each = 0; each < 1000; ++each) {
        static_cast<void>(all.create(each));
      }
      return all.is_valid() ? 0 : 1;
    });
    EXPECT_EQ(seen, support::ending{});
  }
  stop = true;
  other.join();
}
#endif

#if TARN_CHECKS && !TARN_ADDRESS_SANITIZER
TEST(shared_pool_death, a_double_free_is_named_at_once) {
  shared_pool<std::uint64_t> all({.name = "all"});
  std::uint64_t* const one = all.create(1u);
  all.destroy(one);
  EXPECT_DEATH(all.destroy(one),
               "^tarn: pool \"all\" at 0x[0-9a-f]+: double free of the 8-byte block at 0x[0-9a-f]+\n");
  shared_pool<std::uint64_t> other;
  EXPECT_DEATH(all.destroy(other.create(1u)),
               "^tarn: pool \"all\" at 0x[0-9a-f]+: foreign pointer 0x[0-9a-f]+: not a "
               "block of this pool\n");
}
#endif

}  // namespace
