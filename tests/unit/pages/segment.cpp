// Compares segment with a naive one: an array with the state of each unit.
#include "memory/pages/segment.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "memory/pages/metadata.hpp"
#include "memory/pages/page_map.hpp"
#include "platform/fake/platform.hpp"
#include "platform/platform.hpp"

namespace {

using namespace tarn;
using namespace tarn::base::units;
using pages::segment;
using pages::slab;
using pages::unit_bytes;
namespace fake = platform::fake;

enum class state { in_use, clean, recent, stale };
constexpr std::uintptr_t key = 0x1000;

/// Holds a segment and its expected state.
class pair {
 public:
  segment& real;
  std::vector<state> naive;

  explicit pair(std::size_t units, std::size_t alignment = unit_bytes)
      : real(*segment::create(units, alignment)), naive(units, state::clean) {}
  ~pair() { real.destroy(); }
  pair(const pair&) = delete;
  pair& operator=(const pair&) = delete;

  slab* take(std::size_t count, std::size_t alignment) {
    const std::size_t expected = first_fit(count, alignment);
    slab* const run = real.take(count, alignment);
    EXPECT_EQ(run == nullptr ? naive.size() : real.unit_of(run->start), expected);
    if (run == nullptr || expected == naive.size()) return run;
    bool is_clean = true;
    for (std::size_t unit = expected; unit < expected + count; ++unit) {
      is_clean = is_clean && naive[unit] == state::clean;
      naive[unit] = state::in_use;
    }
    EXPECT_EQ(run->is_zeroed, is_clean);
    EXPECT_EQ(run->units, count);
    EXPECT_EQ(run->home, &real);
    EXPECT_EQ(run->previous, nullptr);
    EXPECT_EQ(run->next, nullptr);
    // The description lies in the segment's record, apart from its units.
    EXPECT_GE(reinterpret_cast<char*>(run), reinterpret_cast<char*>(&real + 1));
    EXPECT_LT(reinterpret_cast<char*>(run), reinterpret_cast<char*>(&real + 1) + real.units * sizeof(slab));
    EXPECT_TRUE(reinterpret_cast<char*>(run) < real.start || reinterpret_cast<char*>(run) >= real.start + real.bytes());
    pages::page_map::set(run->start, run->units, key, run);
    return run;
  }

  bool extend(slab& run, std::size_t count) {
    const std::size_t end = real.unit_of(run.start) + run.units;
    bool is_expected = end + count <= naive.size();
    for (std::size_t unit = end; is_expected && unit < end + count; ++unit) is_expected = naive[unit] != state::in_use;
    EXPECT_EQ(real.extend(run, count), is_expected);
    if (is_expected) {
      std::fill_n(naive.begin() + static_cast<std::ptrdiff_t>(end), count, state::in_use);
      pages::page_map::set(run.start, run.units, key, &run);
    }
    return is_expected;
  }

  void give(slab& run, std::size_t kept_units = 0, bool is_clean = false) {
    const std::size_t unit = real.unit_of(run.start);
    for (std::size_t index = kept_units; index < run.units; ++index) {
      naive[unit + index] = is_clean ? state::clean : state::recent;
    }
    real.give(run, kept_units, is_clean);
    EXPECT_EQ(run.units, kept_units);
  }

  // Acts as space::purge does.
  void age() {
    real.stale |= real.recently_freed;
    real.recently_freed.clear();
    std::replace(naive.begin(), naive.end(), state::recent, state::stale);
  }
  void purge() {
    for (std::size_t unit = 0; unit < naive.size(); ++unit) {
      if (naive[unit] == state::stale) real.clean_up(unit, 1);
    }
    std::replace(naive.begin(), naive.end(), state::stale, state::clean);
  }

  void reset() {
    real.reset();
    for (std::size_t unit = 0; unit < naive.size(); ++unit) {
      naive[unit] = naive[unit] == state::in_use ? state::recent : naive[unit];
    }
  }

  void check() const {
    ASSERT_TRUE(real.is_valid());
    std::size_t free_units = 0;
    std::size_t dirty_units = 0;
    for (std::size_t unit = 0; unit < naive.size(); ++unit) {
      free_units += naive[unit] != state::in_use ? 1 : 0;
      dirty_units += naive[unit] == state::recent || naive[unit] == state::stale ? 1 : 0;
      ASSERT_EQ(real.free.contains_any(unit, 1), naive[unit] != state::in_use) << unit;
      ASSERT_EQ(real.recently_freed.contains_any(unit, 1), naive[unit] == state::recent) << unit;
      ASSERT_EQ(real.stale.contains_any(unit, 1), naive[unit] == state::stale) << unit;
      ASSERT_EQ(detail::key_of(real.address(unit)) != 0, naive[unit] == state::in_use) << unit;
    }
    ASSERT_EQ(real.free_units, free_units);
    ASSERT_EQ(real.dirty_units, dirty_units);
  }

 private:
  std::size_t first_fit(std::size_t count, std::size_t alignment) const {
    for (std::size_t unit = 0; unit + count <= naive.size(); ++unit) {
      bool is_fitting = reinterpret_cast<std::uintptr_t>(real.address(unit)) % alignment == 0;
      for (std::size_t index = unit; is_fitting && index < unit + count; ++index) {
        is_fitting = naive[index] != state::in_use;
      }
      if (is_fitting) return unit;
    }
    return naive.size();
  }
};

class segment_test : public testing::Test {
 protected:
  static void SetUpTestSuite() {  // makes everything that is never unmapped: records, leaves of the page map
    for (std::size_t units = 1; units <= pages::max_units; units *= 2) segment::create(units, unit_bytes)->destroy();
  }
  void SetUp() override { fake::reset(); }
  void TearDown() override { fake::reset(); }
};

TEST_F(segment_test, starts_free_and_zero) {
  pair tested(20);
  tested.check();
  EXPECT_EQ(tested.real.free_units, 20u);
  EXPECT_EQ(tested.real.bytes(), 20 * unit_bytes);
  EXPECT_TRUE(base::is_aligned(tested.real.start, unit_bytes));
}

TEST_F(segment_test, its_record_has_room_for_every_description) {
  for (std::size_t units = 1; units <= pages::max_units; units += 51) {
    pages::segment_record* const record = pages::segment_records::allocate(units);
    ASSERT_NE(record, nullptr);
    std::memset(record->memory, 0x55, sizeof(segment) + units * sizeof(slab));
    pages::segment_record* const next_record = pages::segment_records::allocate(units);
    std::memset(next_record->memory, 0x66, sizeof(segment) + units * sizeof(slab));
    const char* const bytes = static_cast<char*>(record->memory);
    EXPECT_EQ(bytes[0], 0x55);
    EXPECT_EQ(bytes[sizeof(segment) + units * sizeof(slab) - 1], 0x55);
    pages::segment_records::deallocate(*record, units);
    EXPECT_EQ(pages::segment_records::allocate(units), record) << "it is used again";
    pages::segment_records::deallocate(*next_record, units);
    pages::segment_records::deallocate(*record, units);
  }
}

TEST_F(segment_test, starts_on_the_alignment_asked_for) {
  for (std::size_t alignment = unit_bytes; alignment <= 16_MiB; alignment *= 2) {
    segment* const created = segment::create(8, alignment);
    ASSERT_NE(created, nullptr);
    EXPECT_TRUE(base::is_aligned(created->start, alignment));
    created->destroy();
  }
}

// Tries every set of free units among seven, every run, every alignment.
TEST_F(segment_test, takes_the_first_fit_from_every_small_set) {
  constexpr std::size_t usable = 7;
  for (unsigned free = 0; free < 1u << usable; ++free) {
    for (std::size_t count = 1; count <= usable; ++count) {
      for (const std::size_t alignment : {unit_bytes, 2 * unit_bytes, 4 * unit_bytes}) {
        pair tested(usable, 4 * unit_bytes);
        std::vector<slab*> singles;
        for (std::size_t unit = 0; unit < usable; ++unit) singles.push_back(tested.take(1, unit_bytes));
        for (std::size_t unit = 0; unit < usable; ++unit) {
          if ((free >> unit & 1) != 0) tested.give(*singles[unit]);
        }
        tested.take(count, alignment);
        ASSERT_NO_FATAL_FAILURE(tested.check()) << free << " " << count << " " << alignment;
      }
    }
  }
}

// Tries every run, then every extension and every shortening of it, before every neighbour.
TEST_F(segment_test, extends_and_shortens_every_small_run) {
  constexpr std::size_t usable = 6;
  for (std::size_t count = 1; count <= usable; ++count) {
    for (std::size_t added_units = 1; added_units <= usable; ++added_units) {
      for (std::size_t left = 0; left < count; ++left) {
        pair tested(usable);
        slab* const run = tested.take(count, unit_bytes);
        slab* const neighbour = tested.take(1, unit_bytes);
        ASSERT_NE(run, nullptr);
        if (neighbour != nullptr) {
          EXPECT_FALSE(tested.extend(*run, 1));
          tested.give(*neighbour);
        }
        tested.extend(*run, added_units);
        ASSERT_NO_FATAL_FAILURE(tested.check());
        tested.give(*run, left);
        ASSERT_NO_FATAL_FAILURE(tested.check());
        if (left != 0) {
          tested.extend(*run, added_units);
          ASSERT_NO_FATAL_FAILURE(tested.check());
        }
      }
    }
  }
}

TEST_F(segment_test, random_operations_agree_with_the_naive_segment) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    pair tested(10 + random() % 300, unit_bytes << random() % 6);
    std::vector<slab*> runs;
    for (int round = 0; round < 150; ++round) {
      const std::size_t index = runs.empty() ? 0 : random() % runs.size();
      switch (random() % 10) {
        case 0:
        case 1:
        case 2:
        case 3: {
          slab* const run = tested.take(1 + random() % 12, unit_bytes << (random() % 3 == 0 ? random() % 5 : 0));
          if (run != nullptr) runs.push_back(run);
          break;
        }
        case 4:
        case 5:
          if (!runs.empty()) {
            tested.give(*runs[index], 0, random() % 4 == 0);
            runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(index));
          }
          break;
        case 6:
          if (!runs.empty() && runs[index]->units > 1) {
            tested.give(*runs[index], 1 + random() % (runs[index]->units - 1));
          }
          break;
        case 7:
          if (!runs.empty()) tested.extend(*runs[index], 1 + random() % 4);
          break;
        case 8: random() % 2 == 0 ? tested.age() : tested.purge(); break;
        default:
          if (random() % 20 == 0) {
            tested.reset();
            runs.clear();
          }
          break;
      }
      ASSERT_NO_FATAL_FAILURE(tested.check()) << "seed " << seed << " round " << round;
    }
  }
}

TEST_F(segment_test, has_no_units_beyond_its_end) {
  pair tested(5);
  EXPECT_EQ(tested.take(6, unit_bytes), nullptr);
  slab* const whole = tested.take(5, unit_bytes);
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(tested.take(1, unit_bytes), nullptr);
  EXPECT_FALSE(tested.extend(*whole, 1));
  tested.give(*whole);
  tested.check();
}

TEST_F(segment_test, a_late_free_meets_the_slab_that_was) {
  pair tested(5);
  slab* const run = tested.take(3, unit_bytes);
  char* const start = run->start;
  tested.give(*run);
  EXPECT_EQ(detail::key_of(start), 0u);
  EXPECT_EQ(pages::page_map::slab_of(start), run);
}

TEST_F(segment_test, reset_frees_everything_at_once) {
  pair tested(100);
  for (std::size_t count = 1; count < 12; ++count) {
    slab* const run = tested.take(count, unit_bytes);
    if (count % 3 == 0) tested.give(*run);
  }
  tested.age();
  tested.reset();
  tested.check();
  EXPECT_EQ(tested.real.free_units, 100u);
  slab* const whole = tested.take(100, unit_bytes);
  ASSERT_NE(whole, nullptr);
  EXPECT_FALSE(whole->is_zeroed);
}

TEST_F(segment_test, destroy_leaves_nothing) {
  const auto before = fake::mappings();
  char* start = nullptr;
  {
    pair tested(7);
    start = tested.take(3, unit_bytes)->start;
    tested.give(*tested.take(2, unit_bytes));
    EXPECT_NE(fake::mappings(), before);
    EXPECT_NE(detail::key_of(start), 0u);
  }
  for (std::size_t unit = 0; unit < 7; ++unit) {
    EXPECT_EQ(pages::page_map::slab_of(start + unit * unit_bytes), nullptr);
    EXPECT_EQ(detail::key_of(start + unit * unit_bytes), 0u);
  }
  EXPECT_EQ(fake::mappings(), before);
}

TEST_F(segment_test, create_leaves_nothing_when_it_fails) {
  const auto before = fake::mappings();
  fake::fail_request(1);
  EXPECT_EQ(segment::create(8, unit_bytes), nullptr);
  EXPECT_EQ(fake::mappings(), before);
  pages::segment_record* const record = pages::segment_records::allocate(8);  // went back, too
  segment* const created = segment::create(8, unit_bytes);
  ASSERT_NE(created, nullptr);
  EXPECT_NE(static_cast<void*>(created), record->memory);
  created->destroy();
  pages::segment_records::deallocate(*record, 8);
}

TEST_F(segment_test, is_valid_sees_what_is_broken) {
  pair tested(30);
  slab* const run = tested.take(4, unit_bytes);
  slab* const free = tested.take(4, unit_bytes);
  ASSERT_TRUE(run != nullptr && free != nullptr);
  tested.give(*free);
  segment& broken = tested.real;
  const std::size_t used_unit = broken.unit_of(run->start);
  ASSERT_TRUE(broken.is_valid());

  ++broken.free_units;
  EXPECT_FALSE(broken.is_valid());
  --broken.free_units;

  ++broken.dirty_units;
  EXPECT_FALSE(broken.is_valid());
  --broken.dirty_units;

  broken.recently_freed.insert(used_unit, 1);
  EXPECT_FALSE(broken.is_valid());
  broken.recently_freed.erase(used_unit, 1);

  broken.stale.insert(used_unit + 3, 1);
  EXPECT_FALSE(broken.is_valid());
  broken.stale.erase(used_unit + 3, 1);

  broken.free.insert(used_unit, 1);  // free and in the page map
  ++broken.free_units;
  EXPECT_FALSE(broken.is_valid());
  broken.free.erase(used_unit, 1);
  --broken.free_units;

  ++broken.longest_run;
  EXPECT_FALSE(broken.is_valid());
  --broken.longest_run;

  broken.free.insert(broken.units, 1);  // behind its end
  broken.free.erase(broken.units - 1, 1);
  EXPECT_FALSE(broken.is_valid());
  broken.free.erase(broken.units, 1);
  broken.free.insert(broken.units - 1, 1);

  EXPECT_TRUE(broken.is_valid());
}

// Where address space is short, large segments are tried first. Their records would take room from the blocks.
TEST_F(segment_test, one_that_cannot_be_mapped_takes_no_record) {
  // More segments of this size than ever before use up the records that earlier ones left behind.
  std::vector<segment*> segments;
  const std::size_t before = pages::metadata::committed_bytes();
  do {
    segments.push_back(segment::create(pages::max_units, unit_bytes));
    ASSERT_NE(segments.back(), nullptr);
  } while (pages::metadata::committed_bytes() == before);
  const std::size_t committed = pages::metadata::committed_bytes();
  fake::set_budget(platform::mapped_bytes() + 8_MiB);
  EXPECT_EQ(segment::create(pages::max_units, unit_bytes), nullptr);
  fake::set_budget(0);
  EXPECT_EQ(pages::metadata::committed_bytes(), committed);
  for (segment* const part : segments) part->destroy();
}

}  // namespace
