// The steady state: a constant load asks the system for nothing once it is warm.
#include <algorithm>
#include <random>

#include "front_fixture.hpp"
#include "support/current_heap.hpp"

namespace front_tests {
namespace {

using support::give;
using support::take;

class steady : public front_test {
 protected:
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
      if (operation % 5'000 == 0) {
        fake::advance_ms(1);
      }
    }
  };
  operate(400'000);
  const std::uint64_t calls = fake::kernel_calls();
  operate(1'000'000);
  EXPECT_EQ(fake::kernel_calls() - calls, 0u);
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
  operate(20'000);
  const std::uint64_t calls = fake::kernel_calls();
  operate(50'000);
  EXPECT_EQ(fake::kernel_calls() - calls, 0u);
  std::ranges::for_each(slots, give);
}

TEST_F(steady, bursts_do_not_enter_the_kernel) {
  std::vector<void*> blocks(3'000);
  const auto operate = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t block = 0; block < blocks.size(); ++block) {
        blocks[block] = take(16 + block % 700);
      }
      std::ranges::for_each(blocks, give);
      fake::advance_ms(2);
    }
  };
  operate(100);
  const std::uint64_t calls = fake::kernel_calls();
  operate(160);
  EXPECT_EQ(fake::kernel_calls() - calls, 0u);
}

// A buffer is filled by appends, sent, and dropped.
TEST_F(steady, replies_do_not_enter_the_kernel) {
  const auto operate = [](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      void* buffer = nullptr;
      for (std::size_t bytes = 64; bytes <= 100'000; bytes += bytes / 4) {
        buffer = tarn::api::reallocate(tarn::detail::local, buffer, bytes);
      }
      give(buffer);
      fake::advance_ms(1);
    }
  };
  operate(1'000);
  const std::uint64_t calls = fake::kernel_calls();
  operate(10'000);
  EXPECT_EQ(fake::kernel_calls() - calls, 0u);
}

// Threads hand blocks to each other: the server-like mix, one command at a time so that no lock is ever waited for.
TEST_F(steady, three_threads_do_not_enter_the_kernel_in_a_million_operations) {
  std::mt19937 random(3);
  std::vector<void*> slots(3'000);
  std::vector<std::unique_ptr<worker>> workers;
  for (int thread = 0; thread < 3; ++thread) {
    workers.push_back(std::make_unique<worker>());
  }
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
  operate(1'600);
  const std::uint64_t calls = platform::system_calls().sum();
  operate(2'000);
  EXPECT_EQ(platform::system_calls().sum() - calls, 0u);
  std::ranges::for_each(slots, give);
}

TEST_F(steady, a_producer_and_a_consumer_do_not_enter_the_kernel) {
  worker producer, consumer;
  std::vector<void*> queue;
  const auto operate = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      producer.run([&] {
        for (int block = 0; block < 500; ++block) {
          queue.push_back(take(static_cast<std::size_t>(64 + block % 3 * 100)));
        }
      });
      consumer.run([&] {
        std::ranges::for_each(queue, give);
        queue.clear();
      });
      fake::advance_ms(1);
    }
  };
  operate(500);
  const std::uint64_t calls = platform::system_calls().sum();
  operate(2'000);
  EXPECT_EQ(platform::system_calls().sum() - calls, 0u);
}

TEST_F(steady, heaps_with_initial_memory_do_not_enter_the_kernel) {
  tarn::heap lane({.initial = 8_MiB});
  const std::uint64_t calls = fake::kernel_calls();
  for (int round = 0; round < 300; ++round) {
    for (std::size_t block = 0; block < 2'000; ++block) {
      static_cast<void>(lane.allocate(16 + block % 3'000));
    }
    lane.release();
  }
  EXPECT_EQ(fake::kernel_calls() - calls, 0u);
}

}  // namespace
}  // namespace front_tests
