// The steady state: a constant load asks the system for nothing once it is warm.
#include <algorithm>
#include <random>
#include <string>

#include "front_fixture.hpp"
#include "support/child.hpp"
#include "support/current_heap.hpp"

namespace front_tests {
namespace {

using support::give;
using support::take;

class steady : public front_test {
 protected:
  /// Expects no calls from `measured` operations after `warming` ones. Threads that wait for each other count memory
  /// calls only. Heaps that other tests have used decay at other moments, so beside other tests it runs alone in a
  /// program of its own.
  template <class Operate>
  static void expect_no_calls(Operate operate, int warming, int measured, bool is_threaded = false) {
    if (const testing::UnitTest& program = *testing::UnitTest::GetInstance(); program.test_to_run_count() != 1) {
      const std::string filter = std::string("--gtest_filter=steady.") + program.current_test_info()->name();
      const auto run_alone = [&] {
        execl("/proc/self/exe", "test_statistics", filter.c_str(), "--gtest_brief=1", nullptr);
        return 127;
      };
      EXPECT_EQ(support::in_child(run_alone), support::ending{});
      return;
    }
    const auto calls = [&] { return is_threaded ? platform::system_calls().sum() : fake::kernel_calls(); };
    operate(warming);
    const std::uint64_t before = calls();
    operate(measured);
    EXPECT_EQ(calls() - before, 0u);
  }

  /// Returns sizes like those of servers: mostly small, some buffers.
  static std::size_t size(std::mt19937& random) {
    return random() % 10 < 9 ? 16 + random() % 500 : 1'000 + random() % 15'000;
  }
};

TEST_F(steady, one_thread_does_not_enter_the_kernel_in_a_million_operations) {
  std::mt19937 random(2);
  std::vector<void*> slots(2'000);
  const auto operate = [&](int operations) {
    for (int operation = 0; operation < operations; ++operation) {
      void*& slot = slots[random() % slots.size()];
      give(slot);
      slot = take(size(random));
      if (operation % 5'000 == 0) fake::advance_ms(1);
    }
  };
  // The most bytes in use at a time grow for long, ever more rarely.
  expect_no_calls(operate, 800'000, 1'000'000);
  std::ranges::for_each(slots, give);
}

// Large free blocks are purged after a while, so the clock stands still here.
TEST_F(steady, large_blocks_do_not_enter_the_kernel) {
  std::mt19937 random(4);
  std::vector<void*> slots(50);
  const auto operate = [&](int operations) {
    for (int operation = 0; operation < operations; ++operation) {
      void*& slot = slots[random() % slots.size()];
      give(slot);
      slot = take(100'000 + random() % 600'000);
    }
  };
  expect_no_calls(operate, 20'000, 50'000);
  std::ranges::for_each(slots, give);
}

TEST_F(steady, bursts_do_not_enter_the_kernel) {
  std::vector<void*> blocks(3'000);
  const auto operate = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t block = 0; block < blocks.size(); ++block) blocks[block] = take(16 + block % 700);
      std::ranges::for_each(blocks, give);
      fake::advance_ms(2);
    }
  };
  expect_no_calls(operate, 100, 160);
}

// A buffer is filled by appends, sent, and dropped.
TEST_F(steady, replies_do_not_enter_the_kernel) {
  const auto operate = [](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      void* buffer = nullptr;
      for (std::size_t bytes = 64; bytes <= 100'000; bytes += bytes / 4) {
        buffer = tarn::api::reallocate(tarn::detail::local_heap, buffer, bytes);
      }
      give(buffer);
      fake::advance_ms(1);
    }
  };
  expect_no_calls(operate, 1'000, 10'000);
}

// Threads hand blocks to each other: the server-like mix, one command at a time so that no lock is ever waited for.
TEST_F(steady, three_threads_do_not_enter_the_kernel_in_a_million_operations) {
  std::mt19937 random(3);
  std::vector<void*> slots(3'000);
  std::vector<std::unique_ptr<worker>> workers;
  for (int thread = 0; thread < 3; ++thread) workers.push_back(std::make_unique<worker>());
  const auto operate = [&](int batches) {
    for (int batch = 0; batch < batches; ++batch) {
      workers[static_cast<std::size_t>(batch) % workers.size()]->run([&] {
        for (int operation = 0; operation < 500; ++operation) {
          void*& slot = slots[random() % slots.size()];
          give(slot);
          slot = take(size(random));
        }
      });
      fake::advance_ms(batch % 10 == 0 ? 1 : 0);
    }
  };
  expect_no_calls(operate, 1'600, 2'000, true);
  std::ranges::for_each(slots, give);
}

TEST_F(steady, a_producer_and_a_consumer_do_not_enter_the_kernel) {
  worker producer, consumer;
  std::vector<void*> queue;
  const auto operate = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      producer.run([&] {
        for (int block = 0; block < 500; ++block) queue.push_back(take(static_cast<std::size_t>(64 + block % 3 * 100)));
      });
      consumer.run([&] {
        std::ranges::for_each(queue, give);
        queue.clear();
      });
      fake::advance_ms(1);
    }
  };
  expect_no_calls(operate, 500, 2'000, true);
}

TEST_F(steady, heaps_with_initial_memory_do_not_enter_the_kernel) {
  tarn::heap lane({.initial = 8_MiB});
  const auto operate = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t block = 0; block < 2'000; ++block) static_cast<void>(lane.allocate(16 + block % 3'000));
      lane.release();
    }
  };
  expect_no_calls(operate, 0, 300);
}

}  // namespace
}  // namespace front_tests
