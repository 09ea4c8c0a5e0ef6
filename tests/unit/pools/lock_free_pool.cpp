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

namespace {

using tarn::lock_free_pool;

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

TEST(lock_free_pool, creates_and_destroys) {
  lock_free_pool<counted> all;
  counted* const one = all.create(1);
  auto two = all.make_unique(2);
  EXPECT_NE(one, two.get());
  EXPECT_THROW(static_cast<void>(all.create(-1)), std::invalid_argument);
  all.destroy(one);
  EXPECT_EQ(all.create(3), one);
  all.destroy(one);
  all.destroy(nullptr);
  two.reset();
  EXPECT_EQ(counted::alive, 0);
}

struct alignas(64) wide {
  char bytes[100];
};

TEST(lock_free_pool, blocks_are_apart_and_aligned) {
  support::upstream memory;
  lock_free_pool<wide> all({.upstream = &memory, .first_chunk = 3});
  std::set<char*> places;
  for (int round = 0; round < 2; ++round) {
    std::vector<wide*> made;
    for (int each = 0; each < 1000; ++each) {
      made.push_back(all.create());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made.back()) % 64, 0u);
      const auto next = places.insert(made.back()->bytes).first;
      EXPECT_TRUE(next == places.begin() || *std::prev(next) + sizeof(wide) <= *next);
    }
    EXPECT_EQ(places.size(), 1000u);
    EXPECT_EQ(all.capacity(), 1020u);  // 4 + 8 + … + 512
    for (wide* const each : made) {
      all.destroy(each);
    }
  }
}

TEST(lock_free_pool, limit_is_exact) {
  lock_free_pool<counted> all({.name = "all", .first_chunk = 4, .limit = 21});
  std::vector<counted*> made;
  for (int each = 0; each < 21; ++each) {
    made.push_back(all.create());
  }
  EXPECT_EQ(all.try_allocate(), nullptr);
  EXPECT_THROW(static_cast<void>(all.create()), tarn::pool_limit_reached);
  EXPECT_THROW(all.reserve(22), tarn::pool_limit_reached);
  EXPECT_EQ(all.capacity(), 21u);
  std::thread([&] { all.destroy(made.back()); }).join();
  EXPECT_EQ(all.create(), made.back()) << "freed by another thread";
  for (counted* const each : made) {
    all.destroy(each);
  }
}

TEST(lock_free_pool, reserve_and_failing_requests) {
  bool failed = true;
  for (std::size_t n = 1; failed; ++n) {
    support::upstream memory;
    memory.fail_request(n);
    lock_free_pool<counted> all({.upstream = &memory, .first_chunk = 4});
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
    try {
      all.reserve(3000);
      EXPECT_GE(all.capacity(), 3000u);
    } catch (const std::bad_alloc&) {
    }
    failed = memory.refused() != 0;
  }
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
  lock_free_pool<item> all({.first_chunk = 4, .limit = 12});
  constexpr std::uint64_t takers = 6;
  std::atomic<int> wrong{0};
  std::atomic<bool> stop{false};
  std::atomic<item*> returned{nullptr};  // a stack that is only ever emptied as a whole
  std::vector<std::thread> running;
  for (std::uint64_t id = 1; id <= takers; ++id) {
    running.emplace_back([&, id] {
      while (!stop.load(std::memory_order_relaxed)) {
        auto* const mine = static_cast<item*>(all.try_allocate());
        if (mine == nullptr) {
          std::this_thread::yield();
          continue;
        }
        wrong += mine->holder.exchange(id, std::memory_order_relaxed) != 0;
        wrong += mine->holder.exchange(0, std::memory_order_relaxed) != id;
        item* first = returned.load(std::memory_order_relaxed);
        do {
          mine->next.store(first, std::memory_order_relaxed);
        } while (!returned.compare_exchange_weak(first, mine, std::memory_order_release, std::memory_order_relaxed));
      }
    });
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (std::chrono::steady_clock::now() < end && wrong == 0) {
    item* next = returned.exchange(nullptr, std::memory_order_acquire);
    if (next == nullptr) {
      std::this_thread::yield();
    }
    for (int most = 100; next != nullptr && most != 0; --most) {  // without the tag it may have become circular
      item* const each = next;
      next = each->next.load(std::memory_order_relaxed);
      all.deallocate(each);
    }
  }
  stop = true;
  for (std::thread& each : running) {
    each.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST(lock_free_pool, grows_while_many_ask) {
  for (int round = 0; round < 20; ++round) {
    support::upstream memory;
    struct locked : std::pmr::memory_resource {
      support::upstream& of;
      std::mutex lock;
      explicit locked(support::upstream& of_) : of(of_) {}
      void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        const std::lock_guard hold(lock);
        return of.allocate(bytes, alignment);
      }
      void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        const std::lock_guard hold(lock);
        of.deallocate(block, bytes, alignment);
      }
      bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
    } guarded(memory);
    {
      lock_free_pool<counted> all({.upstream = &guarded, .first_chunk = 1});
      std::mutex lock;
      std::set<counted*> made;
      std::vector<std::thread> running;
      for (int id = 0; id < 4; ++id) {
        running.emplace_back([&] {
          for (int each = 0; each < 100; ++each) {
            counted* const one = all.create();
            const std::lock_guard hold(lock);
            EXPECT_TRUE(made.insert(one).second);
          }
        });
      }
      for (std::thread& each : running) {
        each.join();
      }
      for (counted* const each : made) {
        all.destroy(each);
      }
      EXPECT_LT(all.capacity(), 1024u);
    }
  }
  EXPECT_EQ(counted::alive, 0);
}

TEST(lock_free_pool_death, foreign_blocks_are_named) {
  lock_free_pool<std::uint64_t[4]> all({.name = "all"});
  void* const block = all.allocate();
  int local = 0;
  EXPECT_DEATH(all.deallocate(&local),
               "^tarn: pool \"all\" at 0x[0-9a-f]+: foreign pointer 0x[0-9a-f]+: not a block of "
               "this pool\n");
  EXPECT_DEATH(all.deallocate(static_cast<char*>(block) + 8),
               "^tarn: pool \"all\" at 0x[0-9a-f]+: foreign pointer 0x[0-9a-f]+: 8 bytes into the 32-byte block at ");
}

}  // namespace
