// Does all operations of threads with reloadable objects at once: reads, nested reads, publishes by several writers,
// threads that start and end. A version that is freed too early or seen half written fails the test.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <tarn/reloadable.hpp>

#include "reclaim/readers.hpp"
#include "support/child.hpp"

namespace {

// Counted work, because a busy machine does little in a fixed time.
constexpr long publications = 10'000;

/// All its numbers are the same while it lives, and wrong afterwards.
struct whole {
  explicit whole(long number) { numbers.fill(number); }
  ~whole() { numbers.fill(-1); }
  bool has_only(long number) const {
    for (const long stored : numbers) {
      if (stored != number) return false;
    }
    return true;
  }
  long first() const { return numbers[0]; }
  std::array<long, 16> numbers;
};

struct load {
  tarn::reloadable<whole> objects[3]{tarn::reloadable<whole>(1), tarn::reloadable<whole>(1),
                                     tarn::reloadable<whole>(1)};
  std::atomic<bool> must_stop{false};
  std::atomic<long> wrong{0};
  std::atomic<long> published{0};
  std::atomic<long> visits{0};  ///< by threads that read once and end

  void read() {
    std::uint64_t last_versions[3] = {};
    while (!must_stop.load(std::memory_order_relaxed)) read_each(last_versions);
  }
  void read_each(std::uint64_t (&last_versions)[3]) {
    const auto a = objects[0].snapshot();
    const auto b = objects[1].snapshot();
    for (unsigned index = 0; index < 3; ++index) {
      const auto inner = objects[index].snapshot();
      wrong += inner.version() < last_versions[index];  // a reader never sees an older version again
      last_versions[index] = inner.version();
      wrong += !inner->has_only(inner->first());
    }
    wrong += !a->has_only(a->first()) || !b->has_only(b->first());
  }
  void write() {
    for (long number = 1; !must_stop.load(std::memory_order_relaxed); ++number) {
      published += objects[number % 3].try_publish(number);
    }
  }
  void come_and_go() {
    while (!must_stop.load(std::memory_order_relaxed)) {
      std::thread([this] {
        std::uint64_t last_versions[3] = {};
        read_each(last_versions);
      }).join();
      ++visits;
    }
  }
  long run(long max_published) {
    std::vector<std::thread> running;
    for (int thread = 0; thread < 2; ++thread) {
      running.emplace_back([this] { read(); });
      running.emplace_back([this] { write(); });
    }
    running.emplace_back([this] { come_and_go(); });
    while (published < max_published || visits < max_published / 100) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    must_stop = true;
    for (std::thread& thread : running) thread.join();
    for (auto& object : objects) wrong += object.collect() != 0;
    return wrong;
  }
};

TEST(reloadable_threads, nothing_is_torn_or_freed_too_early) {
  load with_barrier;
  EXPECT_EQ(with_barrier.run(publications), 0);
}

TEST(reloadable_threads, nothing_is_torn_without_membarrier) {
  EXPECT_EQ(support::in_child([] {
              tarn::reclaim::refuse_membarrier();
              load with_fence;
              return with_fence.run(publications) != 0;
            }),
            support::ending());
}

// Each writer copies, changes and publishes: no writer may lose a change that another one made meanwhile.
TEST(reloadable_threads, no_change_of_an_update_is_lost) {
  constexpr int writers = 4, changes = 2'000;
  std::atomic<int> ready{0};
  tarn::reloadable<std::vector<int>> counts(std::vector<int>(writers + 1));
  std::vector<std::thread> updaters;
  for (std::size_t writer = 0; writer < writers; ++writer) {
    updaters.emplace_back([&, writer] {
      ++ready;
      while (ready != writers) std::this_thread::yield();
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
  for (std::thread& thread : updaters) thread.join();
  std::vector<int> expected(writers, changes);
  expected.push_back(writers * changes);
  const auto now = counts.snapshot();
  EXPECT_EQ(*now, expected);
  EXPECT_EQ(counts.version_number(), std::uint64_t{1} + writers * changes);
}

}  // namespace
