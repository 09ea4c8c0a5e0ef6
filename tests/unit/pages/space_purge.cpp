// Tests that free memory goes back to the system: after a delay by the clock, or at once.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "space_fixture.hpp"

namespace space_tests {
namespace {

constexpr std::uint32_t delay_ms = 500;

class purge_test : public space_test {
 protected:
  void SetUp() override {
    space_test::SetUp();
    keeper = tested.allocate_slab(0, owner);  // keeps the segment from going as a whole
    ASSERT_NE(keeper, nullptr);
  }

  slab* make(std::size_t bytes) {
    slab* const block = tested.allocate_large(bytes, unit_bytes, owner);
    EXPECT_NE(block, nullptr);
    std::memset(block->start, 0x7e, block->bytes);
    return block;
  }

  /// Lets time pass in steps, with a visit at each.
  std::size_t purged_after(std::uint64_t ms) {
    const std::size_t start = platform::purge_totals().bytes;
    for (std::uint64_t step = 0; step < ms; step += 25) {
      fake::advance_ms(25);
      tested.purge(platform::now_ms(), delay_ms);
      EXPECT_TRUE(tested.is_valid());
    }
    return platform::purge_totals().bytes - start;
  }

  slab* keeper = nullptr;
};

// Two generations of half the delay each: memory is purged after half the delay at the earliest, and after the whole
// of it and a visit at the latest.
TEST_F(purge_test, free_memory_goes_back_after_the_delay_and_not_at_once) {
  tested.deallocate(make(3_MiB));
  EXPECT_EQ(purged_after(delay_ms / 2 - 25), 0u);
  EXPECT_EQ(purged_after(delay_ms / 2 + 50), 3_MiB);
  EXPECT_EQ(purged_after(10 * delay_ms), 0u);  // only once
  EXPECT_EQ(tested.used_bytes(), unit_bytes);
}

TEST_F(purge_test, what_was_freed_later_goes_later) {
  slab* const first = make(2_MiB);
  slab* const second = make(5_MiB);
  tested.deallocate(first);
  EXPECT_EQ(purged_after(delay_ms / 2), 0u);
  tested.deallocate(second);  // one generation younger
  EXPECT_EQ(purged_after(delay_ms / 2), 2_MiB);
  EXPECT_EQ(purged_after(delay_ms / 2), 5_MiB);
}

TEST_F(purge_test, what_is_used_again_stays) {
  slab* const first = make(2_MiB);
  tested.deallocate(first);
  purged_after(delay_ms / 2 + 25);
  slab* const reused = make(2_MiB);
  EXPECT_EQ(reused, first);
  EXPECT_EQ(purged_after(4 * delay_ms), 0u);
  EXPECT_EQ(reused->start[2_MiB - 1], 0x7e);
  tested.deallocate(reused);
  EXPECT_EQ(purged_after(2 * delay_ms), 2_MiB);
}

TEST_F(purge_test, a_segment_without_use_goes_back_with_its_address_space) {
  std::vector<slab*> blocks;
  for (int round = 0; round < 3; ++round) blocks.push_back(make(30_MiB));
  const std::size_t mapped = fake::mappings().size();
  for (slab* const block : blocks) tested.deallocate(block);
  purged_after(2 * delay_ms);
  EXPECT_EQ(fake::mappings().size(), mapped - 1) << "the other segment is in use";
  tested.deallocate(keeper);
  purged_after(2 * delay_ms);
  EXPECT_EQ(fake::mappings(), before);
  EXPECT_TRUE(tested.is_valid());
}

TEST_F(purge_test, the_tail_of_a_block_that_shrank_goes_back) {
  slab* const block = make(8_MiB);
  ASSERT_TRUE(tested.resize_large(block, 1_MiB, owner));
  EXPECT_EQ(purged_after(2 * delay_ms), 7_MiB);
  EXPECT_EQ(block->start[1_MiB - 1], 0x7e);
}

TEST_F(purge_test, no_delay_means_the_next_visit) {
  tested.deallocate(make(1_MiB));
  const std::size_t start = platform::purge_totals().bytes;
  tested.purge(platform::now_ms(), 0);
  tested.purge(platform::now_ms(), 0);
  EXPECT_EQ(platform::purge_totals().bytes - start, 1_MiB);
}

TEST_F(purge_test, one_visit_purges_a_bounded_amount) {
  std::vector<slab*> used_blocks;
  for (int round = 0; round < 200; ++round) {  // uses so much that 300 MiB more or less make no difference
    used_blocks.push_back(tested.allocate_large(10_MiB, unit_bytes, owner));
  }
  for (int round = 0; round < 40; ++round) {  // the rest of each segment, so that none goes back as a whole
    ASSERT_NE(tested.allocate_large(3_MiB, unit_bytes, owner), nullptr);
  }
  const std::size_t at_first = platform::purge_totals().bytes;
  for (int round = 0; round < 30; ++round) {
    tested.deallocate(used_blocks.back());
    used_blocks.pop_back();
  }
  EXPECT_EQ(platform::purge_totals().bytes, at_first);
  std::size_t sum = 0;
  for (int visits = 0; visits < 50; ++visits) {
    fake::advance_ms(delay_ms / 2);
    const std::size_t start = platform::purge_totals().bytes;
    tested.purge(platform::now_ms(), delay_ms);
    const std::size_t now = platform::purge_totals().bytes - start;
    EXPECT_LE(now, 68_MiB);
    sum += now;
  }
  EXPECT_EQ(sum, 300_MiB);
}

// After a program has freed its memory there may be no further visit.
TEST_F(purge_test, what_is_freed_in_bulk_goes_back_without_a_visit) {
  std::vector<slab*> runs;
  for (int round = 0; round < 30; ++round) runs.push_back(make(10_MiB));
  const std::size_t start = platform::purge_totals().bytes;
  while (!runs.empty()) {
    const std::size_t before_this = platform::purge_totals().bytes;
    tested.deallocate(runs.back());
    runs.pop_back();
    EXPECT_LE(platform::purge_totals().bytes - before_this, 20_MiB);
    ASSERT_TRUE(tested.is_valid());
  }
  EXPECT_GE(platform::purge_totals().bytes - start, 300_MiB - 40_MiB);
  EXPECT_LE(platform::purge_totals().bytes - start, 300_MiB - 4_MiB);
}

TEST_F(purge_test, what_is_needed_again_at_once_is_kept_the_next_time) {
  const auto wave = [this] {
    const std::size_t start = platform::purge_totals().bytes;
    std::vector<slab*> runs;
    for (int round = 0; round < 10; ++round) runs.push_back(make(10_MiB));
    for (slab* run : runs) tested.deallocate(run);
    return platform::purge_totals().bytes - start;
  };
  EXPECT_GT(wave(), 50_MiB);
  std::size_t last = 100_MiB;
  for (int round = 0; round < 4; ++round) last = wave();
  EXPECT_EQ(last, 0u);
}

TEST_F(purge_test, nothing_to_do_costs_nothing) {
  purged_after(4 * delay_ms);
  const std::uint64_t calls = fake::kernel_calls();
  EXPECT_EQ(purged_after(100 * delay_ms), 0u);
  EXPECT_EQ(fake::kernel_calls(), calls);
}

TEST_F(purge_test, a_space_without_purging_keeps_all) {
  configure_small();
  tested.deallocate(make(1_MiB));
  EXPECT_EQ(purged_after(10 * delay_ms), 0u);
}

TEST_F(purge_test, purge_all_does_not_wait) {
  tested.deallocate(make(1_MiB));
  slab* const second = make(4_MiB);
  EXPECT_EQ(tested.purge_all(), 0u) << "the first went into the second";
  tested.deallocate(second);
  EXPECT_EQ(tested.purge_all(), 4_MiB);
  EXPECT_EQ(tested.purge_all(), 0u);
  EXPECT_TRUE(tested.is_valid());
}

TEST_F(purge_test, purge_all_gives_whole_segments_back) {
  tested.deallocate(make(30_MiB));
  tested.deallocate(keeper);
  tested.purge_all();
  EXPECT_EQ(fake::mappings(), before);
  EXPECT_TRUE(tested.is_valid());
  keeper = tested.allocate_slab(0, owner);
  EXPECT_NE(keeper, nullptr);
}

TEST_F(purge_test, purge_all_keeps_the_reserve_mapped) {
  space reserved;
  reserved.configure({.segment_units = 64, .alignment = unit_bytes, .purge = pages::purging::never});
  ASSERT_TRUE(reserved.reserve(1_MiB));
  const auto with_reserve = fake::mappings();
  reserved.purge_all();
  EXPECT_EQ(fake::mappings(), with_reserve);
  reserved.release_all(0);
}

TEST_F(purge_test, what_the_system_refuses_to_take_stays_dirty) {
  fake::refuse_purges(true);  // as for locked memory
  slab* const block = make(1_MiB);
  tested.deallocate(block);
  EXPECT_EQ(tested.purge_all(), 0u);
  EXPECT_TRUE(tested.is_valid());
  const auto calls = platform::system_calls().madvise;
  EXPECT_EQ(purged_after(4 * delay_ms), 0u);
  EXPECT_EQ(platform::system_calls().madvise, calls) << "asked again";
  slab* const reused = tested.allocate_large(1_MiB, unit_bytes, owner);
  EXPECT_EQ(reused, block);
  EXPECT_FALSE(reused->is_zeroed);
}

/// Locks a page in the middle of `block`.
void lock_page_of(const slab& block) {
  // The sanitizers' mlock() does nothing.
  ASSERT_EQ(syscall(SYS_mlock, block.start + block.bytes / 2, 1), 0);
}

TEST_F(purge_test, of_memory_with_a_locked_page_only_its_unit_stays) {
  for (const bool is_by_age : {true, false}) {
    slab* const block = make(12_MiB);
    lock_page_of(*block);
    tested.deallocate(block);
    const std::size_t start = platform::purge_totals().bytes;
    if (is_by_age) {
      purged_after(2 * delay_ms);
    } else {
      tested.purge_all();
    }
    EXPECT_EQ(platform::purge_totals().bytes - start, 12_MiB - unit_bytes);
    EXPECT_EQ(tested.index().dirty_units(), 0u);
    EXPECT_TRUE(tested.is_valid());
    slab* const reused = make(12_MiB);
    EXPECT_EQ(reused, block);
    EXPECT_FALSE(reused->is_zeroed);
    ASSERT_EQ(syscall(SYS_munlock, reused->start, reused->bytes), 0);
    tested.deallocate(reused);
    tested.purge_all();
  }
}

TEST_F(purge_test, memory_freed_beside_a_locked_page_goes_at_once_and_by_age) {
  slab* const block = make(64_KiB);
  slab* const large = make(30_MiB);
  lock_page_of(*block);
  tested.deallocate(block);
  EXPECT_EQ(purged_after(2 * delay_ms), 0u);
  std::size_t start = platform::purge_totals().bytes;
  tested.deallocate(large);
  EXPECT_GE(platform::purge_totals().bytes - start, 10_MiB) << "excess";
  purged_after(2 * delay_ms);
  EXPECT_EQ(platform::purge_totals().bytes - start, 30_MiB);
  start = platform::system_calls().madvise;
  purged_after(20 * delay_ms);
  EXPECT_EQ(platform::system_calls().madvise, start) << "the locked page is tried again and again";
}

TEST_F(purge_test, unlocked_memory_is_tried_again_after_a_minute) {
  slab* const block = make(64_KiB);
  lock_page_of(*block);
  tested.deallocate(block);
  purged_after(2 * delay_ms);
  ASSERT_EQ(syscall(SYS_munlock, block->start, unit_bytes), 0);
  fake::advance_ms(60'000);
  tested.deallocate(make(64_KiB));
  EXPECT_EQ(purged_after(2 * delay_ms), 64_KiB) << "the first block was used again";
  slab* const first = make(64_KiB);
  slab* const second = make(64_KiB);
  lock_page_of(*first);
  tested.deallocate(first);
  purged_after(2 * delay_ms);
  ASSERT_EQ(syscall(SYS_munlock, first->start, unit_bytes), 0);
  make(64_KiB * 2);
  fake::advance_ms(60'000);
  tested.deallocate(second);
  EXPECT_EQ(purged_after(4 * delay_ms), 128_KiB);
}

// After mlockall, what the system refuses costs few calls, however long the program works.
TEST_F(purge_test, locked_memory_costs_few_calls_at_growing_intervals) {
  fake::refuse_purges(true);
  slab* blocks[300];
  const auto work = [&](int seconds) {
    const auto calls = platform::system_calls().madvise;
    for (int round = 0; round < 4 * seconds; ++round) {
      for (slab*& block : blocks) block = make(64_KiB);
      for (std::size_t position = 0; position < std::size(blocks); position += 2) tested.deallocate(blocks[position]);
      for (std::size_t position = 1; position < std::size(blocks); position += 2) tested.deallocate(blocks[position]);
      purged_after(delay_ms / 2);
    }
    return platform::system_calls().madvise - calls;
  };
  EXPECT_LT(work(130), 8 * 20u + 200);
  EXPECT_LT(work(130), 3 * 20u) << "pauses do not grow";
  fake::refuse_purges(false);
  fake::advance_ms(64'000);
  const std::size_t start = platform::purge_totals().bytes;
  work(1);
  purged_after(2 * delay_ms);
  EXPECT_GT(platform::purge_totals().bytes - start, 10_MiB) << "unlocked memory goes back again";
}

TEST_F(purge_test, purges_at_once_when_configured_so) {
  tested.deallocate(keeper);
  tested.release_all(0);
  tested.configure({.purge = pages::purging::at_once});
  keeper = tested.allocate_slab(0, owner);
  slab* const block = make(1_MiB);
  const std::size_t start = platform::purge_totals().bytes;
  tested.deallocate(block);
  EXPECT_EQ(platform::purge_totals().bytes - start, 1_MiB);
  EXPECT_TRUE(tested.is_valid());
  slab* const reused = tested.allocate_large(1_MiB, unit_bytes, owner);
  EXPECT_EQ(reused, block);
  EXPECT_TRUE(reused->is_zeroed);
  EXPECT_TRUE(is_zero(reused->start, 1_MiB));
}

}  // namespace
}  // namespace space_tests
