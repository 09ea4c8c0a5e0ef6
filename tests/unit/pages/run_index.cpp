// Tests the index of free runs against a plain search, and how many segments a search visits.
#include "memory/pages/run_index.hpp"

#include <algorithm>
#include <random>

#include "space_fixture.hpp"

namespace space_tests {
namespace {

using pages::run_index;
using pages::segment;

class run_index_test : public testing::Test {
 protected:
  void SetUp() override { fake::reset(); }
  void TearDown() override {
    for (segment* indexed : segments) {
      index.remove(*indexed);
      indexed->destroy();
    }
    EXPECT_TRUE(index.is_valid());
    fake::reset();
  }
  segment& add(std::size_t units) {
    segment* const created = segment::create(units, unit_bytes);
    EXPECT_NE(created, nullptr);
    index.insert(*created);
    segments.push_back(created);
    return *created;
  }

  run_index index;
  std::vector<segment*> segments;
};

TEST_F(run_index_test, finds_nothing_where_nothing_is) {
  EXPECT_EQ(index.find(1), nullptr);
  segment& only = add(20);
  EXPECT_EQ(index.find(20), &only);
  EXPECT_EQ(index.find(21), nullptr);
  slab* const run = only.take(20, unit_bytes);
  ASSERT_NE(run, nullptr);
  index.update(only);
  EXPECT_EQ(only.longest_run, 0u);
  EXPECT_EQ(index.find(1), nullptr);
  only.give(*run);
  index.update(only);
  EXPECT_EQ(index.find(20), &only);
  EXPECT_EQ(index.first_dirty(), &only);
}

TEST_F(run_index_test, prefers_the_segment_that_is_nearly_full) {
  add(500);
  segment& small = add(6);
  add(100);
  EXPECT_EQ(index.find(1), &small);
  EXPECT_EQ(index.find(6), &small);
  EXPECT_NE(index.find(7), &small);
}

// A found segment has room; a run is missed only where hardly any segment has enough.
TEST_F(run_index_test, random_operations_agree_with_a_plain_search) {
  std::mt19937 random(7);
  for (int count = 0; count < 30; ++count) add(8 + random() % 400);
  std::vector<slab*> runs;
  for (int round = 0; round < 4000; ++round) {
    const std::size_t units = 1 + random() % (round % 3 == 0 ? 200 : 9);
    const std::uint64_t before = index.steps();
    segment* const fitting = index.find(units);
    ASSERT_LE(index.steps() - before, 5u);
    const auto longest =
        std::ranges::max(segments, {}, [](const segment* indexed) { return indexed->longest_run; })->longest_run;
    if (fitting == nullptr) {
      ASSERT_LT(longest, units + units / 8 + 1) << "a bin spans an eighth";
    } else {
      ASSERT_GE(fitting->longest_run, units);
      if (random() % 3 != 0) {
        slab* const run = fitting->take(units, unit_bytes);
        ASSERT_NE(run, nullptr);
        page_map::set(run->start, run->units, owner, run);
        index.update(*fitting);
        runs.push_back(run);
      }
    }
    if (!runs.empty() && random() % 2 == 0) {
      std::swap(runs[random() % runs.size()], runs.back());
      segment& home = *runs.back()->home;
      home.give(*runs.back(), 0, random() % 2 == 0);
      index.update(home);
      runs.pop_back();
    }
    if (index.first_dirty() != nullptr && random() % 4 == 0) {
      segment& dirty = *index.first_dirty();
      index.move_to_end_of_dirty(dirty);
      const std::size_t first_dirty_unit = dirty.recently_freed.next_member(0);
      dirty.lend(first_dirty_unit, 1);
      index.update(dirty);
      ASSERT_TRUE(index.is_valid());
      dirty.put_back(first_dirty_unit, 1, true);
      index.update(dirty);
    }
    ASSERT_TRUE(round % 16 != 0 || index.is_valid()) << round;
  }
}

// The cost is counted, not timed: it is the same for ten segments and for thousands.
TEST_F(space_test, a_run_is_found_at_the_same_cost_among_thousands_of_segments) {
  tested.configure({.segment_units = 16, .alignment = unit_bytes, .purge = pages::purging::after_delay});
  std::vector<slab*> live;
  std::uint64_t max_steps = 0;
  for (const std::size_t segments : {std::size_t{10}, std::size_t{100}, std::size_t{1000}, std::size_t{3000}}) {
    while (live.size() < segments * 14) {
      live.push_back(tested.allocate_slab(0, owner));
      ASSERT_NE(live.back(), nullptr);
    }
    for (std::size_t index = 0; index < live.size(); index += 97) {  // leaves holes in many of them
      tested.deallocate(live[index]);
      live[index] = tested.allocate_slab(0, owner);
    }
    const std::uint64_t earlier = tested.index().steps();
    for (int round = 0; round < 1000; ++round) {
      slab* const large = tested.allocate_large(1_MiB, unit_bytes, owner);
      ASSERT_NE(large, nullptr);
      tested.deallocate(large);
    }
    max_steps = std::max(max_steps, tested.index().steps() - earlier);
    EXPECT_LE(tested.index().steps() - earlier, 5'000u) << segments;
  }
  EXPECT_LE(max_steps, 5'000u);
  EXPECT_TRUE(tested.is_valid());
}

}  // namespace
}  // namespace space_tests
