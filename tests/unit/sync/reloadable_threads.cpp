// Does all operations of threads with reloadable objects at once: reads, nested reads, publishes by several writers,
// threads that start and end. A version that is freed too early or seen half written fails the test.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <tarn/reloadable.hpp>

#include "support/child.hpp"
#include "sync/readers.hpp"

namespace {

/// All its numbers are the same while it lives, and wrong afterwards.
struct whole {
  explicit whole(long number) { numbers.fill(number); }
  ~whole() { numbers.fill(-1); }
  bool is(long number) const {
    for (const long each : numbers) {
      if (each != number) {
        return false;
      }
    }
    return true;
  }
  long first() const { return numbers[0]; }
  std::array<long, 16> numbers;
};

struct load {
  tarn::reloadable<whole> objects[3]{tarn::reloadable<whole>(1), tarn::reloadable<whole>(1),
                                     tarn::reloadable<whole>(1)};
  std::atomic<bool> stop{false};
  std::atomic<long> wrong{0};
  std::atomic<long> published{0};

  void read() {
    std::uint64_t seen[3] = {};
    while (!stop.load(std::memory_order_relaxed)) {
      read_each(seen);
    }
  }
  void read_each(std::uint64_t (&seen)[3]) {
    const auto a = objects[0].snapshot();
    const auto b = objects[1].snapshot();
    for (unsigned at = 0; at < 3; ++at) {
      const auto inner = objects[at].snapshot();
      wrong += inner.version() < seen[at];  // a reader never sees an older version again
      seen[at] = inner.version();
      wrong += !inner->is(inner->first());
    }
    wrong += !a->is(a->first()) || !b->is(b->first());
  }
  void write() {
    for (long number = 1; !stop.load(std::memory_order_relaxed); ++number) {
      published += objects[number % 3].try_publish(number);
    }
  }
  void come_and_go() {
    while (!stop.load(std::memory_order_relaxed)) {
      std::thread([this] {
        std::uint64_t seen[3] = {};
        read_each(seen);
      }).join();
    }
  }
  long run(std::chrono::milliseconds time) {
    std::vector<std::thread> running;
    for (int thread = 0; thread < 2; ++thread) {
      running.emplace_back([this] { read(); });
      running.emplace_back([this] { write(); });
    }
    running.emplace_back([this] { come_and_go(); });
    std::this_thread::sleep_for(time);
    stop = true;
    for (std::thread& each : running) {
      each.join();
    }
    for (auto& each : objects) {
      wrong += each.collect() != 0;
    }
    return wrong;
  }
};

TEST(reloadable_threads, nothing_is_torn_or_freed_too_early) {
  load with_barrier;
  EXPECT_EQ(with_barrier.run(std::chrono::milliseconds(300)), 0);
  EXPECT_GT(with_barrier.published, 0);
}

TEST(reloadable_threads, nor_without_membarrier) {
  EXPECT_EQ(support::in_child([] {
              tarn::sync::refuse_membarrier();
              load with_fence;
              return with_fence.run(std::chrono::milliseconds(200)) != 0 || with_fence.published == 0;
            }),
            support::ending());
}

// Each writer copies, changes and publishes: no writer may lose a change that another one made meanwhile.
TEST(reloadable_threads, no_change_of_an_update_is_lost) {
  constexpr int writers = 4, changes = 2'000;
  std::atomic<int> ready{0};
  tarn::reloadable<std::vector<int>> counts(std::vector<int>(writers + 1));
  std::vector<std::thread> all;
  for (std::size_t writer = 0; writer < writers; ++writer) {
    all.emplace_back([&, writer] {
      ++ready;
      while (ready != writers) {
        std::this_thread::yield();
      }
      for (int change = 0; change < changes; ++change) {
        const std::uint64_t version = counts.update([&](std::vector<int>& now) {
          ++now[writer];
          ++now.back();
          if (change % 8 == 0) {
            std::this_thread::yield();  // another writer publishes in the middle
          }
        });
        EXPECT_LE(version, counts.version_number());
      }
    });
  }
  for (std::thread& each : all) {
    each.join();
  }
  std::vector<int> expected(writers, changes);
  expected.push_back(writers * changes);
  const auto now = counts.snapshot();
  EXPECT_EQ(*now, expected);
  EXPECT_EQ(counts.version_number(), std::uint64_t{1} + writers * changes);
}

}  // namespace
