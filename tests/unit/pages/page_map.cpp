#include "pages/page_map.hpp"

#include <gtest/gtest.h>

#include "pages/slab.hpp"
#include "platform/fake.hpp"
#include "platform/platform.hpp"
#include "support/child.hpp"

namespace {

using namespace tarn;
using namespace tarn::base::units;
using pages::page_map;
using pages::unit_bytes;
namespace fake = platform::fake;

/// As page_map.cpp has it.
constexpr std::size_t piece_bytes = 128_KiB;
constexpr std::size_t units_of_a_piece = piece_bytes / sizeof(std::uintptr_t);

const void* address_of(std::uintptr_t unit) { return reinterpret_cast<const void*>(unit << detail::unit_shift); }

class page_map_test : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(page_map::initialise()); }
  void SetUp() override { fake::reset(); }
  void TearDown() override { fake::reset(); }

  const std::uintptr_t first = detail::page_map.first;
  const std::uintptr_t end = detail::page_map.first + detail::page_map.count;
};

TEST_F(page_map_test, knows_nothing_at_first) {
  int local = 0;
  static int global = 0;
  for (const void* each : {static_cast<const void*>(&local), static_cast<const void*>(&global), address_of(0),
                           address_of(first), address_of(end - 1)}) {
    EXPECT_EQ(detail::key_of(each), 0u);
    EXPECT_EQ(page_map::slab_of(each), nullptr);
  }
}

TEST_F(page_map_test, says_nothing_beyond_its_window) {
  for (const std::uintptr_t unit :
       {first - 1, end, end + 1, std::uintptr_t{0}, ~std::uintptr_t{0} >> detail::unit_shift}) {
    EXPECT_EQ(detail::key_of(address_of(unit)), 0u) << unit;
    EXPECT_EQ(page_map::slab_of(address_of(unit)), nullptr) << unit;
  }
  EXPECT_EQ(detail::key_of(reinterpret_cast<void*>(~std::uintptr_t{0})), 0u);
}

TEST_F(page_map_test, covers_to_both_edges_and_not_beyond) {
  pages::slab any{};
  for (const std::uintptr_t unit : {first, end - 1}) {
    ASSERT_TRUE(page_map::cover(address_of(unit), unit_bytes));
    page_map::set(address_of(unit), 1, 0x1000 | 5, &any);
    EXPECT_EQ(detail::key_of(address_of(unit)), 0x1005u);
    const char* const last = static_cast<const char*>(address_of(unit)) + unit_bytes - 1;
    EXPECT_EQ(detail::key_of(last), 0x1005u);
    EXPECT_EQ(page_map::slab_of(last), &any);
    page_map::clear(address_of(unit), 1);
  }
  EXPECT_FALSE(page_map::cover(address_of(first - 1), unit_bytes));
  EXPECT_FALSE(page_map::cover(address_of(first - 1), 2 * unit_bytes));
  EXPECT_FALSE(page_map::cover(address_of(end), unit_bytes));
  EXPECT_FALSE(page_map::cover(address_of(end - 1), 2 * unit_bytes));
  EXPECT_FALSE(page_map::cover(address_of(end - 1), unit_bytes + 1));
  EXPECT_FALSE(page_map::cover(address_of(first), (end - first + 1) * unit_bytes));
  EXPECT_FALSE(page_map::cover(nullptr, unit_bytes));
}

TEST_F(page_map_test, covers_every_piece_that_is_touched) {
  // From the last unit of a piece over a whole one into the first unit of the next.
  const std::uintptr_t unit = first + 40 * units_of_a_piece - 1;
  const std::size_t before = platform::mapped_bytes();
  ASSERT_TRUE(page_map::cover(address_of(unit), (units_of_a_piece + 2) * unit_bytes));
  EXPECT_EQ(platform::mapped_bytes(), before + 2 * 3 * piece_bytes);  // of keys, and of slabs
  pages::slab any{};
  page_map::set(address_of(unit), units_of_a_piece + 2, 0x80, &any);
  EXPECT_EQ(detail::key_of(address_of(unit)), 0x80u);
  EXPECT_EQ(detail::key_of(address_of(unit + units_of_a_piece + 1)), 0x80u);
  EXPECT_EQ(detail::key_of(address_of(unit + units_of_a_piece + 2)), 0u);
  page_map::clear(address_of(unit), units_of_a_piece + 2);

  const auto requests = fake::page_requests();
  EXPECT_TRUE(page_map::cover(address_of(unit), (units_of_a_piece + 2) * unit_bytes));
  EXPECT_EQ(fake::page_requests(), requests);  // once is enough
}

TEST_F(page_map_test, a_refused_piece_can_be_asked_for_again) {
  const std::uintptr_t unit = first + 60 * units_of_a_piece;
  for (int piece = 0; piece < 4; ++piece) {  // two of keys, two of slabs; those that were made stay
    fake::fail_request(1 + piece % 2);
    EXPECT_FALSE(page_map::cover(address_of(unit), 2 * units_of_a_piece * unit_bytes)) << piece;
  }
  EXPECT_TRUE(page_map::cover(address_of(unit), 2 * units_of_a_piece * unit_bytes));
  pages::slab any{};
  page_map::set(address_of(unit), 2 * units_of_a_piece, 0x80, &any);
  page_map::clear(address_of(unit), 2 * units_of_a_piece);
}

TEST_F(page_map_test, marks_the_first_unit_of_a_large_block_and_its_inside) {
  const std::uintptr_t unit = first + 80 * units_of_a_piece;
  ASSERT_TRUE(page_map::cover(address_of(unit), 6 * unit_bytes));
  pages::slab one{}, next{};
  page_map::set_large(address_of(unit), 4, 0x2000, &one);
  page_map::set_large(address_of(unit + 4), 1, 0x3000, &next);
  EXPECT_EQ(detail::key_of(address_of(unit)), 0x2000 | pages::large_mark);
  for (std::uintptr_t inside = unit + 1; inside < unit + 4; ++inside) {
    EXPECT_EQ(detail::key_of(address_of(inside)), 0x2000 | pages::interior_mark);
    EXPECT_EQ(page_map::slab_of(address_of(inside)), &one);
  }
  EXPECT_EQ(detail::key_of(address_of(unit + 4)), 0x3000 | pages::large_mark);
  EXPECT_EQ(detail::key_of(address_of(unit + 5)), 0u);

  page_map::retire(address_of(unit), 4);  // the slab is still known, to explain a late free
  EXPECT_EQ(detail::key_of(address_of(unit)), 0u);
  EXPECT_EQ(detail::key_of(address_of(unit + 3)), 0u);
  EXPECT_EQ(page_map::slab_of(address_of(unit + 3)), &one);
  EXPECT_EQ(detail::key_of(address_of(unit + 4)), 0x3000 | pages::large_mark);

  page_map::clear(address_of(unit), 5);
  EXPECT_EQ(page_map::slab_of(address_of(unit)), nullptr);
  EXPECT_EQ(page_map::slab_of(address_of(unit + 4)), nullptr);
  EXPECT_EQ(detail::key_of(address_of(unit + 4)), 0u);
}

TEST_F(page_map_test, asks_for_no_more_places_than_there_can_be) {
  const std::size_t window = (end - first) * unit_bytes;
  fake::map_near(reinterpret_cast<void*>((first << detail::unit_shift) - window), true);  // never inside
  EXPECT_EQ(page_map::map(window + unit_bytes, unit_bytes), nullptr);
  EXPECT_EQ(fake::kernel_calls(), 0u);
  EXPECT_EQ(page_map::map(window / 4, unit_bytes), nullptr);
  EXPECT_LE(fake::kernel_calls(), 2u * (1 + 4));  // mapped and unmapped, each
}

// The mark of a large block is above every class, so that no fast path takes it for one.
TEST_F(page_map_test, marks_are_no_classes) {
  static_assert(pages::large_mark >= detail::class_count && pages::interior_mark >= detail::class_count);
  static_assert(pages::mark_mask < alignof(detail::heap_front));
  SUCCEED();
}

struct window {
  std::size_t limit, memory;
  std::size_t bytes;  ///< expected
};

class page_map_window : public testing::TestWithParam<window> {};

TEST_P(page_map_window, is_many_times_what_the_machine_has) {
  const window wanted = GetParam();
  const support::ending seen = support::in_child([&] {
    fake::reset();
    fake::set_address_space_limit(wanted.limit);
    fake::set_physical_memory(wanted.memory);
    const std::size_t before = platform::mapped_bytes();
    if (!page_map::initialise() || platform::mapped_bytes() != before) {
      return 1;  // the table is no promise of memory
    }
    if (detail::page_map.count * unit_bytes != wanted.bytes) {
      return 2;
    }
    // What the kernel maps next is inside, and far from the edges.
    char* const next = static_cast<char*>(platform::map(unit_bytes, unit_bytes));
    if (!page_map::cover(next, unit_bytes) || !page_map::cover(next - wanted.bytes / 4, unit_bytes) ||
        !page_map::cover(next + wanted.bytes / 4, unit_bytes)) {
      return 3;
    }
    return 0;
  });
  EXPECT_EQ(seen, support::ending{});
}

INSTANTIATE_TEST_SUITE_P(sizes, page_map_window,
                         testing::Values(window{0, 1_GiB, 1024_GiB}, window{0, 64_GiB, 4096_GiB},
                                         window{0, 1024_GiB, 4096_GiB}, window{64_MiB, 64_GiB, 1_GiB},
                                         window{512_MiB, 64_GiB, 2_GiB}, window{100_GiB, 1_GiB, 400_GiB}));

TEST(page_map_start, says_so_when_there_is_no_address_space) {
  const support::ending seen = support::in_child([] {
    const detail::page_map_view before = detail::page_map;
    fake::fail_request(1);
    const bool refused = !page_map::initialise() && detail::page_map.count == before.count;
    return refused && page_map::initialise() ? 0 : 1;
  });
  EXPECT_EQ(seen, support::ending{});
}

}  // namespace
