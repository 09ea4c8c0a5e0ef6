// Tests the source of large blocks, their alignment, and changes of their size.
#include <cstring>

#include "space_fixture.hpp"

namespace space_tests {
namespace {

/// A size larger than any run of a segment.
constexpr std::size_t single_bytes = 40_MiB;

void fill(slab& block) { std::memset(block.start, 0x3c, block.bytes); }
void expect_filled(const slab& block, std::size_t bytes) {
  for (std::size_t offset = 0; offset < bytes; offset += offset + 4096 < bytes ? 4096 : 1) {
    ASSERT_EQ(block.start[offset], 0x3c) << offset;
  }
}

TEST_F(space_test, gives_large_blocks_of_all_sizes) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, unit_bytes, unit_bytes + 1, 300_KiB, 1_MiB - 1,
                                  31_MiB, 32_MiB, 32_MiB + 1, 33_MiB, 100_MiB}) {
    slab* const block = tested.allocate_large(bytes, unit_bytes, owner);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_EQ(block->bytes, base::align_up(bytes == 0 ? 1 : bytes, unit_bytes));
    EXPECT_EQ(block->units * unit_bytes, block->bytes);
    EXPECT_EQ(block->index, detail::class_count);
    EXPECT_EQ(block->home == nullptr, bytes > 32_MiB);
    EXPECT_TRUE(block->is_zeroed);
    EXPECT_TRUE(is_zero(block->start, std::min(block->bytes, 200_KiB)));
    EXPECT_EQ(detail::key_of(block->start), owner | pages::large_mark);
    for (std::size_t offset = unit_bytes; offset < block->bytes; offset += unit_bytes) {
      ASSERT_EQ(detail::key_of(block->start + offset), 0u);
      ASSERT_EQ(page_map::large_around(block->start + offset), block);
    }
    EXPECT_EQ(tested.used_bytes(), block->bytes);
    EXPECT_TRUE(tested.is_valid());
    tested.deallocate(block);
    EXPECT_EQ(tested.used_bytes(), 0u);
    tested.purge_all();
  }
}

TEST_F(space_test, gives_large_blocks_at_every_power_of_two) {
  for (std::size_t alignment = 1; alignment <= 8_GiB; alignment *= 2) {
    for (const std::size_t bytes : {std::size_t{1}, 300_KiB, 20_MiB, single_bytes}) {
      slab* const block = tested.allocate_large(bytes, alignment, owner);
      ASSERT_NE(block, nullptr) << bytes << " at " << alignment;
      EXPECT_TRUE(base::is_aligned(block->start, alignment)) << bytes << " at " << alignment;
      block->start[0] = 1;
      block->start[block->bytes - 1] = 1;
      ASSERT_TRUE(tested.is_valid());
      tested.deallocate(block);
    }
  }
}

TEST_F(space_test, absurd_sizes_and_alignments_are_refused) {
  for (const std::size_t bytes :
       {(1_GiB << 17) + 1, ~std::size_t{0}, ~std::size_t{0} - unit_bytes, std::size_t{1} << 63}) {
    EXPECT_EQ(tested.allocate_large(bytes, unit_bytes, owner), nullptr);
    EXPECT_EQ(tested.allocate_large(1, std::size_t{1} << 63, owner), nullptr);
    EXPECT_EQ(tested.allocate_large(1_GiB << 17, 1_GiB << 17, owner), nullptr);
  }
  EXPECT_EQ(tested.used_bytes(), 0u);
  EXPECT_EQ(fake::mappings(), before);
}

TEST_F(space_test, a_single_goes_back_to_the_system_at_once) {
  slab* const block = tested.allocate_large(single_bytes, unit_bytes, owner);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(fake::mappings().size(), before.size() + 1);
  char* const start = block->start;
  tested.deallocate(block);
  EXPECT_EQ(fake::mappings(), before);
  EXPECT_EQ(detail::key_of(start), 0u);
  EXPECT_EQ(detail::key_of(start + single_bytes - 1), 0u);
}

TEST_F(space_test, grows_in_its_segment_when_the_units_behind_are_free) {
  configure_small();
  slab* const block = tested.allocate_large(2 * unit_bytes, unit_bytes, owner);
  ASSERT_NE(block, nullptr);
  fill(*block);
  char* const start = block->start;
  const std::uint64_t calls = fake::kernel_calls();
  ASSERT_TRUE(tested.resize_large(block, 5 * unit_bytes + 1, owner));
  EXPECT_EQ(fake::kernel_calls(), calls);
  EXPECT_EQ(block->start, start);
  EXPECT_EQ(block->bytes, 6 * unit_bytes);
  EXPECT_EQ(tested.used_bytes(), 6 * unit_bytes);
  EXPECT_FALSE(block->is_zeroed);
  expect_filled(*block, 2 * unit_bytes);
  EXPECT_EQ(detail::key_of(start), owner | pages::large_mark);
  EXPECT_EQ(page_map::large_around(start + 5 * unit_bytes), block);
  EXPECT_EQ(detail::key_of(start + 6 * unit_bytes), 0u);

  slab* const behind = tested.allocate_large(1, unit_bytes, owner);
  ASSERT_EQ(behind->start, start + 6 * unit_bytes);
  EXPECT_FALSE(tested.resize_large(block, 7 * unit_bytes, owner, false));
  EXPECT_EQ(block->bytes, 6 * unit_bytes);
  EXPECT_EQ(tested.used_bytes(), 7 * unit_bytes);
  EXPECT_EQ(detail::key_of(behind->start), owner | pages::large_mark);
  EXPECT_TRUE(tested.is_valid());
}

TEST_F(space_test, shrinks_in_its_segment) {
  configure_small();
  slab* const block = tested.allocate_large(8 * unit_bytes, unit_bytes, owner);
  fill(*block);
  ASSERT_TRUE(tested.resize_large(block, 8 * unit_bytes - 5, owner));  // the number of units does not change
  ASSERT_TRUE(tested.resize_large(block, 3 * unit_bytes - 5, owner));
  EXPECT_EQ(block->bytes, 3 * unit_bytes);
  EXPECT_EQ(tested.used_bytes(), 3 * unit_bytes);
  expect_filled(*block, 3 * unit_bytes);
  EXPECT_EQ(detail::key_of(block->start + 3 * unit_bytes), 0u);
  EXPECT_TRUE(tested.is_valid());
  slab* const behind = tested.allocate_large(1, unit_bytes, owner);
  EXPECT_EQ(behind->start, block->start + 3 * unit_bytes);
  EXPECT_FALSE(behind->is_zeroed);
}

TEST_F(space_test, a_single_shrinks_and_grows_in_its_place) {
  slab* const block = tested.allocate_large(single_bytes + 20_MiB, unit_bytes, owner);
  fill(*block);
  char* const start = block->start;
  ASSERT_TRUE(tested.resize_large(block, single_bytes, owner));
  EXPECT_EQ(block->start, start);
  EXPECT_EQ(tested.used_bytes(), single_bytes);
  EXPECT_EQ(page_map::large_around(start + single_bytes), nullptr);
  expect_filled(*block, single_bytes);

  ASSERT_TRUE(tested.resize_large(block, single_bytes + 10_MiB, owner));  // its old hole is still there
  EXPECT_EQ(block->start, start);
  EXPECT_EQ(block->bytes, single_bytes + 10_MiB);
  expect_filled(*block, single_bytes);
  EXPECT_TRUE(is_zero(start + single_bytes, 100_KiB));
  EXPECT_EQ(page_map::large_around(start + block->bytes - 1), block);
  EXPECT_TRUE(tested.is_valid());
}

TEST_F(space_test, a_single_that_cannot_grow_in_place_moves_its_pages) {
  slab* const block = tested.allocate_large(single_bytes, unit_bytes, owner);
  fill(*block);
  char* const start = block->start;
  fake::refuse_growth(true);
  const auto moves = platform::system_calls().mremap;
  ASSERT_TRUE(tested.resize_large(block, 2 * single_bytes, owner));
  EXPECT_NE(block->start, start);
  EXPECT_GT(platform::system_calls().mremap, moves);
  expect_filled(*block, single_bytes);
  EXPECT_TRUE(is_zero(block->start + single_bytes, 100_KiB));
  EXPECT_EQ(detail::key_of(start), 0u);
  EXPECT_EQ(page_map::slab_of(start), nullptr);
  EXPECT_EQ(detail::key_of(block->start), owner | pages::large_mark);
  EXPECT_EQ(page_map::large_around(block->start + 2 * single_bytes - 1), block);
  EXPECT_EQ(tested.used_bytes(), 2 * single_bytes);
  EXPECT_EQ(fake::mappings().size(), before.size() + 1);
  EXPECT_TRUE(tested.is_valid());
}

// Returns a block in a segment that cannot grow there.
slab* enclosed(space& tested, std::size_t bytes) {
  slab* const block = tested.allocate_large(bytes, unit_bytes, owner);
  const slab* const behind = tested.allocate_large(1, unit_bytes, owner);
  EXPECT_EQ(behind->start, block->start + bytes);
  fill(*block);
  return block;
}

TEST_F(space_test, a_block_that_cannot_grow_in_its_segment_moves_its_pages) {
  slab* const block = enclosed(tested, 2_MiB);
  char* const start = block->start;
  slab* const moved = tested.resize_large(block, 5_MiB, owner);
  ASSERT_NE(moved, nullptr) << "the system moves no pages";
  EXPECT_EQ(moved->home, nullptr);
  EXPECT_EQ(moved->bytes, 5_MiB);
  EXPECT_EQ(moved->index, detail::class_count);
  EXPECT_FALSE(moved->is_zeroed);
  expect_filled(*moved, 2_MiB);
  EXPECT_TRUE(is_zero(moved->start + 2_MiB, 3_MiB));
  EXPECT_EQ(detail::key_of(start), 0u);
  EXPECT_EQ(detail::key_of(moved->start), owner | pages::large_mark);
  EXPECT_EQ(page_map::slab_of(moved->start), moved);
  EXPECT_EQ(page_map::large_around(moved->start + 5_MiB - 1), moved);
  EXPECT_EQ(tested.used_bytes(), 5_MiB + unit_bytes);
  EXPECT_TRUE(tested.is_valid());

  const slab* const reused = tested.allocate_large(2_MiB, unit_bytes, owner);
  EXPECT_EQ(reused->start, start);
  EXPECT_TRUE(reused->is_zeroed);
  EXPECT_TRUE(is_zero(start, 2_MiB));

  const slab* const resized = tested.resize_large(moved, 50_MiB, owner);
  ASSERT_EQ(resized, moved);
  expect_filled(*resized, 2_MiB);
  EXPECT_TRUE(is_zero(resized->start + 2_MiB, 48_MiB));
  EXPECT_TRUE(tested.is_valid());
  const auto mapped = fake::mappings().size();
  tested.deallocate(moved);
  EXPECT_EQ(fake::mappings().size(), mapped - 1);
}

TEST_F(space_test, a_block_whose_pages_do_not_move_stays_whole) {
  // These fail in turn: the new place, its leaf of the page map, the move.
  for (std::uint64_t n = 1, failed = 1; failed != 0; ++n) {
    slab* const block = enclosed(tested, 2_MiB);
    const auto mapped = fake::mappings();
    fake::reset();
    fake::fail_request(n);
    slab* const moved = tested.resize_large(block, 4_MiB, owner);
    failed = fake::refused_requests();
    EXPECT_EQ(moved == nullptr, failed != 0);
    if (moved == nullptr) {
      EXPECT_EQ(block->bytes, 2_MiB);
      EXPECT_EQ(tested.used_bytes(), 2_MiB + unit_bytes);
      EXPECT_EQ(fake::mappings(), mapped);
    }
    const slab& whole = moved == nullptr ? *block : *moved;
    EXPECT_EQ(detail::key_of(whole.start), owner | pages::large_mark);
    expect_filled(whole, 2_MiB);
    EXPECT_TRUE(tested.is_valid());
    tested.release_all(0);
    EXPECT_EQ(fake::mappings(), before) << n;
  }
}

TEST_F(space_test, a_block_is_copied_where_free_memory_holds_pages) {
  slab* const block = enclosed(tested, 2_MiB);
  slab* const freed = tested.allocate_large(4_MiB, unit_bytes, owner);
  tested.deallocate(freed);
  EXPECT_EQ(tested.resize_large(block, 4_MiB, owner), nullptr);
  expect_filled(*block, 2_MiB);
  EXPECT_NE(tested.resize_large(block, 5_MiB, owner), nullptr);
}

TEST_F(space_test, pages_of_reserved_memory_do_not_move) {
  configure_small();
  ASSERT_TRUE(tested.reserve(4_MiB));
  slab* const block = enclosed(tested, 2_MiB);
  EXPECT_EQ(tested.resize_large(block, 5_MiB, owner), nullptr);
  expect_filled(*block, 2_MiB);
  EXPECT_EQ(tested.used_bytes(), 2_MiB + unit_bytes);
}

TEST_F(space_test, a_limit_counts_a_block_that_moves_once) {
  configure_small(6_MiB);
  slab* const block = enclosed(tested, 2_MiB);
  EXPECT_EQ(tested.resize_large(block, 6_MiB, owner), nullptr);
  slab* const moved = tested.resize_large(block, 5_MiB, owner);
  ASSERT_NE(moved, nullptr);
  EXPECT_EQ(tested.used_bytes(), 5_MiB + unit_bytes);
  EXPECT_EQ(tested.peak_used_bytes(), 5_MiB + unit_bytes);
  tested.deallocate(moved);
  EXPECT_EQ(tested.used_bytes(), unit_bytes);
}

TEST_F(space_test, a_single_that_cannot_move_stays_whole) {
  // These fail in turn: the attempt in place, the new place, its leaf of the page map, the move.
  for (std::uint64_t n = 1, failed = 1; failed != 0; ++n) {
    slab* const block = tested.allocate_large(single_bytes, unit_bytes, owner);
    ASSERT_NE(block, nullptr);
    fill(*block);
    const auto mapped = fake::mappings();
    char* const start = block->start;
    fake::reset();
    fake::refuse_growth(true);
    fake::fail_request(n);
    if (!tested.resize_large(block, 2 * single_bytes, owner)) {
      EXPECT_EQ(block->start, start);
      EXPECT_EQ(block->bytes, single_bytes);
      EXPECT_EQ(tested.used_bytes(), single_bytes);
      EXPECT_EQ(fake::mappings(), mapped);
    }
    failed = fake::refused_requests();
    EXPECT_EQ(detail::key_of(block->start), owner | pages::large_mark);
    EXPECT_EQ(page_map::large_around(block->start + single_bytes - 1), block);
    expect_filled(*block, single_bytes);
    EXPECT_TRUE(tested.is_valid());
    tested.deallocate(block);
    EXPECT_EQ(fake::mappings(), before) << n;
  }
}

TEST_F(space_test, zeroed_is_said_of_untouched_and_of_purged_units_only) {
  slab* const first = tested.allocate_large(1_MiB, unit_bytes, owner);
  EXPECT_TRUE(first->is_zeroed);
  fill(*first);
  tested.deallocate(first);
  slab* const second = tested.allocate_large(1_MiB, unit_bytes, owner);
  EXPECT_EQ(second, first);
  EXPECT_FALSE(second->is_zeroed);
  fill(*second);
  slab* const neighbour = tested.allocate_slab(0, owner);  // keeps the segment
  tested.deallocate(second);
  tested.purge_all();
  slab* const third = tested.allocate_large(1_MiB, unit_bytes, owner);
  EXPECT_EQ(third, first);
  EXPECT_TRUE(third->is_zeroed);
  EXPECT_TRUE(is_zero(third->start, 1_MiB));
  tested.deallocate(neighbour);
}

}  // namespace
}  // namespace space_tests
