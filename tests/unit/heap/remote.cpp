// Blocks that another heap's thread frees: outbox, parcels, inbox. One thread plays all parts, so that the order is
// known; tests/stress has many.
#include "heap_fixture.hpp"

#include <thread>

namespace heap_tests {
namespace {

class remote_test : public heap_test {
 protected:
  static std::vector<void*> many(heap& from, size_class index, std::size_t count) {
    std::vector<void*> all;
    for (std::size_t round = 0; round < count; ++round) {
      all.push_back(allocate(from, index));
      EXPECT_NE(all.back(), nullptr);
    }
    return all;
  }
};

TEST_F(remote_test, a_full_parcel_is_sent) {
  heap& owner = make();
  heap& other = make();
  const std::size_t capacity = heaps::parcel::capacity;
  const auto all = many(owner, class_of(64), capacity);
  for (std::size_t at = 0; at + 1 < capacity; ++at) {
    give(other, all[at]);
  }
  EXPECT_TRUE(owner.in.empty());
  give(other, all.back());
  EXPECT_FALSE(owner.in.empty());
  EXPECT_TRUE(other.is_valid());
  owner.collect();
  EXPECT_TRUE(owner.in.empty());
  EXPECT_EQ(owner.statistics().remote_frees, capacity);
  expect_in_use(owner, 0);
  EXPECT_EQ(owner.space->used_bytes(), 0u);
}

TEST_F(remote_test, a_parcel_with_many_bytes_is_sent) {
  for (size_class index = 0; index < class_count; ++index) {
    heap& owner = make();
    heap& other = make();
    std::size_t freed = 0;
    while (owner.in.empty()) {
      give(other, allocate(owner, index));
      freed += size_of(index);
      ASSERT_LE(freed, heaps::parcel_bytes_limit + size_of(index)) << index;
    }
    expect_in_use(owner, 0);
  }
}

TEST_F(remote_test, send_all_sends_what_there_is) {
  heap& owner = make();
  heap& other = make();
  give(other, allocate(owner, 3));
  EXPECT_TRUE(owner.in.empty());
  other.send_all();
  EXPECT_FALSE(owner.in.empty());
  expect_in_use(owner, 0);
  EXPECT_EQ(owner.statistics().remote_frees, 1u);
  other.send_all();  // nothing left
  EXPECT_TRUE(owner.in.empty());
}

TEST_F(remote_test, a_refill_takes_the_inbox_before_new_memory) {
  heap& owner = make();
  heap& other = make();
  const size_class index = class_of(256);
  for (int round = 0; round < 20; ++round) {
    const auto all = many(owner, index, 600);
    for (void* each : all) {
      give(other, each);
    }
    ASSERT_TRUE(owner.is_valid());
  }
  other.send_all();
  // What was in use at the most, and what may wait.
  EXPECT_LE(owner.statistics().slab_bytes, 2 * 600 * 256 + 1_MiB + 256_KiB);
  expect_in_use(owner, 0);
}

TEST_F(remote_test, more_owners_than_an_outbox_has_places) {
  std::mt19937 random(11);
  heap& other = make();
  std::vector<heap*> owners;
  for (int round = 0; round < 20; ++round) {
    owners.push_back(&make());
  }
  live_blocks live;
  std::uint64_t freed = 0;
  for (int round = 0; round < 5'000; ++round) {
    if (live.size() < 50 || random() % 2 == 0) {
      const size_class index = static_cast<size_class>(random() % 30);
      ASSERT_NO_FATAL_FAILURE(live.add(allocate(*owners[random() % owners.size()], index), size_of(index)));
    } else {
      give(other, live.remove(random()));
      ++freed;
    }
  }
  other.send_all();
  std::uint64_t counted = 0;
  std::size_t in_use = 0;
  for (heap* each : owners) {
    each->collect();
    each->flush_all();
    ASSERT_TRUE(each->is_valid());
    counted += each->statistics().remote_frees;
    in_use += each->statistics().used_bytes;
  }
  EXPECT_EQ(counted, freed);
  EXPECT_EQ(in_use, live.bytes());
}

TEST_F(remote_test, a_counting_owner_counts_remote_frees) {
  heap& owner = make();
  owner.counting = true;
  owner.close();
  heap& other = make();
  for (void* each : many(owner, class_of(64), 100)) {
    give(other, each);
  }
  other.send_all();
  owner.collect();
  EXPECT_EQ(owner.statistics().freed_blocks, 100u);
  EXPECT_EQ(owner.statistics().freed_bytes, 6'400u);
  EXPECT_EQ(owner.statistics().remote_frees, 100u);
}

// Without memory for a parcel each block travels alone, in its own memory.
TEST_F(remote_test, travels_without_memory) {
  heap& owner = make();
  heap& other = make();
  std::vector<void*> all;
  for (size_class index = 0; index < class_count; index += 3) {
    for (void* each : many(owner, index, 3)) {
      all.push_back(each);
    }
  }
  other.stock.clear();
  fake::fail_requests_from(1);
  heaps::magazine_stock drain;
  std::vector<heaps::magazine*> drained;
  while (heaps::magazine* const array = drain.take_any()) {
    drained.push_back(array);
  }
  for (void* each : all) {
    give(other, each);
  }
  for (heaps::magazine* each : drained) {
    drain.give(each);
  }
  drain.clear();
  fake::fail_requests_from(0);
  EXPECT_FALSE(owner.in.empty());
  owner.collect();
  EXPECT_EQ(owner.statistics().remote_frees, all.size());
  expect_in_use(owner, 0);
}

TEST_F(remote_test, blocks_alone_are_void_after_release) {
  heap& owner = make();
  heap& other = make();
  const auto all = many(owner, class_of(64), 10);
  other.stock.clear();
  fake::fail_requests_from(1);
  heaps::magazine_stock drain;
  std::vector<heaps::magazine*> drained;
  while (heaps::magazine* const array = drain.take_any()) {
    drained.push_back(array);
  }
  for (void* each : all) {
    give(other, each);
  }
  for (heaps::magazine* each : drained) {
    drain.give(each);
  }
  drain.clear();
  fake::fail_requests_from(0);
  owner.release();
  EXPECT_EQ(owner.statistics().remote_frees, 0u);
  EXPECT_TRUE(owner.is_valid());
  live_blocks live;
  for (void* each : many(owner, class_of(64), 1'000)) {
    ASSERT_NO_FATAL_FAILURE(live.add(each, 64));
  }
}

// Many threads post, the owner collects meanwhile: each block comes back once.
TEST_F(remote_test, parcels_from_many_threads) {
  heap& owner = make();
  constexpr int senders = 3;
  constexpr std::size_t rounds = 40;
  const size_class index = class_of(64);
  std::vector<heap*> others;
  std::vector<std::vector<void*>> shares(senders);
  for (int sender = 0; sender < senders; ++sender) {
    others.push_back(&make());
    shares[static_cast<std::size_t>(sender)] = many(owner, index, rounds * heaps::parcel::capacity);
  }
  std::vector<std::thread> threads;
  for (std::size_t sender = 0; sender < senders; ++sender) {
    threads.emplace_back([&, sender] {
      for (void* each : shares[sender]) {
        *static_cast<int*>(each) = 1;  // the last write of the freeing thread …
        give(*others[sender], each);
      }
      others[sender]->send_all();
    });
  }
  std::vector<void*> mine;
  for (std::size_t round = 0; round < senders * rounds; ++round) {
    owner.collect();
    for (void* each : many(owner, index, 20)) {
      *static_cast<int*>(each) = 2;  // … is before the first of the next holder
      mine.push_back(each);
    }
  }
  for (std::thread& each : threads) {
    each.join();
  }
  for (void* each : mine) {
    give(owner, each);
  }
  owner.collect();
  EXPECT_EQ(owner.statistics().remote_frees, senders * rounds * heaps::parcel::capacity);
  expect_in_use(owner, 0);
}

}  // namespace
}  // namespace heap_tests
