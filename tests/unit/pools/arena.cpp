#include <tarn/arena.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <tarn/heap.hpp>

#include "support/upstream.hpp"

namespace {

using tarn::arena;

constexpr std::size_t gap = tarn::detail::arena_gap;
constexpr std::size_t too_many = std::numeric_limits<std::size_t>::max();

bool is_aligned(const void* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

TEST(arena, gives_blocks_one_after_the_other) {
  arena request;
  char* const first = static_cast<char*>(request.allocate(32));
  char* const second = static_cast<char*>(request.allocate(32));
  EXPECT_EQ(second, first + 32 + gap);
  EXPECT_TRUE(is_aligned(first, 16));
  char* const small = static_cast<char*>(request.allocate(1, 1));
  EXPECT_EQ(small, second + 32 + gap);
  EXPECT_EQ(static_cast<char*>(request.allocate(17, 1)), small + 16 + gap);
  EXPECT_EQ(static_cast<char*>(request.allocate(8, 8)), small + 48 + 2 * gap);
  EXPECT_TRUE(request.is_valid());
}

TEST(arena, asks_nobody_before_it_is_used) {
  support::upstream up;
  {
    arena request({.upstream = &up});
    request.reset();
    request.release();
    EXPECT_EQ(request.statistics().chunks, 0u);
  }
  EXPECT_EQ(up.requests(), 0u);
}

TEST(arena, gives_any_alignment) {
  support::upstream up;
  arena request({.upstream = &up});
  for (std::size_t alignment = 1; alignment <= 1 << 20; alignment *= 2) {
    for (const std::size_t bytes : {1, 16, 100}) {
      void* const block = request.allocate(bytes, alignment);
      EXPECT_TRUE(is_aligned(block, alignment)) << alignment;
      std::memset(block, 1, bytes);
    }
  }
  EXPECT_TRUE(request.is_valid());
}

TEST(arena, no_bytes_have_an_address) {
  arena request;
  EXPECT_NE(request.allocate(0), nullptr);
  EXPECT_NE(request.allocate(0, 1), nullptr);
  EXPECT_TRUE(is_aligned(request.allocate(0, 64), 64));
  request.deallocate(request.allocate(0), 0);
  EXPECT_TRUE(request.is_valid());
}

// Tries sizes and alignments whose sum overflows, at every step of the arithmetic.
TEST(arena, absurd_sizes_are_refused) {
  arena empty;
  arena filled;
  static_cast<void>(filled.allocate(40, 8));
  for (arena* tested : {&empty, &filled}) {
    const std::size_t before = tested->statistics().used_bytes;
    for (const std::size_t bytes : {too_many, too_many - 1, too_many - 15, too_many - 16, too_many - 100, too_many / 2,
                                    too_many / 2 + 1, too_many / 4 + 1, too_many / 8 + 1}) {
      for (const std::size_t alignment :
           {std::size_t{1}, std::size_t{16}, std::size_t{64}, too_many / 4 + 1, too_many / 2 + 1}) {
        EXPECT_EQ(tested->try_allocate(bytes, alignment), nullptr) << bytes << " at " << alignment;
        EXPECT_THROW(static_cast<void>(tested->allocate(bytes, alignment)), std::bad_alloc) << bytes;
      }
    }
    EXPECT_EQ(tested->try_allocate(1, too_many / 2 + 1), nullptr);
    EXPECT_EQ(tested->try_allocate(0, too_many / 2 + 1), nullptr);
    EXPECT_THROW(static_cast<void>(tested->create_array<long>(too_many / 8 + 1)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(tested->create_array<std::string>(too_many / sizeof(std::string) + 1)),
                 std::bad_alloc);
    EXPECT_THROW(static_cast<void>(tarn::arena_allocator<long>(*tested).allocate(too_many / 8 + 1)), std::bad_alloc);
    EXPECT_EQ(tested->statistics().used_bytes, before);
    EXPECT_TRUE(tested->is_valid());
  }
  char* const last = static_cast<char*>(filled.allocate(10, 1));
  for (const std::size_t bytes : {too_many, too_many - 1, too_many / 2, too_many - 15, too_many - 16}) {
    EXPECT_FALSE(filled.extend(last, 10, bytes));
    EXPECT_THROW(static_cast<void>(filled.reallocate(last, 10, bytes)), std::bad_alloc);
  }
}

TEST(arena, uses_the_first_span_before_any_chunk) {
  support::upstream up;
  alignas(64) std::array<std::byte, 1024> room;
  for (std::size_t skip = 0; skip < 20; ++skip) {
    for (std::size_t size : {0, 1, 15, 16, 17, 100, 1000}) {
      arena request(std::span<std::byte>(room).subspan(skip, size), {.upstream = &up});
      std::size_t allocations = 0;
      while (up.blocks() == 0) {
        const char* const block = static_cast<char*>(request.allocate(1, 1));
        allocations += up.blocks() == 0 ? 1 : 0;
        if (up.blocks() == 0) {
          EXPECT_GE(block, reinterpret_cast<char*>(room.data()) + skip);
          EXPECT_LT(block, reinterpret_cast<char*>(room.data()) + skip + size);
        }
      }
      EXPECT_LE(allocations * (16 + gap), size);
      EXPECT_GT((allocations + 1) * (16 + gap) + 32, size);
      EXPECT_TRUE(request.is_valid());
      request.reset();
      EXPECT_TRUE(request.is_valid());
      EXPECT_EQ(request.statistics().used_bytes, 0u);
    }
  }
}

TEST(arena, stack_arena_holds_its_bytes) {
  support::upstream up;
  tarn::stack_arena<4096> request({.upstream = &up});
  const auto* const begin = reinterpret_cast<const char*>(&request);
  for (int round = 0; round < 3; ++round) {
    for (int block = 0; block < 30; ++block) {
      const char* const block_start = static_cast<char*>(request.allocate(100));
      EXPECT_TRUE(begin < block_start && block_start < begin + sizeof request);
    }
    request.reset();
  }
  EXPECT_EQ(up.requests(), 0u);
}

TEST(arena, grows_by_what_it_has) {
  support::upstream up;
  arena request({.upstream = &up, .first_chunk = 512});
  std::vector<std::size_t> steps;
  for (std::size_t last = 0; steps.size() < 4;) {
    static_cast<void>(request.allocate(64));
    if (up.bytes() != last) {
      steps.push_back(up.bytes() - last);
      last = up.bytes();
    }
  }
  EXPECT_EQ(steps, (std::vector<std::size_t>{512, 512, 1024, 2048}));
}

TEST(arena, a_large_block_does_not_cost_the_rest_of_the_chunk) {
  support::upstream up;
  arena request({.upstream = &up, .first_chunk = 1024});
  char* const before = static_cast<char*>(request.allocate(16));
  void* const large = request.allocate(100'000);
  std::memset(large, 1, 100'000);
  char* const after = static_cast<char*>(request.allocate(16));
  EXPECT_LT(after - before, 100);
  EXPECT_GT(after - before, 0);
  EXPECT_EQ(up.blocks(), 2u);
  EXPECT_GE(request.statistics().used_bytes, 100'032u);
  EXPECT_TRUE(request.is_valid());
}

TEST(arena, the_newest_block_can_be_taken_back) {
  arena request;
  void* const first = request.allocate(100);
  void* const second = request.allocate(50);
  request.deallocate(second, 50);
  EXPECT_EQ(request.allocate(70), second);
  request.deallocate(first, 100);  // it is not the newest and stays
  EXPECT_GT(request.allocate(1), second);
}

TEST(arena, reset_keeps_the_chunks) {
  support::upstream up;
  arena request({.upstream = &up});
  std::size_t calls = 0;
  for (int round = 0; round < 50; ++round) {
    for (std::size_t block = 0; block < 400; ++block) std::memset(request.allocate(block), 1, block);
    static_cast<void>(request.allocate(60'000));
    EXPECT_TRUE(request.is_valid());
    request.reset();
    EXPECT_TRUE(request.is_valid());
    EXPECT_EQ(request.statistics().used_bytes, 0u);
    if (round == 10) calls = up.requests();
  }
  EXPECT_EQ(up.requests(), calls) << "a steady load goes on asking upstream";
  EXPECT_EQ(request.statistics().upstream_calls, calls);
}

TEST(arena, small_chunks_become_one) {
  support::upstream up;
  arena request({.upstream = &up, .first_chunk = 256});
  const auto load = [&] {
    for (int block = 0; block < 8; ++block) std::memset(request.allocate(300), 1, 300);
  };
  load();
  const auto first = request.statistics();
  EXPECT_GT(first.chunks, 1u);
  request.reset();
  for (int round = 0; round < 3; ++round) {
    load();
    EXPECT_EQ(request.statistics().chunks, 1u);
    EXPECT_EQ(request.statistics().chunk_bytes, first.chunk_bytes) << "as large as they were together";
    EXPECT_EQ(request.statistics().upstream_calls, first.upstream_calls + 1);
    EXPECT_EQ(up.bytes(), first.chunk_bytes) << "they went back";
    EXPECT_TRUE(request.is_valid());
    request.reset();
  }
}

TEST(arena, reset_keeps_no_more_than_told) {
  support::upstream up;
  arena request({.upstream = &up, .first_chunk = 1000, .spare_limit = 20'000});
  for (int round = 0; round < 5; ++round) {
    static_cast<void>(request.allocate(500));
    static_cast<void>(request.allocate(100'000));
    static_cast<void>(request.allocate(10'000));
    EXPECT_GT(up.bytes(), 110'000u);
    request.reset();
    EXPECT_LE(up.bytes(), 20'000u);
    EXPECT_GT(up.bytes(), 0u);
    EXPECT_TRUE(request.is_valid());
  }
}

TEST(arena, keeps_nothing_when_told_so) {
  support::upstream up;
  arena request({.upstream = &up, .spare_limit = 1});  // every chunk is larger
  for (int round = 0; round < 5; ++round) {
    static_cast<void>(request.allocate(100));
    request.reset();
    EXPECT_EQ(up.blocks(), 0u);
    static_cast<void>(request.allocate(100'000));
    request.reset();
    EXPECT_EQ(up.blocks(), 0u);
  }
}

TEST(arena, release_gives_everything_back) {
  support::upstream up;
  arena request({.upstream = &up});
  for (int round = 0; round < 3; ++round) {
    for (int block = 0; block < 1000; ++block) static_cast<void>(request.allocate(100));
    EXPECT_GT(up.blocks(), 1u);
    request.release();
    EXPECT_EQ(up.blocks(), 0u);
    EXPECT_EQ(request.statistics().chunk_bytes, 0u);
  }
  EXPECT_GE(request.statistics().peak_bytes, 100'000u);
}

TEST(arena, limit_holds_to_the_byte) {
  support::upstream up;
  arena request({.name = "request", .upstream = &up, .first_chunk = 4096, .limit = 10'000});
  std::size_t allocations = 0;
  while (request.try_allocate(16) != nullptr) ++allocations;
  EXPECT_LE(up.bytes(), 10'000u);
  EXPECT_GT(up.bytes(), 10'000u - 128u);
  if (gap == 0) {
    EXPECT_GT(allocations * 16, 9'800u);
  }
  EXPECT_TRUE(request.is_valid());
  request.reset();
  EXPECT_NE(request.try_allocate(16), nullptr);
}

TEST(arena, kept_chunks_make_way_at_the_limit) {
  support::upstream up;
  arena request({.upstream = &up, .first_chunk = 4096, .limit = 20'000});
  for (int block = 0; block < 100; ++block) static_cast<void>(request.allocate(100));
  request.reset();
  EXPECT_NE(request.try_allocate(15'000), nullptr);
  EXPECT_LE(up.bytes(), 20'000u);
  EXPECT_TRUE(request.is_valid());
}

TEST(arena, limit_names_the_numbers) {
  support::upstream up;
  arena request({.name = "request", .upstream = &up, .first_chunk = 4096, .limit = 8192});
  static_cast<void>(request.allocate(1000));
  try {
    static_cast<void>(request.allocate(5000));
    ADD_FAILURE() << "no exception";
  } catch (const tarn::arena_limit_reached& reached) {
    EXPECT_STREQ(reached.what(),
                 "tarn: arena \"request\": limit reached: 5000 bytes requested, 4096 of 8192 in chunks; raise "
                 "arena_options::limit");
  }
}

// The text of the limit would mislead when the system is the reason.
TEST(arena, no_memory_is_not_the_limit) {
  support::upstream up;
  arena request({.upstream = &up, .limit = 1 << 20});
  up.fail_from(1);
  try {
    static_cast<void>(request.allocate(100));
    ADD_FAILURE() << "no exception";
  } catch (const tarn::arena_limit_reached&) {
    ADD_FAILURE() << "blames the limit";
  } catch (const std::bad_alloc&) {
  }
  up.fail_from(0);
  EXPECT_NE(request.try_allocate(100), nullptr);
}

TEST(arena, less_than_a_step_is_better_than_nothing) {
  support::upstream up;
  arena request({.upstream = &up, .first_chunk = 100'000});
  up.fail_request(1);
  EXPECT_NE(request.try_allocate(100), nullptr);
  EXPECT_LT(up.bytes(), 300u);
}

TEST(arena, extends_the_newest_block_in_place) {
  arena request({.first_chunk = 4096});
  char* const block = static_cast<char*>(request.allocate(16));
  std::memset(block, 7, 16);
  EXPECT_TRUE(request.extend(block, 16, 3000));
  std::memset(block + 16, 7, 2984);
  EXPECT_TRUE(request.extend(block, 3000, 20));  // becomes smaller again
  EXPECT_TRUE(request.extend(block, 20, 0));
  EXPECT_TRUE(request.extend(block, 0, 20));
  EXPECT_FALSE(request.extend(block, 20, 5000)) << "more than the chunk has";
  EXPECT_EQ(request.extend(block, 20, 5000, 6000), 20u);
  EXPECT_EQ(request.extend(block, 20, 30, 1'000'000), 4096 - sizeof(tarn::detail::arena_chunk) - gap);
  request.reset();
  char* const older = static_cast<char*>(request.allocate(16));
  static_cast<void>(request.allocate(16));
  EXPECT_FALSE(request.extend(older, 16, 17)) << "not the newest";
  EXPECT_FALSE(request.extend(older, 16, 8));
}

TEST(arena, reallocate_moves_only_when_it_must) {
  arena request({.first_chunk = 4096});
  char* block = nullptr;
  int moves = 0;
  std::size_t bytes = 0;
  for (std::size_t now = 100; now < 50'000; now += 100) {
    char* const moved = static_cast<char*>(request.reallocate(block, bytes, now, 1));
    moves += moved != block ? 1 : 0;
    for (std::size_t index = 0; index < bytes; ++index) ASSERT_EQ(moved[index], static_cast<char>(index));
    for (std::size_t index = bytes; index < now; ++index) moved[index] = static_cast<char>(index);
    block = moved, bytes = now;
  }
  EXPECT_LE(moves, TARN_SMALL ? 500 : 6);
  EXPECT_TRUE(request.is_valid());
}

TEST(arena, is_a_memory_resource) {
  support::upstream up;
  arena request({.upstream = &up});
  {
    std::pmr::map<int, std::pmr::string> names(&request);
    for (int number = 0; number < 300; ++number) {
      names[number] = "a name that is too long for the small buffer, number " + std::to_string(number);
    }
    EXPECT_EQ(names[250].substr(names[250].size() - 3), "250");
    EXPECT_EQ(*names.get_allocator().resource(), request);
  }
  arena second_arena;
  EXPECT_NE(static_cast<std::pmr::memory_resource&>(request), second_arena);
  EXPECT_TRUE(request.is_valid());
}

TEST(arena, serves_containers_by_its_allocator) {
  arena request;
  std::vector<int, tarn::arena_allocator<int>> numbers(request);
  for (int number = 0; number < 1000; ++number) numbers.push_back(number);
  std::map<int, int, std::less<>, tarn::arena_allocator<std::pair<const int, int>>> squares(request);
  for (int number : numbers) squares[number] = number * number;
  EXPECT_EQ(squares[31], 961);
  arena second_arena;
  EXPECT_EQ(tarn::arena_allocator<int>(request), tarn::arena_allocator<int>(request));
  EXPECT_NE(tarn::arena_allocator<int>(request), tarn::arena_allocator<int>(second_arena));
}

TEST(arena, chunks_come_from_the_heap_that_is_current) {
  tarn::heap lane({.name = "lane"});
  arena request;
  {
    const tarn::scoped_current_heap use(lane);
    EXPECT_EQ(tarn::owner_of(request.allocate(100)), &lane);
  }
  static_cast<void>(request.allocate(100'000));
  request.release();
  EXPECT_EQ(tarn::owner_of(request.allocate(100)), &tarn::current_heap());

  arena with_upstream({.upstream = &lane});
  EXPECT_EQ(tarn::owner_of(with_upstream.allocate(100)), &lane);
}

// An arena is for one thread at a time: another thread may take it over and end it.
TEST(arena, may_be_handed_to_another_thread) {
  auto request = std::make_unique<arena>();
  static_cast<void>(request->allocate(10'000));
  std::thread([moved = std::move(request)]() mutable {
    static_cast<void>(moved->allocate(10'000));
    moved->reset();
    static_cast<void>(moved->allocate(10'000));
    moved.reset();
  }).join();
}

TEST(arena, statistics_add_up) {
  support::upstream up;
  arena request({.upstream = &up, .first_chunk = 1024});
  static_cast<void>(request.allocate(100, 4));
  const std::size_t bytes_of_one = 112 + gap;
  EXPECT_EQ(request.statistics().used_bytes, bytes_of_one);
  static_cast<void>(request.allocate(5000));
  const auto full = request.statistics();
  EXPECT_GE(full.used_bytes, bytes_of_one + 5000);
  EXPECT_LE(full.used_bytes, bytes_of_one + 5000 + 16 + gap);
  EXPECT_EQ(full.chunk_bytes, up.bytes());
  EXPECT_EQ(full.chunks, 2u);
  EXPECT_EQ(full.spare_bytes, 0u);
  request.reset();
  const auto after = request.statistics();
  EXPECT_EQ(after.used_bytes, 0u);
  EXPECT_EQ(after.peak_bytes, full.used_bytes);
  EXPECT_EQ(after.chunk_bytes, up.bytes());
  EXPECT_EQ(after.spare_bytes, up.bytes());  // both, until the next block makes one of them
  static_cast<void>(request.allocate(10));
  EXPECT_EQ(request.statistics().peak_bytes, full.used_bytes);
}

#if TARN_ADDRESS_SANITIZER
TEST(arena, poisons_what_is_free) {
  arena request({.first_chunk = 4096});
  const auto is_poisoned = [](const void* address) { return __asan_address_is_poisoned(address) != 0; };
  char* const block = static_cast<char*>(request.allocate(20));
  EXPECT_FALSE(is_poisoned(block + 19));
  EXPECT_TRUE(is_poisoned(block + 20)) << "an overrun by one";
  char* const next = static_cast<char*>(request.allocate(24, 8));
  EXPECT_TRUE(is_poisoned(next - 1)) << "an underrun";
  EXPECT_TRUE(is_poisoned(next + 24));
  EXPECT_TRUE(request.extend(next, 24, 100));
  EXPECT_FALSE(is_poisoned(next + 99));
  EXPECT_TRUE(request.extend(next, 100, 50));
  EXPECT_TRUE(is_poisoned(next + 50 + 6));
  request.deallocate(block, 20);
  EXPECT_TRUE(is_poisoned(block));
  char* inner;
  {
    const tarn::arena_scope scope(request);
    inner = static_cast<char*>(request.allocate(8));
    EXPECT_FALSE(is_poisoned(inner));
  }
  EXPECT_TRUE(is_poisoned(inner));
  EXPECT_FALSE(is_poisoned(next));
  request.reset();
  EXPECT_TRUE(is_poisoned(next));
  static_cast<void>(request.allocate(50'000));
  request.reset();
  EXPECT_TRUE(is_poisoned(next));
}

TEST(arena, leaves_the_first_span_as_it_was) {
  std::array<std::byte, 500> room;
  {
    arena request(room);
    static_cast<void>(request.allocate(100));
    EXPECT_NE(__asan_region_is_poisoned(room.data(), room.size()), nullptr);
  }
  EXPECT_EQ(__asan_region_is_poisoned(room.data(), room.size()), nullptr);
}
#endif

}  // namespace
