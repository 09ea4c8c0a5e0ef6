#include "memory/pages/page_map.hpp"

#include <gtest/gtest.h>

#include "memory/pages/slab.hpp"
#include "platform/fake/platform.hpp"
#include "platform/platform.hpp"

namespace {

using namespace tarn;
using namespace tarn::base::units;
using pages::page_map;
using pages::unit_bytes;
namespace fake = platform::fake;

constexpr std::uintptr_t leaf_units = detail::leaf_units;
constexpr std::uintptr_t end_unit = detail::page_leaf_count * leaf_units;

const void* address_of(std::uintptr_t unit) { return reinterpret_cast<const void*>(unit << detail::unit_shift); }

class page_map_test : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(page_map::cover(address_of(0), 1)); }
  void SetUp() override { fake::reset(); }
  void TearDown() override { fake::reset(); }
};

TEST_F(page_map_test, knows_nothing_at_first) {
  int local = 0;
  static int global = 0;
  for (const void* address : {static_cast<const void*>(&local), static_cast<const void*>(&global), address_of(0),
                              address_of(77 * leaf_units), address_of(end_unit - 1)}) {
    EXPECT_EQ(detail::key_of(address), 0u);
    EXPECT_EQ(page_map::slab_of(address), nullptr);
    EXPECT_EQ(page_map::large_around(address), nullptr);
  }
}

TEST_F(page_map_test, says_nothing_beyond_the_address_space) {
  for (const std::uintptr_t unit :
       {end_unit, end_unit + 1, end_unit + leaf_units, ~std::uintptr_t{0} >> detail::unit_shift}) {
    EXPECT_EQ(detail::key_of(address_of(unit)), 0u) << unit;
    EXPECT_EQ(page_map::slab_of(address_of(unit)), nullptr) << unit;
    EXPECT_EQ(page_map::large_around(address_of(unit)), nullptr) << unit;
  }
  EXPECT_EQ(detail::key_of(reinterpret_cast<void*>(~std::uintptr_t{0})), 0u);
}

// A program may reserve most of the address space before it allocates; the rest must be usable.
TEST_F(page_map_test, reaches_both_ends_of_the_address_space) {
  pages::slab described{};
  for (const std::uintptr_t unit : {std::uintptr_t{0}, 3 * leaf_units, end_unit / 2, end_unit - 1}) {
    ASSERT_TRUE(page_map::cover(address_of(unit), unit_bytes));
    page_map::set(address_of(unit), 1, 0x1000 | 5, &described);
    EXPECT_EQ(detail::key_of(address_of(unit)), 0x1005u);
    const char* const last = static_cast<const char*>(address_of(unit)) + unit_bytes - 1;
    EXPECT_EQ(detail::key_of(last), 0x1005u);
    EXPECT_EQ(page_map::slab_of(last), &described);
    page_map::clear(address_of(unit), 1);
    EXPECT_EQ(page_map::slab_of(last), nullptr);
  }
  EXPECT_FALSE(page_map::cover(address_of(end_unit), unit_bytes));
  EXPECT_FALSE(page_map::cover(address_of(end_unit - 1), 2 * unit_bytes));
}

TEST_F(page_map_test, pays_for_what_is_used_and_once) {
  const std::uintptr_t unit = 41 * leaf_units - 1;  // and the first of the next leaf
  const std::size_t before = platform::mapped_bytes();
  ASSERT_TRUE(page_map::cover(address_of(unit), 2 * unit_bytes));
  EXPECT_GE(platform::mapped_bytes(), before + 2 * sizeof(detail::page_leaf) - 256_KiB);
  EXPECT_LE(platform::mapped_bytes(), before + 2 * sizeof(detail::page_leaf) + 256_KiB);
  pages::slab described{};
  page_map::set(address_of(unit), 2, 0x80, &described);
  EXPECT_EQ(detail::key_of(address_of(unit)), 0x80u);
  EXPECT_EQ(detail::key_of(address_of(unit + 1)), 0x80u);
  EXPECT_EQ(detail::key_of(address_of(unit + 2)), 0u);
  page_map::clear(address_of(unit), 2);

  const auto requests = fake::page_requests();
  EXPECT_TRUE(page_map::cover(address_of(unit), 2 * unit_bytes));
  EXPECT_EQ(fake::page_requests(), requests);
}

TEST_F(page_map_test, a_refused_leaf_can_be_asked_for_again) {
  const std::uintptr_t unit = 60 * leaf_units;
  fake::fail_requests_from(1);
  EXPECT_FALSE(page_map::cover(address_of(unit), 3 * leaf_units * unit_bytes));
  EXPECT_FALSE(page_map::cover(address_of(unit), 3 * leaf_units * unit_bytes));
  EXPECT_EQ(detail::key_of(address_of(unit + 2 * leaf_units)), 0u);
  fake::fail_requests_from(0);
  EXPECT_TRUE(page_map::cover(address_of(unit), 3 * leaf_units * unit_bytes));
}

TEST_F(page_map_test, nothing_stays_mapped_where_there_is_no_leaf) {
  const auto before = fake::mappings();
  void* const hint = reinterpret_cast<void*>(90 * leaf_units << detail::unit_shift);
  while (true) {  // the region of the metadata may still have room for a leaf
    fake::map_near(hint);
    fake::fail_requests_from(2);
    void* const start = page_map::map(unit_bytes, unit_bytes, unit_bytes);
    fake::fail_requests_from(0);
    if (start == nullptr) break;
    platform::unmap(start, unit_bytes);
    ASSERT_TRUE(page_map::cover(address_of(120 * leaf_units), 4 * leaf_units * unit_bytes));
    FAIL() << "a leaf was made of nothing";
  }
  EXPECT_EQ(fake::mappings(), before);
}

TEST_F(page_map_test, a_large_block_has_one_entry_however_large_it_is) {
  const std::uintptr_t unit = 80 * leaf_units + 100;
  pages::slab large{}, next{};
  large.start = const_cast<char*>(static_cast<const char*>(address_of(unit)));
  large.bytes = 4 * unit_bytes;
  next.start = large.start + large.bytes;
  next.bytes = 20 * leaf_units * unit_bytes;
  ASSERT_TRUE(page_map::cover(address_of(unit), 6 * unit_bytes));
  const std::size_t before = platform::mapped_bytes();
  page_map::set_large(large.start, 0x2000, &large);
  page_map::set_large(next.start, 0x3000, &next);
  EXPECT_EQ(platform::mapped_bytes(), before);
  EXPECT_EQ(detail::key_of(large.start), 0x2000 | pages::large_mark);
  for (std::uintptr_t inner_unit = unit + 1; inner_unit < unit + 4; ++inner_unit) {
    EXPECT_EQ(detail::key_of(address_of(inner_unit)), 0u);
    EXPECT_EQ(page_map::large_around(address_of(inner_unit)), &large);
  }
  EXPECT_EQ(page_map::large_around(next.start + next.bytes - 1), &next);
  EXPECT_EQ(page_map::large_around(next.start + next.bytes), nullptr);
  EXPECT_EQ(page_map::large_around(large.start - 1), nullptr);

  page_map::retire(large.start, 1);  // the slab is still known, to explain a late free
  EXPECT_EQ(detail::key_of(large.start), 0u);
  EXPECT_EQ(page_map::slab_of(large.start), &large);
  EXPECT_EQ(page_map::large_around(large.start + unit_bytes), nullptr);
  EXPECT_EQ(detail::key_of(next.start), 0x3000 | pages::large_mark);

  page_map::clear(large.start, 5);
  EXPECT_EQ(page_map::slab_of(large.start), nullptr);
  EXPECT_EQ(page_map::slab_of(next.start), nullptr);
}

// The mark of a large block is above every class, so that no fast path takes it for one.
TEST_F(page_map_test, the_mark_is_no_class) {
  static_assert(pages::large_mark >= detail::class_count && pages::mark_mask < alignof(detail::heap_front));
  SUCCEED();
}

}  // namespace
