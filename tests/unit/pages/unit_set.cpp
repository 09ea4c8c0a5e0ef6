// Compares unit_set with a naive one: an array of bools.
#include "memory/pages/unit_set.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace {

using tarn::pages::max_units;
using tarn::pages::unit_set;

struct naive_set {
  std::array<bool, max_units> members{};

  void assign(std::size_t first, std::size_t count, bool is_member) {
    for (std::size_t unit = first; unit < first + count; ++unit) members[unit] = is_member;
  }
  std::size_t count(std::size_t first, std::size_t count) const {
    std::size_t included = 0;
    for (std::size_t unit = first; unit < first + count; ++unit) included += members[unit] ? 1 : 0;
    return included;
  }
  std::size_t next(std::size_t first, bool is_member) const {
    while (first < max_units && members[first] != is_member) ++first;
    return first < max_units ? first : max_units;
  }
};

void expect_same(const unit_set& set, const naive_set& naive) {
  ASSERT_EQ(set.size(), naive.count(0, max_units));
  std::size_t member = max_units;
  std::size_t gap = max_units;
  for (std::size_t unit = max_units; unit-- != 0;) {
    (naive.members[unit] ? member : gap) = unit;
    ASSERT_EQ(set.next_member(unit), member) << unit;
    ASSERT_EQ(set.next_gap(unit), gap) << unit;
    ASSERT_EQ(set.contains_any(unit, 1), naive.members[unit]) << unit;
  }
}

TEST(unit_set, is_empty_at_first) {
  const unit_set set;
  expect_same(set, {});
  EXPECT_EQ(set.next_member(max_units), max_units);
  EXPECT_EQ(set.next_gap(max_units), max_units);
}

// Tries every run that begins and ends near a border of two words.
TEST(unit_set, holds_every_run_across_word_borders) {
  for (std::size_t first = 60; first <= 130; ++first) {
    for (std::size_t count = 0; count <= 70; ++count) {
      unit_set set;
      naive_set naive;
      set.insert(first, count);
      naive.assign(first, count, true);
      ASSERT_EQ(set.size(), count);
      ASSERT_EQ(set.next_member(0), count == 0 ? max_units : first);
      ASSERT_EQ(set.next_gap(first), first + count);
      ASSERT_TRUE(set.contains_all(first, count));
      ASSERT_EQ(set.contains_any(first, count), count != 0);
      ASSERT_FALSE(set.contains_any(0, first));
      ASSERT_FALSE(set.contains_any(first + count, max_units - first - count));
      ASSERT_FALSE(set.contains_all(first - 1, count + 1));
      ASSERT_FALSE(set.contains_all(first, count + 1));

      set.insert(0, max_units);
      set.erase(first, count);
      ASSERT_EQ(set.size(), max_units - count);
      ASSERT_EQ(set.next_gap(0), count == 0 ? max_units : first);
      ASSERT_EQ(set.next_member(first), first + count);
      ASSERT_FALSE(set.contains_any(first, count));
    }
  }
}

TEST(unit_set, reaches_the_last_unit) {
  unit_set set;
  set.insert(0, max_units);
  EXPECT_EQ(set.size(), max_units);
  EXPECT_TRUE(set.contains_all(0, max_units));
  EXPECT_EQ(set.next_gap(0), max_units);
  set.erase(max_units - 1, 1);
  EXPECT_EQ(set.next_gap(0), max_units - 1);
  EXPECT_EQ(set.next_member(max_units - 1), max_units);
  set.clear();
  expect_same(set, {});
}

TEST(unit_set, random_runs_agree_with_the_naive_set) {
  std::mt19937 random(1);
  unit_set set, second;
  naive_set naive, naive_other;
  for (int round = 0; round < 3'000; ++round) {
    const std::size_t first = random() % max_units;
    const std::size_t count =
        random() % (random() % 4 == 0 ? max_units - first + 1 : std::min<std::size_t>(max_units - first, 20) + 1);
    switch (random() % 6) {
      case 0:
      case 1:
        set.insert(first, count);
        naive.assign(first, count, true);
        break;
      case 2:
      case 3:
        set.erase(first, count);
        naive.assign(first, count, false);
        break;
      case 4:
        second.insert(first, count);
        naive_other.assign(first, count, true);
        break;
      default:
        set |= second;
        for (std::size_t unit = 0; unit < max_units; ++unit) naive.members[unit] |= naive_other.members[unit];
        second.clear();
        naive_other = {};
        break;
    }
    ASSERT_EQ(set.contains_any(first, count), naive.count(first, count) != 0);
    ASSERT_EQ(set.contains_all(first, count), naive.count(first, count) == count);
    ASSERT_EQ(set.count(first, count), naive.count(first, count));
    if (round % 10 == 0) {
      expect_same(set, naive);
      std::size_t longest = 0, run = 0;
      for (std::size_t unit = 0; unit < max_units; ++unit) {
        run = naive.members[unit] ? run + 1 : 0;
        longest = std::max(longest, run);
        if (run != 0) {
          ASSERT_EQ(set.run_start(unit), unit + 1 - run);
        }
      }
      ASSERT_EQ(set.longest_run(), longest);
    }
  }
}

}  // namespace
