// The n-th request to upstream fails, for every n: nothing is lost, nothing is half done, and afterwards all works.
#include <gtest/gtest.h>

#include <memory_resource>
#include <string>

#include <tarn/arena.hpp>
#include <tarn/arena_string.hpp>

#include "support/upstream.hpp"

namespace {

using tarn::arena;

struct instance_counter {
  instance_counter() { ++alive; }
  ~instance_counter() { --alive; }
  static inline int alive = 0;
};

/// Uses every operation; returns the number of steps that got no memory.
int scene(arena& request) {
  int refused = 0;
  const auto attempt = [&](auto step) {
    try {
      step();
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  };
  for (const std::size_t bytes : {1, 50, 300, 3000, 20'000}) {
    refused += request.try_allocate(bytes) != nullptr ? 0 : 1;
    attempt([&] { static_cast<void>(request.allocate(bytes, 64)); });
  }
  attempt([&] {
    const tarn::arena_scope outer(request);
    attempt([&] { request.create<instance_counter>(); });
    attempt([&] {
      const tarn::arena_scope inner(request);
      attempt([&] { static_cast<void>(request.create_array<instance_counter>(700)); });
      attempt([&] { static_cast<void>(request.allocate(7000)); });
      EXPECT_TRUE(request.is_valid());
    });
    attempt([&] {
      std::pmr::string text(&request);
      for (int piece = 0; piece < 500; ++piece) text += "some text";
    });
  });
  EXPECT_EQ(instance_counter::alive, 0);
  attempt([&] { request.create<instance_counter>(); });
  attempt([&] {
    tarn::arena_string text(request);
    for (int piece = 0; piece < 2000; ++piece) text += "some text";
    EXPECT_EQ(text.size(), 18'000u);
  });
  attempt([&] {
    void* block = nullptr;
    for (std::size_t bytes = 10; bytes < 20'000; bytes *= 3) {
      block = request.reallocate(block, block == nullptr ? 0 : bytes / 3, bytes);
    }
  });
  EXPECT_TRUE(request.is_valid());
  request.reset();
  EXPECT_EQ(instance_counter::alive, 0);
  EXPECT_EQ(request.statistics().used_bytes, 0u);
  return refused;
}

void each_n(void (support::upstream::*fail)(std::size_t)) {
  int hit = 0;
  for (std::size_t n = 1;; ++n) {
    support::upstream up;
    arena request({.upstream = &up, .first_chunk = 128, .spare_limit = n % 2 == 0 ? 0u : 1000u});
    (up.*fail)(n);
    scene(request);
    const bool has_failed = up.refused() != 0;
    up.fail_request(0);
    up.fail_from(0);
    ASSERT_TRUE(request.is_valid()) << n;
    ASSERT_EQ(scene(request), 0) << n;
    request.release();
    ASSERT_EQ(up.blocks(), 0u) << n;
    if (!has_failed) break;
    ++hit;
  }
  EXPECT_GT(hit, 8);
}

TEST(arena_failing, survives_whichever_request_fails) { each_n(&support::upstream::fail_request); }
TEST(arena_failing, survives_when_all_requests_from_one_on_fail) { each_n(&support::upstream::fail_from); }

}  // namespace
