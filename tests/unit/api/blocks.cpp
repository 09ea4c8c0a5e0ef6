// Tests realloc, calloc, usable sizes and trim, which the drop-in and the C interface share.
#include "memory/api/blocks.hpp"

#include <random>
#include <set>
#include <vector>

#include "front_fixture.hpp"
#include "support/child.hpp"
#include "support/current_heap.hpp"

namespace front_tests {
namespace {

using support::give;
using support::take;
using tarn::api::allocate_zeroed;
using tarn::api::reallocate;
using tarn::api::trim;
using tarn::api::usable_bytes;

class blocks : public front_test {
 protected:
  static char* grow(void* block, std::size_t bytes) {
    return static_cast<char*>(reallocate(tarn::detail::local_heap, block, bytes));
  }
};

TEST_F(blocks, usable_bytes_are_those_of_the_block) {
  for (std::size_t bytes = 1; bytes < 3_MiB; bytes += bytes / 5 + 1) {
    void* const block = take(bytes);
    const std::size_t usable = usable_bytes("test", block);
    EXPECT_GE(usable, bytes);
    EXPECT_TRUE(bytes <= 128 || (usable - bytes) * 8 <= usable || usable - bytes < 64_KiB);
    std::memset(block, 1, usable);
    give(block);
  }
  EXPECT_EQ(usable_bytes("test", nullptr), 0u);
}

TEST_F(blocks, zeroed_whatever_was_there) {
  for (int round = 0; round < 4; ++round) {
    for (std::size_t bytes = 1; bytes < 50_MiB; bytes += bytes / 2 + 1) {
      void* const block = allocate_zeroed(tarn::detail::local_heap, 1, bytes);
      ASSERT_NE(block, nullptr);
      ASSERT_TRUE(is_filled(block, bytes, 0)) << bytes;
      std::memset(block, 0xee, usable_bytes("test", block));
      give(block);
    }
    if (round == 2) {
      trim();  // the system zeroes it from now on
    }
  }
}

TEST_F(blocks, a_product_that_overflows_is_refused) {
  EXPECT_EQ(allocate_zeroed(tarn::detail::local_heap, std::size_t{1} << 33, std::size_t{1} << 33), nullptr);
  EXPECT_EQ(allocate_zeroed(tarn::detail::local_heap, ~std::size_t{0}, 2), nullptr);
  EXPECT_EQ(allocate_zeroed(tarn::detail::local_heap, 1, std::size_t{1} << 63), nullptr);
  give(allocate_zeroed(tarn::detail::local_heap, 0, ~std::size_t{0}));
}

// Random sizes, often close to each other, are compared with a copy that the C++ library keeps.
TEST_F(blocks, random_reallocations_keep_the_contents) {
  std::mt19937 random(9);
  for (int round = 0; round < 60; ++round) {
    char* block = nullptr;
    std::vector<char> copy;
    for (int step = 0; step < 40; ++step) {
      std::size_t bytes = 1 + random() % (1u << random() % 23);
      if (random() % 2 == 0) bytes = copy.size() + random() % 1'000;
      if (bytes == 0) bytes = 1;
      char* const moved = grow(block, bytes);
      ASSERT_NE(moved, nullptr);
      block = moved;
      ASSERT_GE(usable_bytes("test", block), bytes);
      const std::size_t common_bytes = std::min(copy.size(), bytes);
      ASSERT_TRUE(std::equal(copy.begin(), copy.begin() + static_cast<std::ptrdiff_t>(common_bytes), block))
          << round << " " << step;
      copy.resize(bytes);
      for (std::size_t index = common_bytes; index < bytes; index += 1 + random() % 100) {
        copy[index] = static_cast<char>(random());
      }
      std::copy(copy.begin() + static_cast<std::ptrdiff_t>(common_bytes), copy.end(), block + common_bytes);
      if (step % 16 == 15) {
        ASSERT_TRUE(tarn::current_heap().is_valid());
      }
    }
    give(block);
  }
}

TEST_F(blocks, a_little_less_stays_where_it_is) {
  for (const std::size_t bytes : {32, 1'000, 100'000}) {
    char* const block = static_cast<char*>(take(bytes));
    EXPECT_EQ(grow(block, bytes), block);
    EXPECT_EQ(grow(block, bytes - bytes / 20), block);
    give(block);
  }
  char* const large = static_cast<char*>(take(1_MiB));
  EXPECT_EQ(grow(large, 1_MiB - 100), large);
  EXPECT_EQ(grow(large, 500'000), large);  // its tail is given back
  EXPECT_EQ(usable_bytes("test", large), 512_KiB);
  give(large);
}

TEST_F(blocks, much_less_moves_to_less_memory) {
  char* const block = static_cast<char*>(take(100'000));
  std::memset(block, 4, 100'000);
  char* const small = grow(block, 100);
  EXPECT_EQ(usable_bytes("test", small), 112u);
  EXPECT_TRUE(is_filled(small, 100, 4));
  give(small);
}

TEST_F(blocks, a_third_less_moves_to_less_memory) {
  for (const std::size_t bytes : {48, 1'000, 100'000}) {
    char* const block = static_cast<char*>(take(bytes));
    std::memset(block, 4, bytes);
    char* const smaller = grow(block, bytes * 2 / 3);
    EXPECT_LT(usable_bytes("test", smaller), bytes * 3 / 4);
    EXPECT_TRUE(is_filled(smaller, bytes * 2 / 3, 4));
    give(smaller);
  }
}

TEST_F(blocks, a_buffer_that_was_filled_gives_its_room_back) {
  for (const std::size_t bytes : {700, 1'500, 6'000, 30'000}) {
    char* buffer = nullptr;
    std::size_t capacity = 16;
    for (; capacity < bytes; capacity *= 2) buffer = grow(buffer, capacity);
    buffer = grow(buffer, capacity);
    std::memset(buffer, 4, bytes);
    buffer = grow(buffer, bytes);
    EXPECT_LE(usable_bytes("test", buffer), bytes + bytes / 7) << bytes;
    EXPECT_TRUE(is_filled(buffer, bytes, 4));
    give(buffer);
  }
}

TEST_F(blocks, a_buffer_that_is_filled_by_appends_is_copied_a_few_times) {
  char* buffer = grow(nullptr, 1);
  int moves = 0;
  for (std::size_t bytes = 2; bytes <= 64_KiB; bytes += 64) {
    char* const now = grow(buffer, bytes);
    moves += now != buffer ? 1 : 0;
    buffer = now;
    buffer[bytes - 1] = 1;
  }
  EXPECT_LE(moves, 40);
  give(buffer);
}

TEST_F(blocks, a_buffer_gets_the_room_at_once_that_others_came_to_need) {
  int moves = 0;
  for (int count = 0; count < 32; ++count) {
    moves = 0;
    char* buffer = nullptr;
    for (std::size_t bytes = 256; bytes <= 64_KiB; bytes *= 2) {
      char* const now = grow(buffer, bytes);
      moves += bytes >= 4_KiB && now != buffer ? 1 : 0;
      buffer = now;
    }
    give(buffer);
  }
  EXPECT_EQ(moves, 1);

  std::size_t room = 0;
  for (int count = 0; count < 300; ++count) {  // now others end earlier
    char* buffer = nullptr;
    for (std::size_t bytes = 256; bytes <= 4_KiB; bytes *= 2) buffer = grow(buffer, bytes);
    room = usable_bytes("test", buffer);
    give(buffer);
  }
  EXPECT_EQ(room, 16_KiB);
}

TEST_F(blocks, a_buffer_where_another_one_was_keeps_its_room) {
  for (int count = 0; count < 8; ++count) {
    char* buffer = nullptr;
    for (std::size_t bytes = 256; bytes <= 4_KiB; bytes *= 2) buffer = grow(buffer, bytes);
    EXPECT_EQ(grow(buffer, 8_KiB), buffer) << count;
    EXPECT_EQ(grow(buffer, 16_KiB), buffer) << count;
    give(buffer);
  }
}

// Blocks that begin and end within a page share it with the room of their neighbours, and so touch three pages for
// 8,000 bytes instead of two.
TEST_F(blocks, many_buffers_filled_by_appends_touch_few_pages) {
  constexpr std::size_t page = 4_KiB;
  constexpr std::size_t filled = 8'000;
  std::vector<char*> buffers;
  std::set<std::size_t> touched;
  for (int count = 0; count < 64; ++count) {
    char* buffer = nullptr;
    for (std::size_t bytes = 100; bytes <= filled; bytes += 100) buffer = grow(buffer, bytes);
    buffers.push_back(buffer);
    const auto start = reinterpret_cast<std::uintptr_t>(buffer);
    for (std::size_t number = start / page; number <= (start + filled - 1) / page; ++number) touched.insert(number);
  }
  EXPECT_EQ(touched.size(), 2 * buffers.size());
  for (char* const buffer : buffers) give(buffer);
}

TEST_F(blocks, a_very_large_block_grows_without_copying) {
  char* block = static_cast<char*>(take(64_MiB));
  std::memset(block, 6, 64_MiB);
  const std::size_t resident_writes = 64_MiB;
  for (std::size_t bytes = 65_MiB; bytes < 300_MiB; bytes += 7_MiB) {
    if (bytes > 100_MiB) {
      fake::refuse_growth(true);  // forces it to move
    }
    block = grow(block, bytes);
    ASSERT_NE(block, nullptr);
    ASSERT_EQ(block[0], 6);
    ASSERT_EQ(block[resident_writes - 1], 6);
    ASSERT_EQ(block[bytes - 1], 0);
  }
  EXPECT_LE(platform::mapped_bytes(), 600_MiB);
  block = grow(block, 34_MiB);
  EXPECT_EQ(usable_bytes("test", block), 34_MiB);
  EXPECT_EQ(block[34_MiB - 1], 6);
  give(block);
}

TEST_F(blocks, what_cannot_grow_stays_as_it_was) {
  for (const std::size_t bytes : {100, 10'000, 300'000, 50'000'000}) {
    char* const block = static_cast<char*>(take(bytes));
    std::memset(block, 8, bytes);
    fake::set_budget(platform::mapped_bytes() + 1_MiB);
    EXPECT_EQ(grow(block, 500_MiB), nullptr);
    EXPECT_EQ(grow(block, ~std::size_t{0} / 2), nullptr);
    EXPECT_EQ(grow(block, ~std::size_t{0}), nullptr);
    fake::set_budget(0);
    EXPECT_TRUE(is_filled(block, bytes, 8));
    give(block);
  }
}

TEST_F(blocks, what_cannot_shrink_stays_as_it_was) {
  char* const block = static_cast<char*>(take(100'000));
  std::memset(block, 8, 100'000);
  fake::fail_requests_from(1);
  char* const grown = grow(block, 3'000);  // no slab of its class exists yet
  fake::fail_requests_from(0);
  EXPECT_NE(grown, nullptr);
  EXPECT_TRUE(is_filled(grown, 3'000, 8));
  give(grown);
}

TEST_F(blocks, blocks_of_other_threads_and_heaps) {
  tarn::heap lane;
  worker second_thread;
  for (const std::size_t bytes : {100, 300'000, 50'000'000}) {
    for (const std::size_t new_bytes : {50, 5'000, 600'000, 60'000'000}) {
      char* block = static_cast<char*>(lane.allocate(bytes));
      std::memset(block, 2, bytes);
      second_thread.run([&] { block = grow(block, new_bytes); });
      ASSERT_NE(block, nullptr);
      EXPECT_TRUE(is_filled(block, std::min(bytes, new_bytes), 2));
      give(block);
    }
  }
  second_thread.run([] { settle(); });
  EXPECT_TRUE(lane.is_valid());
}

TEST_F(blocks, trim_gives_memory_back) {
  std::vector<void*> freed_blocks;
  for (int round = 0; round < 300; ++round) {
    freed_blocks.push_back(take(10'000));
    std::memset(freed_blocks.back(), 1, 10'000);
  }
  void* const live_block = freed_blocks.back();
  freed_blocks.pop_back();
  for (void* block : freed_blocks) give(block);
  const std::size_t mapped = platform::mapped_bytes();
  const auto purged = platform::purge_totals().bytes;
  EXPECT_TRUE(trim());
  EXPECT_GE(platform::purge_totals().bytes - purged + mapped - platform::mapped_bytes(), 2'500'000u);
  EXPECT_FALSE(trim());
  give(live_block);
}

TEST_F(blocks, trim_sends_what_was_freed_for_others) {
  worker second_thread;
  void* block = nullptr;
  second_thread.run([&] { block = take(100); });
  give(block);
  trim();
  second_thread.run([] { trim(); });
  EXPECT_EQ(in_use(), 0u);
}

TEST_F(blocks, a_free_block_is_not_reallocated) {
  void* const live_block = take(1);
  void* const block = take(1_MiB);
  give(block);
  EXPECT_EQ(support::in_child([=] { static_cast<void>(grow(block, 10)); }),
            support::fault("tarn: realloc(" + support::written(block) + "): double free of a block of 1048576 bytes",
                           "free each block once; TARN_GUARD=1 shows where it was allocated and freed before"));
  void* const small = take(64);
  char* const interior = static_cast<char*>(small) + 16;
  EXPECT_EQ(support::in_child([=] { static_cast<void>(grow(interior, 10)); }),
            support::fault("tarn: realloc(" + support::written(interior) +
                               "): misaligned pointer: 16 bytes into the 64-byte block at " + support::written(small),
                           "pass the address that the allocation returned"));
  give(small);
  give(live_block);
}

TEST_F(blocks, a_strict_heaps_large_block_is_not_resized_elsewhere) {
  const support::ending child_ending = support::in_child([] {
    tarn::heap lane({.name = "lane", .forbids_remote_frees = true});
    void* const block = lane.allocate(1_MiB);
    static_cast<void>(grow(block, 2_MiB));  // by its own thread
    void* const large = lane.allocate(1_MiB);
    std::thread([=] { static_cast<void>(grow(large, 2_MiB)); }).join();
  });
  EXPECT_EQ(child_ending.signal, SIGABRT);
  EXPECT_EQ(child_ending.error.rfind("tarn: heap \"lane\": block ", 0), 0u) << child_ending.error;
}

}  // namespace
}  // namespace front_tests
