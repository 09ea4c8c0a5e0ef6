#include "memory/heap/magazine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "memory/heap/array_pool.hpp"
#include "memory/heap/heap.hpp"
#include "memory/pages/metadata.hpp"
#include "platform/fake/platform.hpp"

namespace {

using namespace tarn;
using namespace tarn::heaps;
namespace fake = platform::fake;

TEST(magazine, holds_as_many_blocks_as_are_worth_it) {
  for (size_class index = 0; index < detail::class_count; ++index) {
    const std::size_t capacity = capacity_of(index);
    EXPECT_GE(capacity, 2u);
    EXPECT_LE(capacity, magazine_slots - 1);
    EXPECT_GE(batch_of(index), 1u);
    EXPECT_EQ(batch_of(index) + front_count_of(index), capacity);
    EXPECT_LT(front_count_of(index), capacity);
    if (detail::size_of(index) > std::size_t{16} << 10) {
      EXPECT_LE(capacity, 4u);
    }
  }
  EXPECT_EQ(capacity_of(0), magazine_slots - 1);
}

TEST(magazine, its_end_is_seen_in_the_pointer) {
  for (size_class index = 0; index < detail::class_count; ++index) {
    magazine array{};
    void** top = bottom_of(&array, index);
    EXPECT_EQ(top[-1], nullptr);
    for (std::size_t count = 0; count < capacity_of(index); ++count) {
      EXPECT_FALSE(is_full(top));
      *top++ = &array;
    }
    EXPECT_TRUE(is_full(top));
    EXPECT_EQ(top, array.end());
  }
}

TEST(magazine, a_shut_one_looks_empty_and_full) {
  EXPECT_TRUE(is_full(shut_top()));
  EXPECT_EQ(shut_top()[-1], nullptr);
  for (void** top : no_heap.top) EXPECT_EQ(top, shut_top());
}

class stock_test : public testing::Test {
 protected:
  void SetUp() override { fake::reset(); }
  void TearDown() override { fake::reset(); }
};

TEST_F(stock_test, a_magazine_is_empty_whatever_it_held) {
  magazine_stock stock;
  for (size_class index = 0; index < detail::class_count; ++index) {
    magazine* const array = stock.take(index);
    ASSERT_NE(array, nullptr);
    EXPECT_TRUE(base::is_aligned(array, detail::magazine_bytes));
    EXPECT_EQ(bottom_of(array, index)[-1], nullptr);
    for (void*& slot : array->slots) slot = array;
    stock.give(array);
  }
  stock.clear();
}

TEST_F(stock_test, magazines_are_used_again) {
  magazine_stock first, second;
  std::set<magazine*> magazines;
  for (int round = 0; round < 100; ++round) ASSERT_TRUE(magazines.insert(first.take(0)).second);
  for (magazine* array : magazines) first.give(array);
  first.clear();  // by way of the process
  fake::fail_requests_from(1);
  std::set<magazine*> reused;
  while (magazine* const array = second.take(0)) ASSERT_TRUE(reused.insert(array).second);
  EXPECT_TRUE(std::ranges::includes(reused, magazines));
  for (magazine* array : reused) second.give(array);
  second.clear();
}

TEST_F(stock_test, arrays_that_nobody_needs_go_back_to_the_system) {
  constexpr std::size_t array_count = 3'000;
  magazine_stock stock;
  arrays.purge(true);
  std::set<magazine*> magazines;
  while (magazines.size() < array_count) {
    magazine* const array = stock.take(0);
    ASSERT_TRUE(array != nullptr && magazines.insert(array).second);
    std::memset(array->slots, 1, sizeof *array);
  }
  const auto give_all = [&] {
    for (magazine* array : magazines) stock.give(array);
    stock.clear();
  };
  give_all();
  EXPECT_EQ(arrays.purge(false), 0u) << "all were needed since the last call";
  EXPECT_TRUE(arrays.may_purge_later());
  const std::uint64_t unneeded = arrays.purge(false);
  EXPECT_GT(unneeded, array_count * sizeof(magazine) * 3 / 4);
  EXPECT_FALSE(arrays.may_purge_later());
  EXPECT_EQ(arrays.purge(false), 0u);

  std::set<magazine*> reused;
  fake::fail_requests_from(1);  // nothing new is needed
  while (reused.size() < array_count) {
    magazine* const array = stock.take(0);
    ASSERT_TRUE(array != nullptr && reused.insert(array).second) << reused.size();
    std::memset(array->slots, 1, sizeof *array);
  }
  magazines.swap(reused);
  give_all();
  EXPECT_GE(arrays.purge(true), unneeded);
}

TEST_F(stock_test, arrays_stay_where_the_system_takes_no_pages) {
  magazine_stock stock;
  std::set<magazine*> magazines;
  for (int round = 0; round < 500; ++round) magazines.insert(stock.take(0));
  for (magazine* array : magazines) stock.give(array);
  stock.clear();
  fake::refuse_purges(true);
  EXPECT_EQ(arrays.purge(true), 0u);
  EXPECT_FALSE(arrays.may_purge_later());
  fake::fail_requests_from(1);
  for (std::size_t round = 0; round < magazines.size(); ++round) {
    magazine* const array = stock.take(0);
    ASSERT_NE(array, nullptr);
    magazines.insert(array);
  }
  for (magazine* array : magazines) stock.give(array);
  stock.clear();
}

TEST_F(stock_test, says_null_without_memory) {
  magazine_stock stock;
  std::vector<magazine*> magazines;
  fake::fail_requests_from(1);
  while (magazine* const array = stock.take(3)) {
    magazines.push_back(array);
    ASSERT_LT(magazines.size(), 1'000'000u);
  }
  EXPECT_EQ(stock.take_any(), nullptr);
  fake::fail_requests_from(0);
  magazines.push_back(stock.take(3));
  EXPECT_NE(magazines.back(), nullptr);
  for (magazine* array : magazines) stock.give(array);
  stock.clear();
}

TEST(depot, gives_the_last_first_and_knows_the_least) {
  magazine arrays[5] = {};
  depot full_magazines;
  for (magazine& array : arrays) full_magazines.push(&array);
  EXPECT_EQ(full_magazines.count, 5u);
  EXPECT_EQ(full_magazines.low, 0u);
  full_magazines.low = full_magazines.count;  // acts as decay does
  EXPECT_EQ(full_magazines.pop(), &arrays[4]);
  EXPECT_EQ(full_magazines.pop(), &arrays[3]);
  EXPECT_EQ(full_magazines.low, 3u);
  full_magazines.push(&arrays[3]);
  EXPECT_EQ(full_magazines.low, 3u);
  EXPECT_EQ(full_magazines.count, 4u);
  EXPECT_EQ(full_magazines.pop(), &arrays[3]);
  EXPECT_EQ(arrays[3].next(), nullptr);
  EXPECT_EQ(full_magazines.low, 3u);
}

TEST(inbox, gives_all_that_was_posted) {
  heaps::inbox posted;
  EXPECT_TRUE(posted.empty());
  EXPECT_EQ(posted.take_all(), nullptr);
  heaps::inbox::node sent[5];
  for (std::size_t index = 0; index < 3; ++index) {
    posted.post(sent[index]);
    EXPECT_FALSE(posted.empty());
  }
  sent[3].next_sent = &sent[4];
  posted.post(sent[3], sent[4]);
  std::set<heaps::inbox::node*> received;
  for (heaps::inbox::node* node = posted.take_all(); node != nullptr; node = node->next_sent) received.insert(node);
  EXPECT_EQ(received, (std::set<heaps::inbox::node*>{&sent[0], &sent[1], &sent[2], &sent[3], &sent[4]}));
  EXPECT_TRUE(posted.empty());
}

TEST(remote_frees, are_announced_once_until_they_are_taken) {
  std::atomic<std::uint64_t> masks[3]{};
  pages::remote_frees tested;
  tested.remote_words = masks;
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(tested.free_remotely(2, 0b11).must_post);
    EXPECT_FALSE(tested.free_remotely(0, 0b1).must_post);
    const auto second_free = tested.free_remotely(2, 0b110);
    EXPECT_FALSE(second_free.must_post);
    EXPECT_EQ(second_free.before, 0b11u);
    EXPECT_EQ(tested.remote_count(3), 4u);
    std::map<std::size_t, std::uint64_t> received;
    tested.take_remote([&](std::size_t number, std::uint64_t freed) { received[number] = freed; });
    EXPECT_EQ(received, (std::map<std::size_t, std::uint64_t>{{0, 0b1}, {2, 0b111}}));
    EXPECT_EQ(tested.remote_count(3), 0u);
  }
}

}  // namespace
