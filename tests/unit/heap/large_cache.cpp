// Tests the cache of large runs in front of the central space.
#include "memory/heap/large_cache.hpp"

#include <atomic>
#include <thread>

#include "central_fixture.hpp"

namespace heap_tests {
namespace {

using pages::unit_bytes;

class large_cache : public central_heap_test {
 protected:
  static void* take(heap& source, std::size_t bytes) {
    void* const block = source.allocate_large(bytes, 16, nullptr);
    EXPECT_NE(block, nullptr);
    return block;
  }
  static void pair(heap& self, std::size_t bytes) { give(self, take(self, bytes)); }
  static std::size_t central_bytes() { return heaps::central().used_bytes(); }
};

TEST_F(large_cache, a_steady_pair_takes_no_lock) {
  heap& tested = start();
  for (const std::size_t bytes : {256_KiB + 1, 1_MiB, 5_MiB, 32_MiB}) {
    pair(tested, bytes);
    // Whoever takes the lock of the space now waits forever.
    heaps::central().lock().lock();
    for (int round = 0; round < 100; ++round) pair(tested, bytes);
    heaps::central().lock().unlock();
  }
}

// Two lie in the slots of their bin, and four in the spare ones.
TEST_F(large_cache, six_blocks_at_a_time_take_no_lock) {
  heap& tested = start();
  const auto round = [&](std::size_t bytes) {
    void* blocks[6];
    for (void*& block : blocks) block = take(tested, bytes);
    for (void* const block : blocks) give(tested, block);
  };
  for (const std::size_t bytes : {256_KiB + 1, 1_MiB}) {
    round(bytes);  // opens the bin
    round(bytes);  // opens the spare slots
    round(bytes);
    heaps::central().lock().lock();
    round(bytes);
    heaps::central().lock().unlock();
    EXPECT_EQ(tested.large.count().runs, 6u);
    tested.visit_large_cache(false);
    EXPECT_EQ(tested.large.count().runs, 6u) << "they were used";
    tested.visit_large_cache(false);
    EXPECT_EQ(central_bytes(), 0u);
    EXPECT_FALSE(tested.visit_large_cache(true));
  }
}

TEST_F(large_cache, a_spare_run_serves_lengths_that_are_hardly_shorter) {
  heap& tested = start();
  give(tested, take(tested, 200 * unit_bytes));
  tested.visit_large_cache(true);  // the space has touched memory now, so nothing below takes new one
  std::vector<void*> blocks;
  for (int round = 0; round < 3; ++round) {
    while (blocks.size() != 4) blocks.push_back(take(tested, 16 * unit_bytes));
    for (; !blocks.empty(); blocks.pop_back()) give(tested, blocks.back());
  }
  ASSERT_EQ(tested.large.count().runs, 4u);
  blocks.push_back(take(tested, 13 * unit_bytes));
  EXPECT_EQ(tested.large.count().runs, 4u) << "it would waste a fifth";
  blocks.push_back(take(tested, 18 * unit_bytes));
  EXPECT_EQ(tested.large.count().runs, 4u) << "they are too short";
  for (void* const block : blocks) give(tested, block);
}

TEST_F(large_cache, has_no_spare_slots_where_bins_keep_much) {
  heap& tested = start();
  ASSERT_TRUE(heaps::central().grant_caching(11_MiB));  // as for bins of other lengths
  void* blocks[4];
  for (int round = 0; round < 4; ++round) {
    for (void*& block : blocks) block = take(tested, 1_MiB);
    for (void* const block : blocks) give(tested, block);
  }
  EXPECT_EQ(tested.large.count().runs, 2u);
  heaps::central().end_caching(11_MiB);
}

TEST_F(large_cache, a_run_serves_lengths_that_are_hardly_shorter) {
  heap& tested = start();
  give(tested, take(tested, 200 * unit_bytes));
  tested.visit_large_cache(true);  // the space has touched memory now, so nothing below takes new one
  void* const first = take(tested, 63 * unit_bytes);
  give(tested, first);
  EXPECT_EQ(take(tested, 60 * unit_bytes), first);
  give(tested, first);
  void* const longer = take(tested, 64 * unit_bytes);
  EXPECT_NE(longer, first);
  void* const shorter = take(tested, 40 * unit_bytes);
  EXPECT_NE(shorter, first) << "it would waste a third";
  give(tested, longer);
  give(tested, shorter);
}

// Otherwise a buffer that grows leaves a run of each length behind.
TEST_F(large_cache, a_heap_that_grows_gives_up_idle_runs) {
  heaps::central().purge_all();
  heap& tested = start();
  for (std::size_t units = 8; units < 64; units += 8) give(tested, take(tested, units * unit_bytes));
  ASSERT_GT(tested.large.count().runs, 1u);
  std::vector<void*> blocks;
  for (std::size_t bytes = 0; bytes < 32_MiB; bytes += 64_KiB) blocks.push_back(allocate(tested, class_of(64_KiB)));
  EXPECT_EQ(tested.large.count().runs, 0u);
  for (void* const block : blocks) give(tested, block);
}

TEST_F(large_cache, it_keeps_a_block_that_left_its_segment) {
  heaps::central().purge_all();  // otherwise the block would be copied into free memory
  heap& tested = start();
  char* const block = static_cast<char*>(take(tested, 2_MiB));
  char* const behind = static_cast<char*>(take(tested, 1_MiB));
  ASSERT_EQ(behind, block + 2_MiB);
  std::memset(block, 5, 2_MiB);
  pages::slab* const moved = tested.resize_large(pages::page_map::slab_of(block), 4_MiB, true);
  ASSERT_NE(moved, nullptr);
  char* const start_of_moved = moved->start;
  give(tested, start_of_moved);
  EXPECT_EQ(central_bytes(), 5_MiB);
  // Now a block of that length has pages to be copied into.
  char* const second = static_cast<char*>(take(tested, 2_MiB));
  ASSERT_EQ(second, block);
  EXPECT_EQ(tested.resize_large(pages::page_map::slab_of(second), 4_MiB, true), nullptr);
  EXPECT_EQ(take(tested, 4_MiB), start_of_moved);
  give(tested, start_of_moved);
  give(tested, second);
  give(tested, behind);
}

TEST_F(large_cache, alignments_are_kept) {
  heap& tested = start();
  pair(tested, 1_MiB);
  void* const block = tested.allocate_large(1_MiB, 4_MiB, nullptr);
  EXPECT_TRUE(base::is_aligned(block, 4_MiB));
  give(tested, block);
}

TEST_F(large_cache, a_block_from_it_need_not_be_zero) {
  heap& tested = start();
  for (int round = 0; round < 3; ++round) {
    bool is_zeroed = false;
    void* const block = tested.allocate_large(1_MiB, 16, &is_zeroed);
    EXPECT_FALSE(is_zeroed && round != 0);
    static_cast<char*>(block)[100] = 1;
    give(tested, block);
  }
}

TEST_F(large_cache, its_runs_are_not_in_use) {
  heap& tested = start();
  pair(tested, 1_MiB);
  ASSERT_EQ(central_bytes(), 1_MiB) << "nothing is in the cache";
  const heap_statistics now = tested.statistics();
  EXPECT_EQ(now.large_blocks, 0u);
  EXPECT_EQ(now.large_bytes, 0u);
  EXPECT_EQ(now.used_bytes, 0u);
  EXPECT_EQ(now.footprint_bytes, 1_MiB);
}

TEST_F(large_cache, two_visits_without_use_empty_it) {
  heap& tested = start();
  pair(tested, 1_MiB);
  tested.visit_large_cache(false);
  EXPECT_EQ(central_bytes(), 1_MiB);
  pair(tested, 1_MiB);
  tested.visit_large_cache(false);
  EXPECT_EQ(central_bytes(), 1_MiB) << "it was used in between";
  tested.visit_large_cache(false);
  EXPECT_EQ(central_bytes(), 0u);
  // Its bin shuts when it was found empty twice.
  EXPECT_FALSE(tested.visit_large_cache(false));
  pair(tested, 2_MiB);
  EXPECT_TRUE(tested.visit_large_cache(false));
  EXPECT_FALSE(tested.visit_large_cache(true));
  EXPECT_EQ(central_bytes(), 0u);
}

// The space grants the bytes of one run for such a bin.
TEST_F(large_cache, a_bin_of_long_runs_keeps_one_of_any_thread) {
  heap& tested = start();
  pair(tested, 8_MiB);
  for (const bool is_owner_first : {true, false}) {
    void* const blocks[] = {take(tested, 8_MiB), take(tested, 8_MiB)};
    tested.deallocate_large(pages::page_map::slab_of(blocks[0]), is_owner_first);
    tested.deallocate_large(pages::page_map::slab_of(blocks[1]), !is_owner_first);
    EXPECT_EQ(tested.large.count().runs, 1u) << is_owner_first;
  }
}

TEST_F(large_cache, a_shut_bin_accepts_nothing) {
  heap& tested = start();
  void* const block = take(tested, 1_MiB);
  tested.visit_large_cache(false);
  tested.visit_large_cache(false);
  give(tested, block);
  EXPECT_EQ(central_bytes(), 0u) << "the program held the block for long";
}

TEST_F(large_cache, keeps_a_bounded_amount) {
  heap& tested = start();
  for (std::size_t bytes = 300'000; bytes <= 32_MiB; bytes += bytes / 16) {
    void* const first = take(tested, bytes);
    void* const second = take(tested, bytes);
    give(tested, first);
    give(tested, second);
  }
  EXPECT_LE(central_bytes(), 128_MiB);
  EXPECT_GT(central_bytes(), 8_MiB);
}

TEST_F(large_cache, another_thread_fills_it) {
  heap& owner = start();
  heap& helper = start();
  void* block = take(owner, 1_MiB);
  give(helper, block);
  EXPECT_EQ(central_bytes(), 1_MiB);
  EXPECT_EQ(take(owner, 1_MiB), block);
  give(owner, block);
  EXPECT_EQ(helper.statistics().footprint_bytes, 0u);
}

TEST_F(large_cache, ends_with_its_thread) {
  heap& owner = start();
  pair(owner, 1_MiB);
  void* const block = take(owner, 2_MiB);
  end(owner);
  EXPECT_EQ(central_bytes(), 2_MiB);
  heap& helper = start();
  give(helper, block);
}

TEST_F(large_cache, serves_before_memory_is_short) {
  heap& keeper = start();
  heap& helper = start();
  pair(keeper, 20_MiB);
  fake::set_budget(platform::mapped_bytes());
  // All further blocks fit into the present mappings.
  std::vector<void*> blocks;
  while (void* const block = helper.allocate_large(10_MiB, 16, nullptr)) blocks.push_back(block);
  fake::set_budget(0);
  EXPECT_EQ(keeper.statistics().footprint_bytes, 0u);
  for (void* const block : blocks) give(helper, block);
}

// Owners replace blocks, and free each helper's, while a fourth thread visits all caches. Each block carries the
// address of its slot, so that a run with two holders is noticed.
TEST_F(large_cache, no_run_has_two_holders) {
  constexpr std::size_t count = 3;
  constexpr int rounds = 4'000;
  heap* const owners[count] = {&start(), &start(), &start()};
  std::atomic<void*> passed[12] = {};  // more than the slots of a bin hold
  std::atomic<bool> is_wrong{false};
  std::atomic<int> running{count};
  const auto check = [&](void* block) {
    is_wrong = is_wrong || *static_cast<void**>(block) != block;
    *static_cast<void**>(block) = nullptr;
  };
  std::vector<std::thread> threads;
  for (std::size_t self = 0; self < count; ++self) {
    threads.emplace_back([&, self] {
      std::mt19937 random(static_cast<unsigned>(self));
      for (int round = 0; round < rounds; ++round) {
        void* block = owners[self]->allocate_large(300'000 + random() % 5 * 100'000, 16, nullptr);
        if (block == nullptr) {
          is_wrong = true;
          break;
        }
        *static_cast<void**>(block) = block;
        if (random() % 2 != 0) block = passed[random() % std::size(passed)].exchange(block);
        if (block != nullptr) {
          check(block);
          give(*owners[self], block);
        }
      }
      --running;
    });
  }
  threads.emplace_back([&] {
    while (running != 0) {
      for (heap* const owner : owners) owner->visit_large_cache(false);
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(is_wrong);
  for (auto& run : passed) {
    if (void* const block = run.exchange(nullptr)) {
      check(block);
      give(*owners[0], block);
    }
  }
  EXPECT_FALSE(is_wrong);
}

TEST_F(large_cache, a_second_free_is_named) {
  heap& tested = start();
  pair(tested, 1_MiB);
  void* const block = take(tested, 1_MiB);
  give(tested, block);
  EXPECT_DEATH(give(tested, block), "double free");
  EXPECT_DEATH(give(tested, static_cast<char*>(block) + 16), "double free");
}

TEST_F(large_cache, closed_heaps_have_none) {
  heap& tested = make();
  pair(tested, 1_MiB);
  pair(tested, 1_MiB);
  EXPECT_EQ(tested.space->used_bytes(), 0u);
}

}  // namespace
}  // namespace heap_tests
