#include "memory/guard/quarantine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace {

using tarn::guard::freed_block;
using tarn::guard::quarantine;

const void* address(std::size_t number) { return reinterpret_cast<const void*>(number * 16); }

freed_block block(std::size_t number, std::size_t held_bytes = 100) {
  freed_block freed = {};
  freed.record.block = address(number);
  freed.record.bytes = number;
  freed.held_bytes = held_bytes;
  return freed;
}

struct a_quarantine : testing::Test {
  std::unique_ptr<quarantine> under_test = std::make_unique<quarantine>();
  freed_block out = {};

  std::vector<std::size_t> popped(bool is_emptied = false) {
    std::vector<std::size_t> numbers;
    while (under_test->pop(out, is_emptied)) numbers.push_back(out.record.bytes);
    return numbers;
  }
};

TEST_F(a_quarantine, keeps_as_many_blocks_as_it_says) {
  for (std::size_t number = 1; number <= quarantine::max_blocks; ++number) {
    under_test->push(block(number));
    EXPECT_FALSE(under_test->pop(out));
  }
  under_test->push(block(7777));
  EXPECT_EQ(popped(), std::vector<std::size_t>{1});
}

TEST_F(a_quarantine, keeps_as_many_bytes_as_it_says) {
  const std::size_t quarter = quarantine::max_bytes / 4;
  for (std::size_t number = 1; number <= 4; ++number) under_test->push(block(number, quarter));
  EXPECT_TRUE(popped().empty());
  under_test->push(block(5, 1));
  EXPECT_EQ(popped(), std::vector<std::size_t>{1});
  under_test->push(block(6, 2 * quarter));
  EXPECT_EQ(popped(), (std::vector<std::size_t>{2, 3}));
}

TEST_F(a_quarantine, gives_all_in_order_when_asked) {
  for (std::size_t number = 1; number <= 5; ++number) under_test->push(block(number));
  EXPECT_EQ(popped(true), (std::vector<std::size_t>{1, 2, 3, 4, 5}));
  EXPECT_TRUE(popped(true).empty());
}

TEST_F(a_quarantine, never_gives_what_only_is_to_be_remembered) {
  under_test->push(block(1));
  under_test->push(block(2, 0));
  under_test->push(block(3));
  EXPECT_EQ(popped(true), (std::vector<std::size_t>{1, 3}));
  EXPECT_TRUE(under_test->recall(address(2), out));
}

TEST_F(a_quarantine, remembers_the_last_free_of_a_block) {
  EXPECT_FALSE(under_test->recall(address(1), out));
  freed_block repeated = block(1);
  under_test->push(repeated);
  repeated.record.freed_by = 42;
  under_test->push(repeated);
  ASSERT_TRUE(under_test->recall(address(1), out));
  EXPECT_EQ(out.record.freed_by, 42u);
  popped(true);
  EXPECT_TRUE(under_test->recall(address(1), out));
  for (std::size_t number = 2; number < 2 * quarantine::max_blocks + 2; ++number) {
    under_test->push(block(number));
    under_test->pop(out);
  }
  EXPECT_FALSE(under_test->recall(address(1), out));
  EXPECT_TRUE(under_test->recall(address(2), out));
}

TEST_F(a_quarantine, is_searched_from_the_oldest_on) {
  for (std::size_t number = 1; number <= 5; ++number) under_test->push(block(number, number == 2 ? 0 : 10));
  under_test->pop(out, true);
  EXPECT_TRUE(under_test->find_waiting(out, [](const freed_block&) { return true; }));
  EXPECT_EQ(out.record.bytes, 3u);
  EXPECT_FALSE(under_test->find_waiting(out, [](const freed_block&) { return false; }));
}

TEST_F(a_quarantine, loses_nothing_among_threads) {
  constexpr std::size_t blocks_of_thread = 20'000;
  std::atomic<std::size_t> sum{0};
  std::vector<std::thread> threads;
  for (std::size_t first = 0; first < 4; ++first) {
    threads.emplace_back([&, first] {
      freed_block oldest;
      for (std::size_t number = 0; number < blocks_of_thread; ++number) {
        under_test->push(block(first * blocks_of_thread + number));
        while (under_test->pop(oldest)) sum += oldest.record.bytes;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t number : popped(true)) sum += number;
  EXPECT_EQ(sum, 4 * blocks_of_thread * (4 * blocks_of_thread - 1) / 2);
}

}  // namespace
