// Tests pools of blocks: growth, limits, statistics, live blocks.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <set>
#include <tuple>
#include <vector>

#include <tarn/fixed_pool.hpp>

#include "support/upstream.hpp"

namespace {

using tarn::fixed_pool;
using tarn::pool_options;

std::vector<void*> allocate_many(fixed_pool& pool, std::size_t count) {
  std::vector<void*> allocated;
  for (std::size_t index = 0; index < count; ++index) {
    allocated.push_back(pool.allocate());
    std::memset(allocated.back(), static_cast<int>(index), pool.block_bytes());
  }
  return allocated;
}

void give(fixed_pool& pool, const std::vector<void*>& blocks) {
  for (void* const block : blocks) pool.deallocate(block);
}

TEST(fixed_pool, takes_no_memory_before_the_first_block) {
  support::upstream memory;
  fixed_pool blocks(64, 16, {.upstream = &memory});
  EXPECT_EQ(memory.requests(), 0u);
  EXPECT_TRUE(blocks.is_valid());
  EXPECT_EQ(blocks.statistics().capacity, 0u);
  blocks.clear();
  blocks.release();
  EXPECT_TRUE(blocks.is_valid());
}

class fixed_pool_shapes : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};

TEST_P(fixed_pool_shapes, blocks_are_aligned_apart_and_used_again) {
  const auto [bytes, alignment] = GetParam();
  support::upstream memory;
  fixed_pool blocks(bytes, alignment, {.upstream = &memory});
  EXPECT_GE(blocks.block_bytes(), bytes);
  for (int round = 0; round < 3; ++round) {
    const auto allocated = allocate_many(blocks, 700);
    std::set<char*> places;
    for (void* const block : allocated) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % std::bit_ceil(alignment), 0u);
      const auto next = places.insert(static_cast<char*>(block)).first;
      EXPECT_TRUE(next == places.begin() || *std::prev(next) + blocks.block_bytes() <= *next);
      EXPECT_TRUE(std::next(next) == places.end() || *next + blocks.block_bytes() <= *std::next(next));
    }
    ASSERT_EQ(places.size(), allocated.size());
    ASSERT_TRUE(blocks.is_valid());
    EXPECT_EQ(blocks.statistics().in_use, 700u);
    for (std::size_t index = 0; index < allocated.size(); ++index) {
      EXPECT_EQ(static_cast<unsigned char*>(allocated[index])[bytes == 0 ? 0 : bytes - 1],
                static_cast<unsigned char>(index));
    }
    give(blocks, allocated);
    ASSERT_TRUE(blocks.is_valid());
    EXPECT_EQ(blocks.statistics().in_use, 0u);
  }
  EXPECT_LE(blocks.statistics().capacity, 1400u);  // nothing was lost: chunks double at most
}

INSTANTIATE_TEST_SUITE_P(shapes, fixed_pool_shapes,
                         testing::Values(std::tuple{0, 1}, std::tuple{8, 3}, std::tuple{40, 24}, std::tuple{8, 0},
                                         std::tuple{1, 1}, std::tuple{8, 8}, std::tuple{12, 4}, std::tuple{16, 16},
                                         std::tuple{24, 8}, std::tuple{64, 64}, std::tuple{100, 4},
                                         std::tuple{64, 4096}, std::tuple{1000, 8}, std::tuple{5000, 32}));

TEST(fixed_pool, the_block_freed_last_comes_first) {
  fixed_pool blocks(32);
  void* const a = blocks.allocate();
  void* const b = blocks.allocate();
  blocks.deallocate(a);
  blocks.deallocate(b);
  EXPECT_EQ(blocks.allocate(), b);
  EXPECT_EQ(blocks.allocate(), a);
}

TEST(fixed_pool, grows_as_told) {
  support::upstream memory;
  fixed_pool doubling(48, 16, {.upstream = &memory, .first_chunk_blocks = 10});
  allocate_many(doubling, 10);
  EXPECT_EQ(doubling.statistics().capacity, 10u);
  allocate_many(doubling, 1);
  EXPECT_EQ(doubling.statistics().capacity, 20u);
  allocate_many(doubling, 10);
  EXPECT_EQ(doubling.statistics().capacity, 40u);
  EXPECT_EQ(doubling.statistics().chunks, 3u);

  fixed_pool steps(48, 16, {.upstream = &memory, .first_chunk_blocks = 10, .increment_blocks = 3});
  allocate_many(steps, 12);
  EXPECT_EQ(steps.statistics().capacity, 13u);
  EXPECT_EQ(steps.statistics().chunk_bytes + doubling.statistics().chunk_bytes, memory.bytes());
}

TEST(fixed_pool, reserve_takes_it_all_at_once) {
  support::upstream memory;
  fixed_pool blocks(40, 8, {.upstream = &memory});
  blocks.reserve(1000);
  const std::size_t requests = memory.requests();
  EXPECT_EQ(blocks.statistics().capacity, 1000u);
  const auto allocated = allocate_many(blocks, 1000);
  give(blocks, allocated);
  blocks.reserve(500);
  EXPECT_EQ(memory.requests(), requests);
  allocate_many(blocks, 1);
  blocks.reserve(1500);
  EXPECT_EQ(blocks.statistics().capacity, 1500u);
  allocate_many(blocks, 1499);
  EXPECT_EQ(memory.requests(), requests + 1);
}

TEST(fixed_pool, limit_is_kept_and_said) {
  fixed_pool blocks(24, 8, {.name = "nodes", .first_chunk_blocks = 7, .limit_blocks = 10});
  const auto allocated = allocate_many(blocks, 10);
  EXPECT_EQ(blocks.try_allocate(), nullptr);
  try {
    static_cast<void>(blocks.allocate());
    FAIL();
  } catch (const tarn::pool_limit_reached& reached) {
    EXPECT_STREQ(reached.what(), "tarn: pool \"nodes\": limit reached: all 10 blocks of 24 bytes are in use");
  }
  EXPECT_THROW(blocks.reserve(11), tarn::pool_limit_reached);
  blocks.deallocate(allocated.back());
  EXPECT_NE(blocks.try_allocate(), nullptr);
}

TEST(fixed_pool, absurd_sizes_have_no_memory) {
  fixed_pool huge(SIZE_MAX);
  EXPECT_EQ(huge.try_allocate(), nullptr);
  EXPECT_THROW(static_cast<void>(huge.allocate()), std::bad_alloc);
  fixed_pool small(16);
  EXPECT_THROW(small.reserve(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(small.reserve(SIZE_MAX / 16 + 1), std::bad_alloc);
  EXPECT_TRUE(small.is_valid());
  allocate_many(small, 3);
}

TEST(fixed_pool, clear_keeps_the_memory_and_release_does_not) {
  support::upstream memory;
  fixed_pool blocks(64, 16, {.upstream = &memory});
  auto allocated = allocate_many(blocks, 500);
  give(blocks, {allocated.begin(), allocated.begin() + 200});
  const std::size_t requests = memory.requests();
  blocks.clear();
  EXPECT_TRUE(blocks.is_valid());
  EXPECT_EQ(blocks.statistics().in_use, 0u);
  EXPECT_LE(blocks.statistics().peak_in_use, 500u);
  EXPECT_GE(blocks.statistics().peak_in_use, 500u - tarn::detail::pool_slots);
  allocated = allocate_many(blocks, 500);
  EXPECT_EQ(memory.requests(), requests);
  blocks.release();
  EXPECT_EQ(memory.blocks(), 0u);
  EXPECT_EQ(blocks.statistics().capacity, 0u);
  allocated = allocate_many(blocks, 50);
  give(blocks, allocated);
  EXPECT_TRUE(blocks.is_valid());
}

TEST(fixed_pool, live_blocks_are_found_in_order_and_the_pool_goes_on) {
  fixed_pool blocks(24, 8, {.first_chunk_blocks = 16});
  for (std::size_t count : {0, 1, 5, 300, 1200}) {
    const auto allocated = allocate_many(blocks, count);
    std::set<void*> live;
    for (std::size_t index = 0; index < allocated.size(); ++index) {
      if (index * 7 % 3 == 1) {
        live.insert(allocated[index]);
      } else {
        blocks.deallocate(allocated[index]);
      }
    }
    std::vector<void*> visited;
    blocks.for_each_live([&](void* block) { visited.push_back(block); });
    EXPECT_EQ(visited, std::vector<void*>(live.begin(), live.end()));
    ASSERT_TRUE(blocks.is_valid());
    EXPECT_EQ(blocks.statistics().in_use, live.size());
    give(blocks, visited);
    give(blocks, allocate_many(blocks, count));
    EXPECT_EQ(blocks.statistics().in_use, 0u);
  }
}

// The n-th request to upstream fails, for every n.
TEST(fixed_pool, a_request_that_fails_loses_nothing) {
  bool has_failed = true;
  for (std::size_t n = 1; has_failed; ++n) {
    support::upstream memory;
    memory.fail_request(n);
    fixed_pool blocks(64, 16, {.upstream = &memory, .first_chunk_blocks = 4});
    std::vector<void*> allocated;
    for (int index = 0; index < 300; ++index) {
      if (void* const block = blocks.try_allocate()) allocated.push_back(block);
      ASSERT_TRUE(blocks.is_valid());
    }
    EXPECT_EQ(blocks.statistics().in_use, allocated.size());
    EXPECT_GE(allocated.size(), 299u);
    give(blocks, allocated);
    try {
      blocks.reserve(2000);
    } catch (const std::bad_alloc&) {
    }
    ASSERT_TRUE(blocks.is_valid());
    allocate_many(blocks, 2000);
    has_failed = memory.refused() != 0;
  }
}

TEST(fixed_pool, steady_state_asks_for_nothing) {
  support::upstream memory;
  fixed_pool blocks(64, 16, {.upstream = &memory});
  give(blocks, allocate_many(blocks, 1000));
  const std::size_t requests = memory.requests();
  for (int round = 0; round < 50; ++round) {
    auto allocated = allocate_many(blocks, 1000);
    for (std::size_t index = 0; index < allocated.size(); ++index) {
      std::swap(allocated[index], allocated[index * 7919 % allocated.size()]);
    }
    give(blocks, allocated);
  }
  EXPECT_EQ(memory.requests(), requests);
}

#if !TARN_ADDRESS_SANITIZER  // it detects the block first
using fixed_pool_death = testing::Test;

TEST(fixed_pool_death, blocks_freed_twice_are_named) {
  fixed_pool blocks(32, 16, {.name = "frames"});
  const auto allocated = allocate_many(blocks, 20);
  const auto twice = [&] {
    give(blocks, {allocated[3], allocated[4], allocated[3], allocated[7]});
    blocks.for_each_live([](void*) {});
  };
  EXPECT_DEATH(twice(), "^tarn: pool \"frames\" at 0x[0-9a-f]+: double free of the 32-byte block at 0x[0-9a-f]+\n");
}

TEST(fixed_pool_death, blocks_of_another_pool_are_named) {
  fixed_pool blocks(32, 16, {.name = "frames"});
  fixed_pool others(32, 16);
  allocate_many(blocks, 20);
  const auto foreign = [&] {
    blocks.deallocate(others.allocate());
    blocks.for_each_live([](void*) {});
  };
  EXPECT_DEATH(foreign(),
               "^tarn: pool \"frames\" at 0x[0-9a-f]+: foreign pointer 0x[0-9a-f]+: not a block of this pool\n");
  const auto free_interior = [&] {
    blocks.deallocate(static_cast<char*>(blocks.allocate()) + 16);
    blocks.for_each_live([](void*) {});
  };
  EXPECT_DEATH(free_interior(),
               "^tarn: pool \"frames\" at 0x[0-9a-f]+: foreign pointer 0x[0-9a-f]+: 16 bytes into the 32-byte block at "
               "0x[0-9a-f]+\n");
}

TEST(fixed_pool_death, a_pool_without_memory_takes_no_block) {
  fixed_pool blocks(32, 16, {.name = "frames"});
  void* const block = blocks.allocate();
  blocks.release();
  EXPECT_DEATH(blocks.deallocate(block),
               "^tarn: pool \"frames\" at 0x[0-9a-f]+: foreign pointer 0x[0-9a-f]+: not a block of this pool\n");
}

#if !TARN_CHECKS  // the block itself is reported before
TEST(fixed_pool_death, more_free_blocks_than_there_are_is_named) {
  fixed_pool blocks(32, 16, {.name = "frames", .first_chunk_blocks = 10});
  give(blocks, allocate_many(blocks, 10));
  void* const block = blocks.allocate();
  const auto often = [&] {
    blocks.deallocate(block);
    blocks.deallocate(block);
    blocks.clear();
  };
  EXPECT_DEATH(often(),
               "^tarn: pool \"frames\" at 0x[0-9a-f]+: 11 blocks are free, but the pool has 10: some were freed twice, "
               "or came from another pool\n");
}
#endif
#endif

}  // namespace
