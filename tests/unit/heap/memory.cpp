// Tests a heap that gets no more memory.
#include "heap_fixture.hpp"

namespace heap_tests {
namespace {

TEST_F(heap_test, says_null_at_the_limit_and_goes_on_after_a_free) {
  heap& tested = make(2_MiB);
  for (const std::size_t bytes : {16, 1'000, 60'000}) {
    const size_class index = class_of(bytes);
    live_blocks live;
    while (void* const block = allocate(tested, index)) ASSERT_NO_FATAL_FAILURE(live.add(block, size_of(index)));
    EXPECT_TRUE(tested.is_valid());
    EXPECT_GT(live.bytes(), 2_MiB - 300_KiB) << bytes;
    EXPECT_EQ(allocate(tested, index), nullptr);
    EXPECT_EQ(tested.allocate_large(1_MiB, 16, nullptr), nullptr);
    give(tested, live.remove(0));
    void* const block = allocate(tested, index);
    EXPECT_NE(block, nullptr);
    live.add(block, size_of(index));
    while (live.size() != 0) give(tested, live.remove(0));
    EXPECT_TRUE(tested.is_valid());
    // The memory of the freed blocks of this class serves the next class, and a large block, too.
    void* const large = tested.allocate_large(2_MiB, 16, nullptr);
    EXPECT_NE(large, nullptr) << bytes;
    give(tested, large);
  }
  expect_in_use(tested, 0);
}

// Such a heap keeps the last slab of a class, too, which must serve another class before memory is refused.
TEST_F(heap_test, a_heap_without_magazines_reclaims_before_memory_is_refused) {
  heap& tested = make(pages::unit_bytes);
  tested.add_trait(heaps::heap_trait::exact);
  for (const std::size_t bytes : {64, 1'000, 64}) {
    const size_class index = class_of(bytes);
    void* const block = tested.allocate(index);
    ASSERT_NE(block, nullptr) << bytes;
    tested.deallocate(block, index);
  }
}

TEST_F(heap_test, what_waits_in_the_inbox_serves_before_memory_is_refused) {
  heap& owner = make(2_MiB);
  heap& sender = make();
  const size_class index = class_of(64);
  std::vector<void*> blocks;
  while (void* const block = allocate(owner, index)) blocks.push_back(block);
  for (void* block : blocks) give(sender, block);
  sender.send_all();
  void* const large = owner.allocate_large(1_MiB, 16, nullptr);
  EXPECT_NE(large, nullptr);
  EXPECT_TRUE(owner.is_valid());
}

// Without memory for magazines, blocks go to their slabs one by one, and nothing is lost.
TEST_F(heap_test, frees_need_no_memory_for_a_magazine) {
  heap& tested = make();
  const size_class index = class_of(48);
  live_blocks live;
  for (int round = 0; round < 2'000; ++round) {
    ASSERT_NO_FATAL_FAILURE(live.add(allocate(tested, index), size_of(index)));
  }
  tested.flush_all();
  tested.stock.clear();
  fake::fail_requests_from(1);
  heaps::magazine_stock drain;
  std::vector<heaps::magazine*> drained;
  while (heaps::magazine* const array = drain.take_any()) drained.push_back(array);
  std::mt19937 random(4);
  while (live.size() != 0) {
    give(tested, live.remove(random()));
    ASSERT_TRUE(live.size() % 50 != 0 || tested.is_valid());
  }
  EXPECT_EQ(tested.statistics().used_bytes, 0u);
  EXPECT_EQ(allocate(tested, class_of(100)), nullptr);
  for (heaps::magazine* array : drained) drain.give(array);
  drain.clear();
  fake::fail_requests_from(0);
  EXPECT_NE(allocate(tested, class_of(100)), nullptr);
  EXPECT_TRUE(tested.is_valid());
}

TEST_F(heap_test, works_again_whichever_request_failed) {
  for (std::uint64_t n = 1;; ++n) {
    heap& tested = make();
    fake::reset();
    fake::fail_request(n);
    live_blocks live;
    for (size_class index = 0; index < class_count; index += 5) {
      for (int round = 0; round < 20; ++round) {
        if (void* const block = allocate(tested, index)) {
          ASSERT_NO_FATAL_FAILURE(live.add(block, size_of(index)));
        }
      }
      ASSERT_TRUE(tested.is_valid()) << n;
    }
    const bool has_failed = fake::refused_requests() != 0;
    for (size_class index = 0; index < class_count; index += 5) {
      void* const block = allocate(tested, index);
      ASSERT_NE(block, nullptr) << n;
      give(tested, block);
    }
    while (live.size() != 0) give(tested, live.remove(live.size() / 3));
    expect_in_use(tested, 0);
    tested.space->purge_all();
    if (!has_failed) break;
  }
}

}  // namespace
}  // namespace heap_tests
