// Blocks that are freed for an owner who does not come.
#include "central_fixture.hpp"

namespace heap_tests {
namespace {

using set_aside_test = central_heap_test;

constexpr std::size_t much = 4 * heaps::first_most_sent_bytes + 16_MiB / (TARN_SMALL ? 64 : 1);

TEST_F(set_aside_test, pages_of_blocks_that_wait_go_back) {
  heap& sleeping = start();
  heap& other = start();
  for (const size_class index : {class_of(48), class_of(640), class_of(20000)}) {
    const auto all = many(sleeping, index, much / size_of(index));
    const std::uint64_t arrived = sleeping.statistics().remote_frees;
    const std::uint64_t before = platform::purged().bytes;
    for (void* each : all) {
      give(other, each);
    }
    other.send_all();
    const std::uint64_t gone = platform::purged().bytes - before;
    EXPECT_GE(gone, much - 2 * heaps::first_most_sent_bytes) << index;
    EXPECT_LE(gone, much + much / 4) << index;
    EXPECT_FALSE(sleeping.aside.empty());
    // Nothing of it is lost: the owner finds it, and needs no new memory for as much again.
    sleeping.collect();
    EXPECT_TRUE(sleeping.aside.empty());
    EXPECT_TRUE(sleeping.is_valid());
    EXPECT_EQ(sleeping.statistics().remote_frees, arrived + all.size());
    sleeping.most_sent_bytes = heaps::first_most_sent_bytes;
    sleeping.flush_all();
    EXPECT_EQ(heaps::central().used_bytes(), 0u);
  }
}

TEST_F(set_aside_test, a_slab_with_a_block_in_use_keeps_its_pages) {
  heap& sleeping = start();
  heap& other = start();
  const size_class index = class_of(1024);
  const auto all = many(sleeping, index, much / 1024);
  live_blocks kept;
  for (std::size_t at = 0; at < all.size(); at += 40) {  // one in each slab, at least
    kept.add(all[at], 1024);
  }
  const std::uint64_t before = platform::purged().bytes;
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (at % 40 != 0) {
      give(other, all[at]);
    }
  }
  other.send_all();
  EXPECT_FALSE(sleeping.aside.empty());
  EXPECT_EQ(platform::purged().bytes, before);
  while (kept.size() != 0) {
    give(other, kept.remove(0));  // looks at the contents
  }
}

TEST_F(set_aside_test, an_owner_that_comes_gets_more_time) {
  heap& slow = start();
  heap& other = start();
  const size_class index = class_of(512);
  for (const int times : {1, 2}) {
    EXPECT_EQ(slow.most_sent_bytes.load(), times * heaps::first_most_sent_bytes);
    const auto all = many(slow, index, times * heaps::first_most_sent_bytes / 512 + 600);
    for (void* each : all) {
      give(other, each);
    }
    other.send_all();
    EXPECT_FALSE(slow.aside.empty());
    slow.collect();
  }
}

TEST_F(set_aside_test, what_is_set_aside_reaches_an_idle_heap_and_the_next_owner) {
  heap& leaving = start();
  heap& other = start();
  const size_class index = class_of(256);
  const auto all = many(leaving, index, much / 256);
  for (void* each : all) {
    give(other, each);
  }
  other.send_all();
  ASSERT_FALSE(leaving.aside.empty());
  end(leaving);  // takes it in
  EXPECT_TRUE(leaving.aside.empty());
  EXPECT_TRUE(leaving.is_valid());
  EXPECT_EQ(leaving.statistics().used_bytes, 0u);
}

// More arrays than a heap keeps go on to the process, whose lock is none to take under that of the counts: who forks
// takes the two in the other order. Builds with TARN_CHECKS end here if they are taken so (platform/lock_rank.hpp).
TEST_F(set_aside_test, arrays_left_over_go_to_the_process) {
  heap& sleeping = start();
  heap& other = start();
  constexpr std::size_t waiting = 8_MiB;
  sleeping.most_sent_bytes = waiting;
  const std::uint64_t arrived = sleeping.statistics().remote_frees;
  const size_class index = class_of(20000);
  const auto all = many(sleeping, index, waiting / size_of(index) + 8);
  for (void* each : all) {
    give(other, each);
  }
  other.send_all();
  EXPECT_FALSE(sleeping.aside.empty());
  EXPECT_TRUE(other.is_valid());
  sleeping.collect();
  EXPECT_EQ(sleeping.statistics().remote_frees, arrived + all.size());
}

// What the program still holds of a heap object's memory may be gone before the parcels.
TEST_F(set_aside_test, heap_objects_are_left_alone) {
  heap& object = make();
  heap& other = start();
  const size_class index = class_of(512);
  const std::uint64_t before = platform::purged().bytes;
  std::vector<void*> all;
  for (std::size_t bytes = 0; bytes < much; bytes += 512) {
    all.push_back(allocate(object, index));
  }
  for (void* each : all) {
    give(other, each);
  }
  other.send_all();
  EXPECT_TRUE(object.aside.empty());
  EXPECT_EQ(platform::purged().bytes, before);
}

}  // namespace
}  // namespace heap_tests
