// Objects in an arena: their destructors run when their memory is freed, newest first.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <tarn/arena.hpp>

#include "support/upstream.hpp"

namespace {

using tarn::arena;

struct noisy {
  noisy(std::vector<int>& log_, int id_) : log(log_), id(id_) {}
  ~noisy() { log.push_back(id); }
  std::vector<int>& log;
  int id;
};

struct alignas(128) wide_in_arena {
  std::string text = "a text that is too long for the small buffer of a string";
};

/// The constructor of the third object throws.
struct third_fails {
  third_fails() {
    if (alive == 2) throw std::runtime_error("no");
    ++alive;
  }
  ~third_fails() { --alive; }
  static inline int alive = 0;
};

TEST(arena_objects, destructors_run_newest_first) {
  std::vector<int> log;
  {
    arena request;
    for (int number = 1; number <= 4; ++number) EXPECT_EQ(request.create<noisy>(log, number)->id, number);
    EXPECT_TRUE(log.empty());
    request.reset();
    EXPECT_EQ(log, (std::vector{4, 3, 2, 1}));
    request.create<noisy>(log, 5);
  }
  EXPECT_EQ(log, (std::vector{4, 3, 2, 1, 5}));
}

TEST(arena_objects, a_scope_runs_its_own_destructors) {
  std::vector<int> log;
  arena request;
  request.create<noisy>(log, 1);
  {
    const tarn::arena_scope inner(request);
    request.create<noisy>(log, 2);
    {
      const tarn::arena_scope innermost(request);
      request.create<noisy>(log, 3);
      static_cast<void>(request.allocate(10'000));
      request.create<noisy>(log, 4);
    }
    EXPECT_EQ(log, (std::vector{4, 3}));
  }
  EXPECT_EQ(log, (std::vector{4, 3, 2}));
  request.release();
  EXPECT_EQ(log, (std::vector{4, 3, 2, 1}));
}

TEST(arena_objects, no_destructor_costs_nothing) {
  arena request;
  static_cast<void>(request.create<long>(1L));
  const std::size_t before = request.statistics().used_bytes;
  EXPECT_EQ(*request.create<long>(7L), 7);
  EXPECT_EQ(request.statistics().used_bytes - before, 16 + tarn::detail::arena_gap);
}

TEST(arena_objects, alignment_of_the_type_is_kept) {
  arena request;
  for (int number = 0; number < 10; ++number) {
    static_cast<void>(request.allocate(1, 1));
    wide_in_arena* const created = request.create<wide_in_arena>();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(created) % 128, 0u);
    const auto row = request.create_array<wide_in_arena>(3);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(row.data()) % 128, 0u);
    EXPECT_EQ(row[2].text, created->text);
  }
  EXPECT_TRUE(request.is_valid());
}

TEST(arena_objects, arrays_are_initialised) {
  arena request;
  const auto numbers = request.create_array<int>(1000);
  EXPECT_EQ(numbers.size(), 1000u);
  EXPECT_EQ(std::count(numbers.begin(), numbers.end(), 0), 1000);
  const auto texts = request.create_array<std::string>(100);
  texts[99] = "a text that is too long for the small buffer of a string";
  EXPECT_TRUE(request.create_array<std::string>(0).empty());
}

TEST(arena_objects, copies_text) {
  arena request;
  std::string text = "some words";
  const std::string_view copy = request.copy(text);
  text = "others!!!!";
  EXPECT_EQ(copy, "some words");
  EXPECT_EQ(request.copy("").size(), 0u);
}

TEST(arena_objects, a_throwing_constructor_leaves_nothing_behind) {
  struct failing {
    explicit failing(bool throws_now) {
      if (throws_now) throw std::runtime_error("no");
    }
    ~failing() {}  // not trivial
    char bytes[100];
  };
  arena request;
  static_cast<void>(request.allocate(16));
  const std::size_t before = request.statistics().used_bytes;
  EXPECT_THROW(request.create<failing>(true), std::runtime_error);
  EXPECT_THROW(static_cast<void>(request.create_array<third_fails>(5)), std::runtime_error);
  EXPECT_EQ(third_fails::alive, 0);
  EXPECT_EQ(request.statistics().used_bytes, before);
}

// A destructor may use the arena: it is intact until the last one has run.
TEST(arena_objects, destructors_may_allocate) {
  struct busy {
    arena& owner;
    int left;
    int& ran;
    busy(arena& owner_, int left_, int& ran_) : owner(owner_), left(left_), ran(ran_) {}
    ~busy() {
      ++ran;
      const tarn::arena_scope inner(owner);
      std::pmr::string text(3000, 'x', &owner);
      if (left > 0) {
        owner.create<busy>(owner, left - 1, ran);  // ends with this scope
      }
    }
  };
  struct leaving {
    arena& owner;
    int& ran;
    leaving(arena& owner_, int& ran_) : owner(owner_), ran(ran_) {}
    ~leaving() {
      if (++ran < 5) {
        owner.create<leaving>(owner, ran);
        static_cast<void>(owner.mark());
      }
    }
  };
  int ran = 0;
  arena request;
  request.create<busy>(request, 3, ran);
  request.reset();
  EXPECT_EQ(ran, 4);
  ran = 0;
  request.create<leaving>(request, ran);
  request.reset();
  EXPECT_EQ(ran, 5);
  EXPECT_EQ(request.statistics().used_bytes, 0u);
  EXPECT_TRUE(request.is_valid());
  ran = 0;
  {
    const tarn::arena_scope inner(request);
    request.create<leaving>(request, ran);
  }
  EXPECT_EQ(ran, 5);
  EXPECT_EQ(request.statistics().used_bytes, 0u);
  request.create<leaving>(request, ran);
}

TEST(arena_objects, an_object_may_create_others) {
  struct tree {
    std::vector<int>& log;
    int depth;
    tree(arena& owner, std::vector<int>& log_, int depth_) : log(log_), depth(depth_) {
      if (depth > 0) owner.create<tree>(owner, log, depth - 1);
    }
    ~tree() { log.push_back(depth); }
  };
  std::vector<int> log;
  arena request({.first_chunk = 64});
  request.create<tree>(request, log, 3);
  request.reset();
  EXPECT_EQ(log, (std::vector{3, 2, 1, 0}));
}

}  // namespace
