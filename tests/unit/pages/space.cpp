// Tests slabs and large blocks of a space, its limit, its reserve, its end; and all of it without memory.
#include "memory/pages/space.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "space_fixture.hpp"

namespace space_tests {
namespace {

using detail::class_count;
using detail::size_class;

TEST_F(space_test, gives_slabs_of_every_class) {
  std::vector<slab*> slabs;
  std::size_t used_bytes = 0;
  for (size_class index = 0; index < class_count; ++index) {
    slab* const fresh_slab = tested.allocate_slab(index, owner);
    ASSERT_NE(fresh_slab, nullptr);
    slabs.push_back(fresh_slab);
    used_bytes += fresh_slab->units * unit_bytes;
    EXPECT_EQ(fresh_slab->units, pages::shapes.classes[index].units);
    EXPECT_EQ(fresh_slab->index, index);
    EXPECT_TRUE(fresh_slab->empty());
    EXPECT_TRUE(fresh_slab->is_valid());
    EXPECT_TRUE(base::is_aligned(fresh_slab->start, unit_bytes));
    EXPECT_EQ(detail::key_of(fresh_slab->start), owner | index);
    EXPECT_EQ(detail::key_of(fresh_slab->start + fresh_slab->units * unit_bytes - 1), owner | index);
    EXPECT_EQ(tested.used_bytes(), used_bytes);
    ASSERT_TRUE(tested.is_valid());
  }
  EXPECT_EQ(tested.peak_used_bytes(), used_bytes);
  for (slab* used_slab : slabs) {
    char* const start = used_slab->start;
    used_bytes -= used_slab->units * unit_bytes;
    tested.deallocate(used_slab);
    EXPECT_EQ(detail::key_of(start), 0u);
    EXPECT_EQ(tested.used_bytes(), used_bytes);
  }
  EXPECT_TRUE(tested.is_valid());
}

TEST_F(space_test, units_of_a_slab_serve_any_class_again) {
  configure_small();
  slab* const first = tested.allocate_slab(0, owner);
  char* const start = first->start;
  tested.deallocate(first);
  slab* const second = tested.allocate_slab(40, owner);
  EXPECT_EQ(second->start, start);
  EXPECT_TRUE(second->is_valid());
}

TEST_F(space_test, keeps_to_its_limit) {
  configure_small(10 * unit_bytes);
  const size_class index = detail::class_of(1'000);
  ASSERT_EQ(pages::shapes.classes[index].units, 1u);
  std::vector<slab*> slabs;
  for (int round = 0; round < 6; ++round) {
    slabs.push_back(tested.allocate_slab(index, owner));
    ASSERT_NE(slabs.back(), nullptr);
  }
  EXPECT_EQ(tested.allocate_large(5 * unit_bytes, unit_bytes, owner), nullptr);
  slab* const large = tested.allocate_large(4 * unit_bytes - 7, unit_bytes, owner);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(tested.used_bytes(), 10 * unit_bytes);
  EXPECT_EQ(tested.allocate_slab(index, owner), nullptr);
  EXPECT_FALSE(tested.resize_large(large, 5 * unit_bytes, owner));
  EXPECT_EQ(tested.used_bytes(), 10 * unit_bytes);
  EXPECT_EQ(tested.peak_used_bytes(), 10 * unit_bytes);
  ASSERT_TRUE(tested.is_valid());

  ASSERT_TRUE(tested.resize_large(large, 2 * unit_bytes, owner));
  EXPECT_NE(tested.allocate_slab(index, owner), nullptr);
  EXPECT_NE(tested.allocate_slab(index, owner), nullptr);
  EXPECT_EQ(tested.allocate_slab(index, owner), nullptr);
  tested.deallocate(large);
  EXPECT_NE(tested.allocate_slab(index, owner), nullptr);
  EXPECT_EQ(tested.used_bytes(), 9 * unit_bytes);
}

TEST_F(space_test, asks_for_little_after_a_refusal) {
  fake::fail_requests_from(1);
  EXPECT_EQ(tested.allocate_slab(0, owner), nullptr);
  const std::uint64_t first_requests = fake::page_requests();
  EXPECT_GT(first_requests, 5u) << "smaller and smaller segments";
  for (std::uint64_t round = 1; round <= 20; ++round) {
    EXPECT_EQ(tested.allocate_slab(0, owner), nullptr);
    EXPECT_EQ(fake::page_requests(), first_requests + round);
  }
  fake::fail_requests_from(0);
  const std::uint64_t requests = fake::page_requests();
  for (int round = 0; round < 50; ++round) ASSERT_NE(tested.allocate_slab(0, owner), nullptr);
  EXPECT_LE(fake::page_requests(), requests + 5) << "one small segment, then large ones";
}

TEST_F(space_test, a_refusal_of_much_does_not_concern_little) {
  fake::set_budget(platform::mapped_bytes() + 4_MiB);
  EXPECT_EQ(tested.allocate_large(8_MiB, unit_bytes, owner), nullptr);
  ASSERT_NE(tested.allocate_slab(0, owner), nullptr);
  const std::uint64_t requests = fake::page_requests();
  for (int round = 0; round < 20; ++round) ASSERT_NE(tested.allocate_slab(0, owner), nullptr);
  EXPECT_EQ(fake::page_requests(), requests) << "the segment was as large as the budget allows";
}

TEST_F(space_test, reserve_maps_and_touches_at_once) {
  for (const std::size_t bytes : {std::size_t{1}, 1_MiB, 10_MiB, 70_MiB}) {
    configure_small();
    fake::reset();
    ASSERT_TRUE(tested.reserve(bytes));
    const std::size_t rounded = base::align_up(bytes, unit_bytes);
    EXPECT_EQ(fake::prefaulted_bytes(), rounded);
    EXPECT_EQ(tested.used_bytes(), 0u);
    const std::size_t mapped = platform::mapped_bytes();
    const std::uint64_t calls = fake::kernel_calls();
    for (std::size_t had = 0; had < rounded; had += unit_bytes) ASSERT_NE(tested.allocate_slab(0, owner), nullptr);
    EXPECT_EQ(fake::kernel_calls(), calls) << bytes;
    EXPECT_EQ(platform::mapped_bytes(), mapped);
    tested.release_all(0);
  }
}

TEST_F(space_test, a_reserve_that_fails_keeps_nothing_after_release) {
  for (std::uint64_t n = 1;; ++n) {
    configure_small();
    fake::reset();
    fake::fail_request(n);
    const bool has_enough = tested.reserve(100_MiB);
    ASSERT_EQ(has_enough, fake::refused_requests() == 0 || fake::prefaulted_bytes() >= 100_MiB) << n;
    tested.release_all(0);
    ASSERT_EQ(fake::mappings(), before) << n;
    if (fake::refused_requests() == 0) break;
  }
}

TEST_F(space_test, a_reserve_that_does_not_fit_touches_nothing) {
  configure_small();
  fake::set_available_memory(50_MiB);
  EXPECT_FALSE(tested.reserve(50_MiB + 1));
  EXPECT_EQ(fake::prefaulted_bytes(), 0u);
  EXPECT_EQ(fake::mappings(), before);
  EXPECT_TRUE(tested.reserve(50_MiB));
  EXPECT_EQ(fake::prefaulted_bytes(), 50_MiB);
}

TEST_F(space_test, release_all_keeps_what_it_is_told_to_keep) {
  configure_small();
  for (const std::size_t kept_bytes : {std::size_t{0}, 4_MiB, 9_MiB}) {
    for (int round = 0; round < 200; ++round) ASSERT_NE(tested.allocate_slab(0, owner), nullptr);
    ASSERT_NE(tested.allocate_large(80_MiB, unit_bytes, owner), nullptr);
    tested.release_all(kept_bytes);
    EXPECT_EQ(tested.used_bytes(), 0u);
    EXPECT_TRUE(tested.is_valid());
    std::size_t mapped = 0;
    for (const fake::mapping& mapping : fake::mappings()) {
      mapped += std::find(before.begin(), before.end(), mapping) == before.end() ? mapping.bytes : 0;
    }
    EXPECT_LE(mapped, kept_bytes);
    EXPECT_GT(mapped + 4_MiB, kept_bytes);
  }
}

TEST_F(space_test, release_all_keeps_the_reserve) {
  configure_small();
  ASSERT_TRUE(tested.reserve(10_MiB));
  const auto reserved = fake::mappings();
  for (int round = 0; round < 500; ++round) ASSERT_NE(tested.allocate_slab(0, owner), nullptr);
  EXPECT_NE(fake::mappings(), reserved);
  tested.release_all(10_MiB);
  const auto mappings = fake::mappings();
  for (const fake::mapping& mapping : reserved) EXPECT_NE(std::ranges::find(mappings, mapping), mappings.end());
  tested.release_all(0);
  EXPECT_EQ(fake::mappings(), before);
}

TEST_F(space_test, advises_huge_pages_as_configured) {
  tested.configure({.asks_for_huge = true});
  ASSERT_NE(tested.allocate_slab(0, owner), nullptr);
  EXPECT_EQ(fake::huge_advices(true), 1u);
  EXPECT_EQ(fake::huge_advices(false), 0u);
  tested.release_all(0);
  tested.configure({.refuses_huge = true});
  ASSERT_NE(tested.allocate_slab(0, owner), nullptr);
  ASSERT_NE(tested.allocate_large(100_MiB, unit_bytes, owner), nullptr);
  EXPECT_EQ(fake::huge_advices(true), 1u);
  EXPECT_EQ(fake::huge_advices(false), 2u);
}

TEST_F(space_test, takes_a_smaller_segment_when_a_large_one_is_not_to_be_had) {
  fake::set_budget(platform::mapped_bytes() + 8_MiB);  // a segment wants 64
  slab* const fresh_slab = tested.allocate_slab(0, owner);
  ASSERT_NE(fresh_slab, nullptr);
  EXPECT_TRUE(tested.is_valid());
  ASSERT_NE(tested.allocate_large(1_MiB, unit_bytes, owner), nullptr);
  EXPECT_EQ(tested.allocate_large(16_MiB, unit_bytes, owner), nullptr);
  EXPECT_TRUE(tested.is_valid());
}

// The space may be anywhere, wherever the program's own reservations push it. (Below these addresses AddressSanitizer
// has its shadow.)
TEST_F(space_test, memory_at_any_address_can_be_used) {
  compares_mappings = false;  // leaves of the page map stay
  for (const std::uintptr_t address : {std::uintptr_t{2} << 44, std::uintptr_t{3} << 44, std::uintptr_t{5} << 44}) {
    fake::map_near(reinterpret_cast<void*>(address));
    slab* const large = tested.allocate_large(100_MiB, unit_bytes, owner);
    ASSERT_NE(large, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large->start), address);
    EXPECT_EQ(detail::key_of(large->start), owner | pages::large_mark);
  }
  tested.release_all(0);
}

TEST_F(space_test, keeps_to_the_limit_of_the_process) {
  space second_space;
  second_space.configure({.segment_units = 64, .alignment = unit_bytes, .purge = pages::purging::never});
  configure_small();
  space::limit_process(10 * unit_bytes);
  slab* const own_block = tested.allocate_large(6 * unit_bytes, unit_bytes, owner);
  ASSERT_NE(own_block, nullptr);
  EXPECT_EQ(second_space.allocate_large(5 * unit_bytes, unit_bytes, owner), nullptr);
  slab* const block = second_space.allocate_large(4 * unit_bytes, unit_bytes, owner);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(tested.allocate_slab(0, owner), nullptr);
  EXPECT_FALSE(second_space.resize_large(block, 5 * unit_bytes, owner));
  ASSERT_TRUE(tested.resize_large(own_block, unit_bytes, owner));
  ASSERT_TRUE(second_space.resize_large(block, 9 * unit_bytes, owner));
  EXPECT_EQ(tested.allocate_slab(0, owner), nullptr);
  second_space.release_all(0);
  EXPECT_NE(tested.allocate_large(9 * unit_bytes, unit_bytes, owner), nullptr);
  EXPECT_EQ(tested.allocate_slab(0, owner), nullptr);
  tested.release_all(0);
  space::limit_process(0);
}

// Random slabs and large blocks: every byte range that is handed out belongs to exactly one.
TEST_F(space_test, random_operations_never_overlap) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    if (seed % 2 == 0) {
      configure_small(seed % 4 == 0 ? 40_MiB : 0);
    } else {
      tested.configure({});
    }
    std::map<char*, slab*> live;
    std::size_t used_bytes = 0;
    const auto add = [&](slab* added) {
      if (added == nullptr) return;
      const auto [position, is_new] = live.emplace(added->start, added);
      ASSERT_TRUE(is_new);
      char* const end = added->start + added->units * unit_bytes;
      ASSERT_TRUE(std::next(position) == live.end() || end <= std::next(position)->first);
      ASSERT_TRUE(position == live.begin() ||
                  std::prev(position)->first + std::prev(position)->second->units * unit_bytes <= added->start);
      added->start[0] = 1;
      end[-1] = 1;
      used_bytes += added->units * unit_bytes;
    };
    for (int round = 0; round < 600; ++round) {
      auto victim = live.begin();
      std::advance(victim, live.empty() ? 0 : random() % live.size());
      switch (random() % 8) {
        case 0:
        case 1:
        case 2: add(tested.allocate_slab(static_cast<size_class>(random() % class_count), owner)); break;
        case 3:
          add(tested.allocate_large(random() % (random() % 5 == 0 ? 60_MiB : 2_MiB), unit_bytes << random() % 4,
                                    owner));
          break;
        case 4:
          if (victim != live.end() && victim->second->index == class_count) {
            slab* const block = victim->second;
            used_bytes -= block->units * unit_bytes;
            live.erase(victim);
            slab* const resized = tested.resize_large(block, 1 + random() % 4_MiB, owner);
            add(resized != nullptr ? resized : block);
          }
          break;
        case 5:
          fake::advance_ms(100);
          tested.purge(platform::now_ms(), 200);
          break;
        default:
          if (victim != live.end()) {
            used_bytes -= victim->second->units * unit_bytes;
            tested.deallocate(victim->second);
            live.erase(victim);
          }
          break;
      }
      ASSERT_EQ(tested.used_bytes(), used_bytes);
      ASSERT_TRUE(round % 10 != 0 || tested.is_valid());
    }
    for (const auto& [start, run] : live) tested.deallocate(run);
    ASSERT_EQ(tested.used_bytes(), 0u);
    ASSERT_TRUE(tested.is_valid());
    tested.release_all(0);
    ASSERT_EQ(fake::mappings(), before);
  }
}

// Tries all operations of a space with the n-th page request failing.
TEST_F(space_test, leaves_nothing_whichever_request_fails) {
  char* mark = nullptr;
  for (std::uint64_t n = 1;; ++n) {
    for (int round = 0; round < 2; ++round) {  // the first may need records that the second reuses
      mark = static_cast<char*>(pages::metadata::allocate(1, 1));
      configure_small();
      fake::reset();
      fake::fail_request(n);
      static_cast<void>(tested.reserve(1_MiB));
      std::vector<slab*> runs;
      for (size_class index = 0; index < class_count; index += 9) runs.push_back(tested.allocate_slab(index, owner));
      for (const std::size_t bytes : {300_KiB, 5_MiB, 40_MiB, 90_MiB}) {
        runs.push_back(tested.allocate_large(bytes, 1_MiB, owner));
      }
      for (const std::size_t bytes : {600_KiB, 45_MiB, 10_MiB, 120_MiB}) {
        if (runs.back() != nullptr) {
          const std::size_t old = runs.back()->units * unit_bytes;
          std::memset(runs.back()->start, 7, 100);
          const bool is_resized = tested.resize_large(runs.back(), bytes, owner);
          ASSERT_EQ(runs.back()->units * unit_bytes, is_resized ? base::align_up(bytes, unit_bytes) : old);
          ASSERT_EQ(runs.back()->start[99], 7);
          ASSERT_EQ(detail::key_of(runs.back()->start), owner | pages::large_mark);
        }
        ASSERT_TRUE(tested.is_valid()) << n;
      }
      for (slab* run : runs) {
        if (run != nullptr) tested.deallocate(run);
      }
      ASSERT_EQ(tested.used_bytes(), 0u) << n;
      ASSERT_TRUE(tested.is_valid()) << n;
      tested.release_all(0);
      ASSERT_EQ(fake::mappings(), before) << n;
    }
    EXPECT_EQ(pages::metadata::allocate(1, 1), mark + 1) << "records were lost when request " << n << " failed";
    if (fake::refused_requests() == 0) break;
  }
}

}  // namespace
}  // namespace space_tests
