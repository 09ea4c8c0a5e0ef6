// Tests large blocks of a heap.
#include "heap_fixture.hpp"

namespace heap_tests {
namespace {

TEST_F(heap_test, large_blocks_come_and_go) {
  heap& tested = make();
  bool is_zeroed = false;
  char* const block = static_cast<char*>(tested.allocate_large(1_MiB, 16, &is_zeroed));
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(is_zeroed);
  std::memset(block, 1, 1_MiB);
  EXPECT_EQ(tested.statistics().large_blocks, 1u);
  EXPECT_EQ(tested.statistics().large_bytes, 1_MiB);
  EXPECT_EQ(tested.statistics().used_bytes, 1_MiB);
  EXPECT_EQ(tested.statistics().footprint_bytes, 1_MiB);
  give(tested, block);
  EXPECT_EQ(tested.statistics().large_blocks, 0u);
  EXPECT_EQ(tested.statistics().large_bytes, 0u);
  EXPECT_EQ(tested.statistics().footprint_bytes, 0u);
  EXPECT_EQ(tested.statistics().peak_footprint_bytes, 1_MiB);
  ASSERT_NE(tested.allocate_large(1_MiB, 16, &is_zeroed), nullptr);
  EXPECT_FALSE(is_zeroed);
}

TEST_F(heap_test, a_large_block_may_be_freed_by_another_heap) {
  heap& owner = make();
  heap& sender = make();
  void* const in_segment = owner.allocate_large(1_MiB, 16, nullptr);
  void* const own_mapping_block = owner.allocate_large(50_MiB, 16, nullptr);
  give(sender, in_segment);
  give(sender, own_mapping_block);
  EXPECT_EQ(owner.statistics().large_blocks, 0u);
  EXPECT_EQ(owner.space->used_bytes(), 0u);
}

TEST_F(heap_test, a_large_block_is_resized_in_the_books) {
  heap& tested = make();
  void* const start = tested.allocate_large(1_MiB, 16, nullptr);
  pages::slab* const block = pages::page_map::slab_of(start);
  ASSERT_TRUE(tested.resize_large(block, 3_MiB, true));
  EXPECT_EQ(tested.statistics().large_bytes, 3_MiB);
  EXPECT_EQ(tested.statistics().peak_footprint_bytes, 3_MiB);
  ASSERT_TRUE(tested.resize_large(block, 2_MiB, true));
  EXPECT_EQ(tested.statistics().large_bytes, 2_MiB);
  EXPECT_EQ(tested.space->used_bytes(), 2_MiB);
  EXPECT_FALSE(tested.resize_large(block, std::size_t{1} << 60, true));
  EXPECT_EQ(tested.statistics().large_bytes, 2_MiB);
  give(tested, block->start);
  EXPECT_EQ(tested.statistics().large_bytes, 0u);
}

TEST_F(heap_test, a_large_block_that_leaves_its_segment_stays_in_the_books) {
  heap& tested = make();
  void* const start = tested.allocate_large(2_MiB, 16, nullptr);
  void* const behind = tested.allocate_large(1_MiB, 16, nullptr);
  ASSERT_EQ(behind, static_cast<char*>(start) + 2_MiB);
  const pages::slab* const moved = tested.resize_large(pages::page_map::slab_of(start), 5_MiB, true);
  ASSERT_NE(moved, nullptr);
  EXPECT_EQ(tested.statistics().large_blocks, 2u);
  EXPECT_EQ(tested.statistics().large_bytes, 6_MiB);
  EXPECT_EQ(tested.statistics().footprint_bytes, 6_MiB);
  EXPECT_EQ(tested.run_bytes.load(), 1_MiB);
  give(tested, moved->start);
  give(tested, behind);
  EXPECT_EQ(tested.statistics().large_bytes, 0u);
  EXPECT_EQ(tested.run_bytes.load(), 0u);
  EXPECT_EQ(tested.space->used_bytes(), 0u);
}

TEST_F(heap_test, a_counting_heap_counts_large_blocks) {
  heap& tested = make();
  tested.add_trait(heaps::heap_trait::counting);
  void* const first = tested.allocate_large(1_MiB, 16, nullptr);
  static_cast<void>(tested.allocate_large(2_MiB, 16, nullptr));
  static_cast<void>(allocate(tested, 0));
  give(tested, first);
  const heap_statistics now = tested.statistics();
  EXPECT_EQ(now.allocated_blocks, 3u);
  EXPECT_EQ(now.allocated_bytes, 3_MiB + 16);
  EXPECT_EQ(now.freed_blocks, 1u);
  EXPECT_EQ(now.freed_bytes, 1_MiB);
  EXPECT_EQ(now.large_blocks, 1u);
}

}  // namespace
}  // namespace heap_tests
