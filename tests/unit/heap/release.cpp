// Tests release(), which frees everything at once, and the reuse of a heap's record.
#include "heap_fixture.hpp"

namespace heap_tests {
namespace {

class release_test : public heap_test {
 protected:
  static void fill(heap& tested, live_blocks& live) {
    for (size_class index = 0; index < class_count; ++index) {
      for (int round = 0; round < 20; ++round) {
        ASSERT_NO_FATAL_FAILURE(live.add(allocate(tested, index), size_of(index)));
      }
    }
    for (const std::size_t bytes : {300_KiB, 50_MiB}) {
      ASSERT_NO_FATAL_FAILURE(live.add(tested.allocate_large(bytes, 16, nullptr), bytes));
    }
  }
  static void expect_nothing(heap& tested) {
    EXPECT_TRUE(tested.is_valid());
    const heap_statistics now = tested.statistics();
    EXPECT_EQ(now.used_bytes, 0u);
    EXPECT_EQ(now.slabs, 0u);
    EXPECT_EQ(now.slab_bytes, 0u);
    EXPECT_EQ(now.large_blocks, 0u);
    EXPECT_EQ(now.large_bytes, 0u);
    EXPECT_EQ(now.footprint_bytes, 0u);
  }
};

TEST_F(release_test, frees_everything_and_the_heap_goes_on) {
  heap& tested = make();
  for (int round = 0; round < 3; ++round) {
    live_blocks live;
    ASSERT_NO_FATAL_FAILURE(fill(tested, live));
    tested.release();
    expect_nothing(tested);
    EXPECT_EQ(tested.space->used_bytes(), 0u);
  }
}

TEST_F(release_test, a_class_that_has_decayed_is_released_too) {
  heap& tested = make();
  static_cast<void>(allocate(tested, class_of(64)));  // stays in use
  for (int half_delays = 0; half_delays < 5; ++half_delays) {
    fake::advance_ms(250);
    tick(tested, 40);
  }
  ASSERT_EQ(tested.classes[class_of(64)].front, nullptr);
  tested.release();
  expect_nothing(tested);
  live_blocks live;
  ASSERT_NO_FATAL_FAILURE(fill(tested, live));
  ASSERT_NO_FATAL_FAILURE(live.add(allocate(tested, class_of(64)), 64));
}

// The count of posts decides whether the helper that purges is worth its start.
TEST_F(release_test, posts_of_other_threads_are_forgotten) {
  heap& tested = make();
  heap& sender = make();
  for (int round = 0; round < 3; ++round) {
    give(sender, allocate(tested, class_of(64)));
    ASSERT_EQ(tested.posts.load(), 1u) << "frees of a heap object's blocks do not wait";
    tested.release();
    EXPECT_EQ(tested.posts.load(), 0u);
  }
}

TEST_F(release_test, a_flushed_heap_is_released_too) {
  heap& tested = make();
  live_blocks live;
  ASSERT_NO_FATAL_FAILURE(fill(tested, live));
  tested.flush_all();
  tested.release();
  expect_nothing(tested);
  live.clear();
  ASSERT_NO_FATAL_FAILURE(fill(tested, live));
}

TEST_F(release_test, a_counting_heap_counts_what_was_released) {
  heap& tested = make();
  tested.add_trait(heaps::heap_trait::counting);
  live_blocks live;
  ASSERT_NO_FATAL_FAILURE(fill(tested, live));
  give(tested, live.remove(7));
  tested.flush_all();
  tested.release();
  const heap_statistics now = tested.statistics();
  EXPECT_EQ(now.allocated_blocks, class_count * 20 + 2);
  EXPECT_EQ(now.freed_blocks, now.allocated_blocks);
  EXPECT_EQ(now.freed_bytes, now.allocated_bytes);
}

TEST_F(release_test, the_eager_part_stays_mapped) {
  heap& tested = make();
  ASSERT_TRUE(tested.space->reserve(2_MiB));
  tested.eager_bytes = 2_MiB;
  const auto reserved = fake::mappings();
  live_blocks live;
  ASSERT_NO_FATAL_FAILURE(fill(tested, live));
  tested.release();
  EXPECT_EQ(fake::mappings(), reserved);
  const std::uint64_t calls = fake::kernel_calls();
  for (int round = 0; round < 10'000; ++round) ASSERT_NE(allocate(tested, class_of(128)), nullptr);
  EXPECT_EQ(fake::kernel_calls(), calls);
}

// Frees from before the release that arrive later are void: their blocks may belong to somebody else by now.
TEST_F(release_test, frees_of_before_are_void) {
  heap& owner = make();
  heap& sender = make();
  const size_class index = class_of(64);
  for (const bool was_sent : {true, false}) {
    std::vector<void*> old;
    for (std::size_t round = 0; round < 5 * heaps::remote_batch::capacity / 2; ++round) {
      old.push_back(allocate(owner, index));
    }
    for (void* block : old) give(sender, block);
    if (was_sent) sender.send_all();
    owner.release();
    live_blocks live;
    for (std::size_t round = 0; round < old.size(); ++round) {  // the same addresses again
      ASSERT_NO_FATAL_FAILURE(live.add(allocate(owner, index), 64));
    }
    give(sender, live.remove(0));  // a new block, freed by a thread that holds earlier frees
    sender.send_all();
    owner.collect();
    EXPECT_TRUE(owner.is_valid());
    expect_in_use(owner, live.bytes());
    for (int round = 0; round < 1'000; ++round) {
      ASSERT_NO_FATAL_FAILURE(live.add(allocate(owner, index), 64)) << "a void free was taken for a real one";
    }
    owner.release();
  }
}

TEST_F(release_test, a_record_in_its_second_life_knows_nothing_of_the_first) {
  pages::space space;
  heap* const first = heaps::registry::create(space, "a name that is longer than there is room for");
  first->add_trait(heaps::heap_trait::counting);
  first->add_trait(heaps::heap_trait::forbids_remote_frees);
  live_blocks live;
  ASSERT_NO_FATAL_FAILURE(fill(*first, live));
  const heap_statistics past = heaps::registry::ended_statistics();
  first->release();
  heaps::registry::destroy(first);
  space.release_all(0);
  EXPECT_EQ(heaps::registry::ended_statistics().allocated_blocks, past.allocated_blocks + live.size());
  EXPECT_EQ(heaps::registry::ended_statistics().freed_blocks, past.freed_blocks + live.size());

  heap& second = make();
  ASSERT_EQ(&second, first);
  EXPECT_STREQ(second.name, "tested");
  EXPECT_FALSE(second.policy.is_closed() || second.policy.forbids_remote_frees());
  EXPECT_EQ(second.resource, nullptr);
  const heap_statistics now = second.statistics();
  EXPECT_EQ(now.allocated_blocks, 0u);
  EXPECT_EQ(now.freed_blocks, 0u);
  EXPECT_EQ(now.allocated_bytes, 0u);
  EXPECT_EQ(now.remote_frees, 0u);
  EXPECT_EQ(now.refills, 0u);
  EXPECT_EQ(now.flushes, 0u);
  EXPECT_EQ(now.peak_footprint_bytes, 0u);
  second.add_trait(heaps::heap_trait::counting);
  EXPECT_EQ(second.statistics().allocated_blocks, 0u);
  EXPECT_EQ(second.statistics().allocated_bytes, 0u);
}

TEST_F(release_test, records_do_not_pile_up) {
  pages::space space;
  char* now = nullptr;
  for (int round = 0; round < 50; ++round) {
    heap* const tested = heaps::registry::create(space, "tested");
    live_blocks live;
    ASSERT_NO_FATAL_FAILURE(fill(*tested, live));
    tested->release();
    heaps::registry::destroy(tested);
    space.release_all(0);
    if (round == 0) now = static_cast<char*>(pages::metadata::allocate(1, 1));
  }
  EXPECT_EQ(pages::metadata::allocate(1, 1), now + 1);
}

}  // namespace
}  // namespace heap_tests
