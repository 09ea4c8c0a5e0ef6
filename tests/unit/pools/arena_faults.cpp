// Tests the misuses of marks, and the line that reports each.
#include <gtest/gtest.h>

#include <optional>

#include <tarn/arena.hpp>

#include "support/child.hpp"

namespace {

using support::fault;
using support::in_child;
using support::written;
using tarn::arena;

TEST(arena_faults, a_mark_of_another_arena_is_named) {
  arena request({.name = "request"});
  arena foreign({.name = "other"});
  EXPECT_EQ(in_child([&] {
              static_cast<void>(foreign.mark());
              request.rewind(foreign.mark());
            }),
            fault("tarn: arena \"request\" at " + written(&request) + ": rewind to mark 2 of another arena, at " +
                      written(&foreign),
                  "rewind an arena to a mark that its own mark() returned"));
}

TEST(arena_faults, a_mark_of_no_arena_is_named) {
  arena request;
  EXPECT_EQ(in_child([&] { request.rewind(tarn::arena_mark()); }),
            fault("tarn: arena \"\" at " + written(&request) + ": rewind to mark 0 of another arena, at 0x0",
                  "rewind an arena to a mark that its own mark() returned"));
}

TEST(arena_faults, marks_in_the_wrong_order_are_named) {
  arena request({.name = "request"});
  EXPECT_EQ(in_child([&] {
              static_cast<void>(request.mark());
              const auto outer = request.mark();
              const auto inner = request.mark();
              request.rewind(outer);
              request.rewind(inner);
            }),
            fault("tarn: arena \"request\" at " + written(&request) +
                      ": rewind to mark 3, which has ended: marks end newest first; the newest left is 1 of 3 set",
                  "rewind to a mark before any older mark, and before reset() and release()"));
}

TEST(arena_faults, scopes_in_the_wrong_order_are_named) {
  arena request({.name = "request"});
  EXPECT_EQ(in_child([&] {
              std::optional<tarn::arena_scope> outer(request);
              std::optional<tarn::arena_scope> inner(request);
              outer.reset();
              inner.reset();
            }),
            fault("tarn: arena \"request\" at " + written(&request) +
                      ": rewind to mark 2, which has ended: marks end newest first; none is left of 2 set",
                  "rewind to a mark before any older mark, and before reset() and release()"));
}

// New marks at exactly the same position must not revive one that has ended.
TEST(arena_faults, an_ended_mark_whose_place_is_used_again_is_named) {
  arena request({.name = "request"});
  EXPECT_EQ(in_child([&] {
              const auto first = request.mark();
              request.rewind(first);
              static_cast<void>(request.mark());
              request.rewind(first);
            }),
            fault("tarn: arena \"request\" at " + written(&request) +
                      ": rewind to mark 1, which has ended: marks end newest first; the newest left is 2 of 2 set",
                  "rewind to a mark before any older mark, and before reset() and release()"));
}

TEST(arena_faults, a_scope_around_a_reset_is_named) {
  arena request({.name = "request"});
  EXPECT_EQ(in_child([&] {
              const tarn::arena_scope inner(request);
              static_cast<void>(request.allocate(100'000));
              request.reset();
            }),
            fault("tarn: arena \"request\" at " + written(&request) +
                      ": rewind to mark 1, which has ended: marks end newest first; none is left of 1 set",
                  "rewind to a mark before any older mark, and before reset() and release()"));
}

struct calls_back {
  arena& owner;
  void (*misuse)(arena&);
  calls_back(arena& owner_, void (*misuse_)(arena&)) : owner(owner_), misuse(misuse_) {}
  ~calls_back() { misuse(owner); }
};

TEST(arena_faults, a_destructor_that_resets_its_arena_is_named) {
  arena request({.name = "request"});
  const std::string line = "tarn: arena \"request\" at " + written(&request) + ": ";
  const auto run = [&](void (*misuse)(arena&)) {
    return in_child([&request, misuse] {
      request.create<calls_back>(request, misuse);
      request.reset();
    });
  };
  EXPECT_EQ(run([](arena& owner) { owner.reset(); }),
            fault(line + "reset() by a destructor that the arena itself is running",
                  "do not reset, release or rewind an arena in the destructor of an object in it"));
  EXPECT_EQ(run([](arena& owner) { owner.release(); }),
            fault(line + "release() by a destructor that the arena itself is running",
                  "do not reset, release or rewind an arena in the destructor of an object in it"));

  static tarn::arena_mark outer;
  EXPECT_EQ(in_child([&] {
              outer = request.mark();
              static_cast<void>(request.create<calls_back>(request, [](arena&) {}));
              const tarn::arena_scope inner(request);
              request.create<calls_back>(request, [](arena& owner) { owner.rewind(outer); });
            }),
            fault(line + "rewind() by a destructor that the arena itself is running",
                  "do not reset, release or rewind an arena in the destructor of an object in it"));
}

}  // namespace
