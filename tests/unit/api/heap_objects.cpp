// Tests tarn::heap as an object.
#include <sys/mman.h>
#include <tarn/heap.hpp>

#include <list>
#include <memory_resource>
#include <string>

#include "base/options.hpp"
#include "front_fixture.hpp"
#include "memory/api/heap_access.hpp"
#include "memory/heap/heap.hpp"

namespace front_tests {
namespace {

using tarn::heap;
using tarn::heap_options;
using tarn::heap_statistics;

using heap_object = front_test;

TEST_F(heap_object, gives_every_size_at_every_alignment) {
  heap lane;
  for (std::size_t alignment = 1; alignment <= 4_MiB; alignment *= 2) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{100}, 5'000ul, 64_KiB,
                                    256_KiB, 256_KiB + 1, 3_MiB}) {
      void* const block = lane.allocate(bytes, alignment);
      ASSERT_NE(block, nullptr);
      EXPECT_TRUE(tarn::base::is_aligned(block, alignment)) << bytes << " at " << alignment;
      EXPECT_EQ(tarn::owner_of(block), &lane);
      std::memset(block, 1, bytes);
      lane.deallocate(block, bytes, alignment);
    }
  }
  EXPECT_TRUE(lane.is_valid());
}

TEST_F(heap_object, deallocates_with_and_without_sizes) {
  heap lane;
  for (const std::size_t bytes : {16, 100, 5'000, 300'000}) {
    lane.deallocate(lane.allocate(bytes), bytes);
    lane.deallocate(lane.allocate(bytes));
    lane.deallocate(lane.try_allocate(bytes), bytes);
  }
  lane.deallocate(nullptr);
  lane.deallocate(nullptr, 100);
  EXPECT_TRUE(lane.is_valid());
}

TEST_F(heap_object, keeps_to_its_limit) {
  heap lane({.name = "small", .limit = 1_MiB});
  std::vector<void*> blocks;
  while (void* const block = lane.try_allocate(10'000)) blocks.push_back(block);
  EXPECT_GT(blocks.size() * 10'000, 700'000u);
  EXPECT_LE(lane.statistics().footprint_bytes, 1_MiB);
  EXPECT_THROW(static_cast<void>(lane.allocate(10'000)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(lane.allocate(500'000)), std::bad_alloc);
  lane.deallocate(blocks.back());
  EXPECT_NE(lane.try_allocate(10'000), nullptr);
  lane.release();
  EXPECT_NE(lane.try_allocate(1_MiB), nullptr);
  EXPECT_EQ(lane.try_allocate(16), nullptr);
}

TEST_F(heap_object, refuses_the_absurd) {
  heap lane;
  for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} / 2, std::size_t{1} << 60}) {
    EXPECT_EQ(lane.try_allocate(bytes), nullptr);
    EXPECT_EQ(lane.try_allocate(bytes, 4096), nullptr);
    EXPECT_THROW(static_cast<void>(lane.allocate(bytes)), std::bad_alloc);
  }
  EXPECT_EQ(lane.try_allocate(16, std::size_t{1} << 62), nullptr);
  EXPECT_TRUE(lane.is_valid());
}

TEST_F(heap_object, initial_memory_is_there_at_once) {
  heap lane({.initial = 5_MiB});
  EXPECT_GE(fake::prefaulted_bytes(), 5_MiB);
  const std::uint64_t calls = fake::kernel_calls();
  std::size_t had = 0;
  for (; had < 4_MiB; had += 1'024) ASSERT_NE(lane.try_allocate(1'000), nullptr);
  EXPECT_EQ(fake::kernel_calls(), calls);
  lane.release();
  for (had = 0; had < 4_MiB; had += 64_KiB) ASSERT_NE(lane.try_allocate(64_KiB), nullptr);
  EXPECT_EQ(fake::kernel_calls(), calls) << "release() gave initial memory away";
}

TEST_F(heap_object, initial_memory_ends_at_the_limit) {
  const std::size_t before = fake::prefaulted_bytes();
  heap lane({.initial = 64_MiB, .limit = 1_MiB});
  EXPECT_LE(fake::prefaulted_bytes() - before, 1_MiB + 512_KiB) << "with its records";
  EXPECT_NE(lane.try_allocate(900'000), nullptr);
  EXPECT_EQ(lane.try_allocate(900'000), nullptr);
}

TEST_F(heap_object, increment_is_mapped_at_once) {
  for (const std::size_t increment : {0_MiB, 1_MiB, 16_MiB}) {
    heap lane({.increment = increment});
    const std::size_t before = platform::mapped_bytes();
    static_cast<void>(lane.allocate(100));
    const std::size_t step = increment == 0 ? 4_MiB : increment;
    EXPECT_GE(platform::mapped_bytes() - before, step);
    EXPECT_LE(platform::mapped_bytes() - before, step + 1_MiB);
  }
}

TEST_F(heap_object, cannot_be_made_without_memory_for_its_start) {
  const auto before = fake::mappings();
  const auto heaps = tarn::heaps::registry::count().heaps;
  fake::set_budget(platform::mapped_bytes() + 3_MiB);
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(heap lane({.initial = 5_MiB}), std::bad_alloc);
  }
  EXPECT_EQ(fake::mappings(), before);
  EXPECT_THROW(heap lane({.initial = std::size_t{1} << 60}), std::bad_alloc);
  fake::set_budget(0);
  const heap lane({.initial = 5_MiB});
  EXPECT_LE(tarn::heaps::registry::count().heaps, heaps + 1);
}

TEST_F(heap_object, destruction_returns_all_it_had) {
  { heap warm; }
  const auto before = fake::mappings();
  {
    heap lane({.initial = 2_MiB});
    for (const std::size_t bytes : {16, 1'000, 50'000, 1'000'000, 50'000'000}) {
      for (int round = 0; round < 10; ++round) static_cast<void>(lane.allocate(bytes));
    }
    EXPECT_GT(fake::mappings().size(), before.size());
  }
  EXPECT_EQ(fake::mappings(), before);
}

TEST_F(heap_object, release_frees_everything_at_once) {
  heap lane;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::pair<char*, std::size_t>> filled_blocks;
    for (std::size_t bytes = 16; bytes < 3_MiB; bytes += bytes / 2) {
      filled_blocks.emplace_back(static_cast<char*>(lane.allocate(bytes)), bytes);
      std::memset(filled_blocks.back().first, round, bytes);
    }
    for (const auto& [block, bytes] : filled_blocks) ASSERT_TRUE(is_filled(block, bytes, round));
    lane.release();
    EXPECT_EQ(lane.statistics().footprint_bytes, 0u);
    EXPECT_EQ(lane.statistics().used_bytes, 0u);
    EXPECT_TRUE(lane.is_valid());
    EXPECT_EQ(tarn::owner_of(filled_blocks[0].first), nullptr);
  }
}

TEST_F(heap_object, any_thread_may_free) {
  heap lane;
  std::vector<void*> blocks;
  for (std::size_t bytes = 16; bytes < 2_MiB; bytes += bytes / 3) {
    for (int round = 0; round < 20; ++round) blocks.push_back(lane.allocate(bytes));
  }
  std::thread([&] {
    for (void* block : blocks) tarn::current_heap().deallocate(block);
    tarn::api::trim();
  }).join();
  for (int round = 0; round < 2'000; ++round) {  // refills drain the inbox
    static_cast<void>(lane.allocate(64));
  }
  EXPECT_GT(lane.statistics().remote_frees, 0u);
  EXPECT_EQ(lane.statistics().large_blocks, 0u);
  EXPECT_TRUE(lane.is_valid());
}

TEST_F(heap_object, its_destruction_does_not_wait_for_frees_on_their_way) {
  worker second_thread;
  for (int round = 0; round < 3; ++round) {
    heap lane;
    void* const block = lane.allocate(100);
    second_thread.run([=] { tarn::current_heap().deallocate(block); });  // marked in the slab, which nobody checks
  }
  heap second_lane;
  std::vector<void*> blocks;
  for (int round = 0; round < 1'000; ++round) blocks.push_back(second_lane.allocate(100));
  second_thread.run([&] {
    tarn::current_heap().deallocate(blocks[0]);
    tarn::api::trim();
  });
  for (int round = 0; round < 5'000; ++round) static_cast<void>(second_lane.allocate(100));
  EXPECT_TRUE(second_lane.is_valid());
  EXPECT_EQ(second_lane.statistics().remote_frees, 1u);
}

TEST_F(heap_object, counts_what_it_is_asked_to_count) {
  heap lane({.counts_calls = true});
  std::vector<void*> blocks;
  for (int round = 0; round < 100; ++round) blocks.push_back(lane.allocate(100));
  void* const large = lane.allocate(1_MiB);
  for (int round = 0; round < 40; ++round) {
    lane.deallocate(blocks.back(), 100);
    blocks.pop_back();
  }
  lane.deallocate(large);
  const heap_statistics now = lane.statistics();
  EXPECT_EQ(now.allocated_blocks, 101u);
  EXPECT_EQ(now.allocated_bytes, 100u * 112 + 1_MiB);
  EXPECT_EQ(now.freed_blocks, 41u);
  EXPECT_EQ(now.freed_bytes, 40u * 112 + 1_MiB);
  EXPECT_EQ(now.large_blocks, 0u);
  EXPECT_GE(now.used_bytes, 60u * 112);
  EXPECT_GE(now.peak_footprint_bytes, 1_MiB);
}

TEST_F(heap_object, says_that_it_counts_no_calls_unless_asked) {
  heap lane;
  static_cast<void>(lane.allocate(100));
  EXPECT_FALSE(lane.statistics().counts_calls);
  EXPECT_EQ(lane.statistics().allocated_blocks, 0u);
  heap_statistics sum;
  EXPECT_FALSE((sum += lane.statistics()).counts_calls);
  EXPECT_TRUE((sum += heap({.counts_calls = true}).statistics()).counts_calls);
  EXPECT_FALSE(lane.statistics().counts_calls) << "a record that counted serves another heap";
}

/// Counts the resident pages of the records of heaps.
std::size_t resident_pages(const std::vector<tarn::detail::heap_front*>& records) {
  const std::size_t page = tarn::platform::page_bytes();
  std::size_t pages = 0;
  for (tarn::detail::heap_front* const record : records) {
    unsigned char states[(sizeof(tarn::heaps::heap) + 4095) / 4096] = {};
    EXPECT_EQ(mincore(record, std::size(states) * page, states), 0);
    for (const unsigned char state : states) pages += state & 1U;
  }
  return pages;
}

TEST_F(heap_object, many_that_have_ended_keep_few_pages) {
  constexpr std::size_t count = 200;
  for (int round = 0; round < 2; ++round) {
    std::list<heap> lanes(count);
    for (heap& lane : lanes) {
      for (std::size_t bytes = 16; bytes < 100'000; bytes *= 2) lane.deallocate(lane.allocate(bytes), bytes);
      EXPECT_TRUE(lane.is_valid()) << "a new one in round 0, then one whose pages were given back";
    }
    std::vector<tarn::detail::heap_front*> records;
    for (heap& lane : lanes) records.push_back(tarn::heap_access::front_of(lane));
    EXPECT_GE(resident_pages(records), count * 2);
    lanes.clear();
    EXPECT_LE(resident_pages(records), count + 2 * 16) << "a page of each, and all of some";
  }
}

TEST_F(heap_object, has_a_name) {
  EXPECT_STREQ(heap().name(), "");
  EXPECT_STREQ(heap({.name = nullptr}).name(), "");
  EXPECT_STREQ(heap({.name = "parser"}).name(), "parser");
  EXPECT_STREQ(heap({.name = "exactly-23-bytes-in-all"}).name(), "exactly-23-bytes-in-all");
  EXPECT_STREQ(heap({.name = "more-than-23-bytes-in-all"}).name(), "more-than-23-bytes-in-a");
  EXPECT_STREQ(heap().name(), "");
}

TEST_F(heap_object, is_a_memory_resource) {
  heap lane({.counts_calls = true});
  {
    std::pmr::list<std::pmr::string> lines(&lane);
    for (int line = 0; line < 500; ++line) {
      lines.emplace_back("a line that is too long for the string itself, " + std::to_string(line));
    }
    EXPECT_GE(lane.statistics().allocated_blocks, 1'000u);
    EXPECT_EQ(tarn::owner_of(&lines.front()), &lane);
    EXPECT_EQ(tarn::owner_of(lines.back().data()), &lane);
  }
  EXPECT_EQ(lane.statistics().allocated_blocks, lane.statistics().freed_blocks);
  heap second_heap;
  std::pmr::memory_resource& first = lane;
  EXPECT_TRUE(first.is_equal(lane));
  EXPECT_FALSE(first.is_equal(second_heap));
  EXPECT_THROW(static_cast<void>(first.allocate(std::size_t{1} << 60, 16)), std::bad_alloc);
  void* const block = first.allocate(64, 128);
  EXPECT_TRUE(tarn::base::is_aligned(block, 128));
  first.deallocate(block, 64, 128);
}

constexpr std::size_t freed_blocks = 40;
void allocate_and_free(heap& lane, std::size_t bytes = 8_MiB) {
  std::vector<void*> blocks;
  for (std::size_t round = 0; round < freed_blocks; ++round) blocks.push_back(lane.allocate(bytes));
  for (void* block : blocks) lane.deallocate(block);
}
// A pair of calls of the slow path now and then: somebody comes by.
void wait_for_purges(heap& lane) {
  for (int half_delay = 0; half_delay < 4; ++half_delay) {
    fake::advance_ms(tarn::base::current_options().purge_delay_ms / 2);
    lane.deallocate(lane.allocate(300'000));
  }
}

TEST_F(heap_object, what_is_freed_in_bulk_goes_back_at_once) {
  heap lane;
  const std::uint64_t before = platform::purge_totals().bytes;
  allocate_and_free(lane);
  EXPECT_GE(platform::purge_totals().bytes - before, freed_blocks * 8_MiB - 24_MiB);
  EXPECT_TRUE(lane.is_valid());
}

TEST_F(heap_object, what_is_freed_goes_back_after_the_delay) {
  for (const std::size_t bytes : {100'000ul, 300'000ul}) {
    heap lane;
    const std::uint64_t before = platform::purge_totals().bytes;
    allocate_and_free(lane, bytes);
    EXPECT_EQ(platform::purge_totals().bytes, before) << "too little to go at once";
    wait_for_purges(lane);
    EXPECT_GE(platform::purge_totals().bytes - before, freed_blocks * bytes * 3 / 4) << bytes;
    EXPECT_TRUE(lane.is_valid());
  }
}

TEST_F(heap_object, one_that_keeps_gives_nothing_back_until_it_is_trimmed) {
  heap lane({.keeps_memory = true});
  const std::uint64_t before = platform::purge_totals().bytes;
  allocate_and_free(lane);
  wait_for_purges(lane);
  EXPECT_EQ(platform::purge_totals().bytes, before);
  EXPECT_GE(lane.trim(), freed_blocks * 8_MiB);
  EXPECT_GE(platform::purge_totals().bytes - before, freed_blocks * 8_MiB);
  allocate_and_free(lane);
  EXPECT_TRUE(lane.is_valid());
}

TEST_F(heap_object, trim_gives_back_all_that_is_free) {
  heap lane;
  void* const block = lane.allocate(100'000);
  std::memset(block, 7, 100'000);
  allocate_and_free(lane, 100'000);
  EXPECT_GE(lane.trim(), freed_blocks * 100'000 * 3 / 4) << "pages of slabs with blocks in use stay";
  EXPECT_EQ(lane.trim(), 0u);
  EXPECT_TRUE(is_filled(block, 100'000, 7));
  lane.deallocate(block);
  EXPECT_TRUE(lane.is_valid());
}

TEST_F(heap_object, initial_memory_stays_until_it_is_trimmed) {
  heap lane({.initial = 8_MiB});
  const std::uint64_t before = platform::purge_totals().bytes;
  for (int round = 0; round < 6; ++round) {
    lane.deallocate(lane.allocate(6_MiB));
    wait_for_purges(lane);
  }
  EXPECT_EQ(platform::purge_totals().bytes, before);
  EXPECT_GE(lane.trim(), 6_MiB);
}

TEST_F(heap_object, trim_works_on_a_threads_heap_and_on_the_global_one) {
  const std::uint64_t before = platform::purge_totals().bytes;
  tarn::current_heap().deallocate(tarn::current_heap().allocate(5_MiB));
  EXPECT_GE(tarn::current_heap().trim(), 5_MiB);
  tarn::process_heap().deallocate(tarn::process_heap().allocate(5_MiB));
  EXPECT_GE(tarn::process_heap().trim(), 5_MiB);
  EXPECT_GE(platform::purge_totals().bytes - before, 10_MiB);
}

TEST_F(heap_object, many_leave_no_records_behind) {
  char* mark = nullptr;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::unique_ptr<heap>> lanes;
    for (int number = 0; number < 5; ++number) {
      lanes.push_back(std::make_unique<heap>(heap_options{.increment = 1_MiB}));
      std::memset(lanes.back()->allocate(5'000), number, 5'000);
    }
    if (round == 2) mark = static_cast<char*>(tarn::pages::metadata::allocate(1, 1));
  }
  EXPECT_EQ(tarn::pages::metadata::allocate(1, 1), mark + 1) << "records pile up";
}

TEST_F(heap_object, says_when_it_is_broken) {
  heap lane;
  void* const block = lane.allocate(64);
  ASSERT_TRUE(lane.is_valid());
  tarn::heaps::heap& inner = *tarn::heaps::owner_in(tarn::detail::key_of(block));
  ++inner.classes[3].full_magazines.count;
  EXPECT_FALSE(lane.is_valid());
  --inner.classes[3].full_magazines.count;
  tarn::pages::slab& home = *tarn::pages::page_map::slab_of(block);
  ++home.home->free_units;
  EXPECT_FALSE(lane.is_valid());
  --home.home->free_units;
  EXPECT_TRUE(lane.is_valid());
}

}  // namespace
}  // namespace front_tests
