// Marks and scopes: a rewind frees all later blocks and leaves all earlier ones untouched.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include <tarn/arena.hpp>

#include "support/upstream.hpp"

namespace {

using tarn::arena;
using tarn::arena_scope;

TEST(arena_marks, a_scope_leaves_no_trace) {
  support::upstream up;
  arena request({.upstream = &up, .first_chunk = 4096});
  static_cast<void>(request.allocate(96));
  const auto before = request.statistics();
  for (int round = 0; round < 1000; ++round) {
    const arena_scope inner(request);
    static_cast<void>(request.allocate(64));
  }
  EXPECT_EQ(request.statistics().used_bytes, before.used_bytes);
  EXPECT_EQ(request.statistics().chunks, before.chunks);
  EXPECT_GT(request.statistics().peak_bytes, before.peak_bytes);
}

TEST(arena_marks, scopes_nest_over_chunks) {
  support::upstream up;
  arena request({.upstream = &up, .first_chunk = 256});
  const auto fill = [&](int value) {
    std::vector<char*> blocks;
    for (const std::size_t bytes : {10, 100, 1000, 5000, 20}) {
      blocks.push_back(static_cast<char*>(request.allocate(bytes)));
      std::memset(blocks.back(), value, bytes);
    }
    return blocks;
  };
  const auto deeper = [&](const auto& self, int depth) -> void {
    const auto own_blocks = fill(depth);
    const std::size_t used_bytes = request.statistics().used_bytes;
    if (depth < 6) {
      for (int twice = 0; twice < 2; ++twice) {
        const arena_scope inner(request);
        self(self, depth + 1);
      }
    }
    EXPECT_EQ(request.statistics().used_bytes, used_bytes);
    EXPECT_TRUE(request.is_valid());
    EXPECT_EQ(own_blocks[3][4999], depth);
    EXPECT_EQ(own_blocks[0][0], depth);
    EXPECT_EQ(own_blocks[4][19], depth);
  };
  deeper(deeper, 1);
  const std::size_t calls = up.requests();
  request.reset();
  deeper(deeper, 1);
  deeper(deeper, 1);
  EXPECT_LE(up.requests(), calls + 12);
}

TEST(arena_marks, rewinding_to_an_older_mark_ends_the_newer) {
  arena request;
  const auto outer = request.mark();
  char* const first = static_cast<char*>(request.allocate(16));
  static_cast<void>(request.mark());
  static_cast<void>(request.mark());
  static_cast<void>(request.allocate(100'000));
  request.rewind(outer);
  EXPECT_EQ(request.statistics().used_bytes, 0u);
  const auto second_mark = request.mark();
  EXPECT_EQ(request.allocate(16), first);
  request.rewind(second_mark);
  EXPECT_TRUE(request.is_valid());
}

TEST(arena_marks, a_scope_may_leave_the_first_span_and_return) {
  support::upstream up;
  alignas(16) std::array<std::byte, 512> room;
  arena request(room, {.upstream = &up});
  const auto start = request.mark();
  void* const first = request.allocate(100);
  const auto inner = request.mark();
  static_cast<void>(request.allocate(1000));
  static_cast<void>(request.allocate(1000));
  request.rewind(inner);
  EXPECT_TRUE(request.is_valid());
  EXPECT_GT(static_cast<char*>(request.allocate(50)), first);
  EXPECT_EQ(request.statistics().spare_bytes, up.bytes());
  request.rewind(start);
  EXPECT_EQ(request.statistics().used_bytes, 0u);
}

// The mark itself takes room: at the end of a chunk it opens the next one, and must be found there again.
TEST(arena_marks, scopes_work_at_every_place_of_a_chunk) {
  support::upstream up;
  for (std::size_t before = 0; before < 300; ++before) {
    arena request({.upstream = &up, .first_chunk = 256});
    static_cast<void>(request.allocate(1, 1));
    static_cast<void>(request.allocate(before, 1));
    const std::size_t used_bytes = request.statistics().used_bytes;
    {
      const arena_scope inner(request);
      const arena_scope innermost(request);
      static_cast<void>(request.allocate(before));
      EXPECT_TRUE(request.is_valid());
    }
    EXPECT_EQ(request.statistics().used_bytes, used_bytes);
    EXPECT_TRUE(request.is_valid());
  }
}

// Upstream has just enough for the record, which must still be where the arena continues.
TEST(arena_marks, scopes_work_in_a_chunk_without_other_room) {
  support::upstream up;
  arena request({.upstream = &up, .first_chunk = 256});
  std::memset(request.allocate(180), 1, 180);
  up.fail_request(1);  // the chunk that would be larger
  const auto mark = request.mark();
  ASSERT_EQ(up.refused(), 1u);
  static_cast<void>(request.allocate(8));
  request.rewind(mark);
  EXPECT_TRUE(request.is_valid());
  EXPECT_EQ(request.statistics().used_bytes, 192 + tarn::detail::arena_gap);
}

TEST(arena_marks, a_mark_may_find_no_memory) {
  support::upstream up;
  arena request({.upstream = &up});
  up.fail_from(1);
  EXPECT_THROW(static_cast<void>(request.mark()), std::bad_alloc);
  EXPECT_THROW(arena_scope inner(request), std::bad_alloc);
  up.fail_from(0);
  const arena_scope inner(request);
  EXPECT_TRUE(request.is_valid());
}

}  // namespace
