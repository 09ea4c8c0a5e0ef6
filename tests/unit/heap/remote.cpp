// Blocks that another heap's thread frees: batch, bits, inbox. One thread plays all parts, so that the order is
// known; tests/stress uses many threads.
#include "central_fixture.hpp"

#include <algorithm>
#include <set>
#include <thread>

#include "memory/heap/array_pool.hpp"
#include "memory/heap/unit_sorter.hpp"

namespace heap_tests {
namespace {

using heaps::inbox;
using remote_test = central_heap_test;

TEST_F(remote_test, a_full_batch_is_sent) {
  heap& owner = start();
  const std::uint64_t arrived = owner.statistics().remote_frees;
  heap& sender = start();
  const std::size_t capacity = heaps::remote_batch::capacity;
  const auto blocks = allocate_many(owner, class_of(64), capacity);
  for (std::size_t index = 0; index + 1 < capacity; ++index) give(sender, blocks[index]);
  EXPECT_TRUE(owner.remote_inbox.empty());
  give(sender, blocks.back());
  EXPECT_FALSE(owner.remote_inbox.empty());
  EXPECT_TRUE(sender.is_valid());
  owner.collect();
  EXPECT_TRUE(owner.remote_inbox.empty());
  EXPECT_EQ(owner.statistics().remote_frees - arrived, capacity);
  expect_in_use(owner, 0);
  EXPECT_EQ(owner.space->used_bytes(), 0u);
}

TEST_F(remote_test, a_batch_with_many_bytes_is_sent) {
  for (size_class index = 0; index < class_count; ++index) {
    heap& owner = start();
    heap& sender = start();
    std::size_t freed = 0;
    while (owner.remote_inbox.empty()) {
      give(sender, allocate(owner, index));
      freed += size_of(index);
      ASSERT_LE(freed, heaps::remote_batch::bytes_limit + size_of(index)) << index;
    }
    expect_in_use(owner, 0);
  }
}

TEST_F(remote_test, send_all_sends_what_there_is) {
  heap& owner = start();
  const std::uint64_t arrived = owner.statistics().remote_frees;
  heap& sender = start();
  give(sender, allocate(owner, 3));
  EXPECT_TRUE(owner.remote_inbox.empty());
  sender.send_all();
  EXPECT_FALSE(owner.remote_inbox.empty());
  expect_in_use(owner, 0);
  EXPECT_EQ(owner.statistics().remote_frees - arrived, 1u);
  sender.send_all();  // nothing is left
  EXPECT_TRUE(owner.remote_inbox.empty());
}

// Returns the sum of all heaps' parts.
heaps::waiting_frees waiting_now() {
  heaps::waiting_frees sum;
  registry::for_all([&sum](const heap& member) { sum += member.waiting(); });
  return sum;
}

// Expects `frees` to be all that wait since `before`.
void expect_waiting(const heaps::waiting_frees& before, const std::vector<size_class>& frees) {
  std::uint64_t bytes = 0;
  for (const size_class index : frees) bytes += size_of(index);
  const heaps::waiting_frees now = waiting_now();
  EXPECT_EQ(now.blocks - before.blocks, frees.size());
  EXPECT_EQ(now.bytes - before.bytes, bytes);
}

// In the batch of the sender, in that of the owner, and as bits.
TEST_F(remote_test, waiting_frees_are_counted_wherever_they_are) {
  const heaps::waiting_frees before = waiting_now();
  heap& first_owner = start();
  heap& second_owner = start();
  heap& sender = start();
  std::vector<std::pair<void*, size_class>> blocks;  // an owner that allocates takes in what waits
  for (std::size_t round = 0; round < 20 * heaps::remote_batch::capacity; ++round) {
    const auto index = static_cast<size_class>(round * 7 % 40);
    blocks.emplace_back(allocate(round % 3 == 0 ? second_owner : first_owner, index), index);
  }
  std::vector<size_class> frees;
  for (const auto& [block, index] : blocks) {
    give(sender, block);
    frees.push_back(index);
    if (frees.size() % 50 == 0) expect_waiting(before, frees);
  }
  EXPECT_FALSE(first_owner.remote_inbox.empty());
  EXPECT_FALSE(second_owner.remote_inbox.empty());
  expect_waiting(before, frees);
  sender.send_all();
  expect_waiting(before, frees);
  first_owner.collect();
  second_owner.collect();
  expect_waiting(before, {});
}

TEST_F(remote_test, the_block_that_fills_a_batch_is_counted) {
  const heaps::waiting_frees before = waiting_now();
  heap& owner = start();
  heap& sender = start();
  for (size_class index = 0; index < class_count; ++index) {
    void* const first = allocate(owner, 2);
    void* const last = allocate(owner, index);
    give(sender, first);
    give(sender, last);
    expect_waiting(before, {2, index});
    sender.send_all();
    expect_waiting(before, {2, index});
    owner.collect();
    expect_waiting(before, {});
  }
}

// The sender's heap ends with frees that it has not sent; the owner's heap ends with frees that wait.
TEST_F(remote_test, heaps_that_end_keep_the_sum) {
  const heaps::waiting_frees before = waiting_now();
  heap& owner = start();
  heap& sender = start();
  void* const blocks[] = {allocate(owner, 3), allocate(owner, 50), allocate(owner, 3)};
  give(sender, blocks[0]);
  give(sender, blocks[1]);
  end(sender);
  expect_waiting(before, {3, 50});
  end(owner);
  expect_waiting(before, {});
  heap& next_sender = start();
  heap& other_sender = &next_sender == &owner ? start() : next_sender;
  give(other_sender, blocks[2]);
  other_sender.send_all();  // to a heap without a thread, if no thread has adopted it
  owner.collect();
  expect_waiting(before, {});
}

// A sender returns slabs for an owner that sleeps.
TEST_F(remote_test, frees_in_reclaimed_slabs_do_not_wait) {
  const heaps::waiting_frees before = waiting_now();
  heap& owner = start();
  heap& sender = start();
  const std::size_t count = 3 * tarn::pages::shapes.classes[3].capacity;
  for (void* const block : allocate_many(owner, 3, count)) give(sender, block);
  sender.send_all();
  expect_waiting(before, std::vector<size_class>(count, 3));
  owner.reclaim_for_owner();
  EXPECT_LT(waiting_now().blocks - before.blocks, count);
  EXPECT_EQ(waiting_now().bytes - before.bytes, (waiting_now().blocks - before.blocks) * size_of(3));
  owner.collect();
  expect_waiting(before, {});
}

// The former owner gets a batch with blocks of a slab that another heap has adopted, and sends them on.
TEST_F(remote_test, frees_that_are_sent_on_wait_once) {
  if (!heaps::may_hand_over()) GTEST_SKIP() << "no batch is handed over";
  const heaps::waiting_frees before = waiting_now();
  const size_class index = class_of(512);
  heap& leaving = start();
  heap& sender = start();
  heap& taking = start();
  const auto blocks = allocate_many(leaving, index, heaps::remote_batch::min_batch_blocks + 1);
  for (std::size_t number = 1; number < blocks.size(); ++number) give(sender, blocks[number]);
  end(leaving);
  void* const own_block = allocate(taking, index);
  ASSERT_EQ(tarn::detail::key_of(blocks[0]), taking.address() | index);
  while (&start() != &leaving) ASSERT_LT(owned_heaps.size(), 1'000u);
  sender.send_all();
  ASSERT_FALSE(leaving.remote_inbox.empty());
  leaving.collect();
  expect_waiting(before, std::vector<size_class>(blocks.size() - 1, index));
  taking.collect();
  expect_waiting(before, {});
  give(taking, own_block);
  give(taking, blocks[0]);
}

TEST(waiting_frees, are_never_negative) {
  EXPECT_EQ(heaps::waiting_frees(~std::uint64_t{0}, 7).at_least_zero().blocks, 0u);
  EXPECT_EQ(heaps::waiting_frees(3, ~std::uint64_t{0}).at_least_zero().blocks, 3u);
  EXPECT_EQ(heaps::waiting_frees(3, ~std::uint64_t{0}).at_least_zero().bytes, 0u);
}

TEST_F(remote_test, a_refill_takes_the_inbox_before_new_memory) {
  heap& owner = start();
  heap& sender = start();
  const size_class index = class_of(256);
  for (int round = 0; round < 20; ++round) {
    const auto blocks = allocate_many(owner, index, 600);
    for (void* block : blocks) give(sender, block);
    ASSERT_TRUE(owner.is_valid());
  }
  sender.send_all();
  // The limit is the most that was in use, plus the most that may be pending.
  EXPECT_LE(owner.statistics().slab_bytes, 2 * 600 * 256 + 1_MiB + 256_KiB);
  expect_in_use(owner, 0);
}

TEST_F(remote_test, blocks_of_many_owners_all_return) {
  std::mt19937 random(11);
  heap& sender = start();
  std::vector<heap*> owners;
  for (int round = 0; round < 20; ++round) owners.push_back(&start());
  live_blocks live;
  std::uint64_t freed = 0;
  std::uint64_t arrived = 0;
  for (const heap* owner : owners) arrived += owner->statistics().remote_frees;
  for (int round = 0; round < 5'000; ++round) {
    if (live.size() < 50 || random() % 2 == 0) {
      const size_class index = static_cast<size_class>(random() % 30);
      ASSERT_NO_FATAL_FAILURE(live.add(allocate(*owners[random() % owners.size()], index), size_of(index)));
    } else {
      give(sender, live.remove(random()));
      ++freed;
    }
  }
  sender.send_all();
  std::uint64_t remote_frees = 0;
  std::size_t in_use = 0;
  for (heap* owner : owners) {
    owner->collect();
    owner->flush_all();
    ASSERT_TRUE(owner->is_valid());
    remote_frees += owner->statistics().remote_frees;
    in_use += owner->statistics().used_bytes;
  }
  EXPECT_EQ(remote_frees - arrived, freed);
  EXPECT_EQ(in_use, live.bytes());
  while (live.size() != 0) give(sender, live.remove(0));
}

TEST_F(remote_test, a_counting_owner_counts_remote_frees) {
  heap& owner = make();
  owner.add_trait(heaps::heap_trait::counting);
  heap& sender = start();
  for (void* block : allocate_many(owner, class_of(64), 100)) give(sender, block);
  sender.send_all();
  owner.collect();
  EXPECT_EQ(owner.statistics().freed_blocks, 100u);
  EXPECT_EQ(owner.statistics().freed_bytes, 6'400u);
  EXPECT_EQ(owner.statistics().remote_frees, 100u);
}

// Without memory for a batch each block is sent alone.
TEST_F(remote_test, frees_travel_without_memory) {
  heap& owner = start();
  const std::uint64_t arrived = owner.statistics().remote_frees;
  heap& sender = start();
  std::vector<void*> blocks;
  for (size_class index = 0; index < class_count; index += 3) {
    for (void* block : allocate_many(owner, index, 3)) blocks.push_back(block);
  }
  sender.stock.clear();
  fake::fail_requests_from(1);
  heaps::magazine_stock drain;
  std::vector<heaps::magazine*> drained;
  while (heaps::magazine* const array = drain.take_any()) drained.push_back(array);
  for (void* block : blocks) give(sender, block);
  for (heaps::magazine* array : drained) drain.give(array);
  drain.clear();
  fake::fail_requests_from(0);
  EXPECT_FALSE(owner.remote_inbox.empty());
  owner.collect();
  EXPECT_EQ(owner.statistics().remote_frees - arrived, blocks.size());
  expect_in_use(owner, 0);
}

// Frees of a heap object's blocks are never batched in a thread, because release() may end the blocks meanwhile.
TEST_F(remote_test, blocks_of_a_heap_object_are_sent_at_once) {
  heap& owner = make();
  heap& sender = start();
  const auto blocks = allocate_many(owner, class_of(64), 10);
  give(sender, blocks[0]);
  EXPECT_FALSE(owner.remote_inbox.empty());
  owner.collect();
  EXPECT_EQ(owner.statistics().remote_frees, 1u);
  for (std::size_t index = 1; index < blocks.size(); ++index) give(sender, blocks[index]);
  owner.release();
  EXPECT_TRUE(owner.remote_inbox.empty());
  EXPECT_EQ(owner.statistics().remote_frees, 1u);
  EXPECT_TRUE(owner.is_valid());
  live_blocks live;
  for (void* block : allocate_many(owner, class_of(64), 1'000)) ASSERT_NO_FATAL_FAILURE(live.add(block, 64));
}

// Frees to a heap that many threads share are never held back: none of the threads may ever return.
TEST_F(remote_test, a_shared_heap_sends_at_once) {
  heap& owner = start();
  heap& shared = make();
  shared.add_trait(heaps::heap_trait::shared);
  shared.deallocate_remote(allocate(owner, 7), owner.address() | 7);
  EXPECT_FALSE(owner.remote_inbox.empty());
  expect_in_use(owner, 0);
}

TEST_F(remote_test, a_second_free_is_named) {
  heap& owner = start();
  heap& sender = start();
  heap& third = start();
  const size_class index = class_of(64);
  for (const bool is_same_batch : {true, false}) {
    void* const block = allocate(owner, index);
    give(sender, block);
    if (!is_same_batch) sender.send_all();
    EXPECT_DEATH(
        {
          give(is_same_batch ? sender : third, block);
          (is_same_batch ? sender : third).send_all();
        },
        "double free");
    sender.send_all();
  }
  expect_in_use(owner, 0);
}

/// Returns the addresses of a full batch: a block of each of `units` units in turn.
std::vector<void*> blocks_in_turn(std::size_t units) {
  std::vector<void*> blocks;
  for (std::size_t number = 0; number < heaps::remote_batch::capacity; ++number) {
    const std::uintptr_t unit = 7'000 + number % units;
    blocks.push_back(reinterpret_cast<void*>(unit * pages::unit_bytes + number / units * 64));
  }
  return blocks;
}

TEST(unit_sorter, puts_blocks_of_one_unit_side_by_side) {
  const auto unit_of = [](const void* block) { return reinterpret_cast<std::uintptr_t>(block) / pages::unit_bytes; };
  for (const std::size_t units : {std::size_t{1}, std::size_t{2}, heaps::remote_batch::capacity / 4}) {
    std::vector<void*> blocks = blocks_in_turn(units);
    heaps::unit_sorter sorter;
    void** const first = sorter.sort(blocks.data(), blocks.size());
    std::vector<void*> sorted(first, first + blocks.size());
    std::size_t runs = 1;
    for (std::size_t number = 1; number < sorted.size(); ++number) {
      runs += unit_of(sorted[number]) != unit_of(sorted[number - 1]);
    }
    EXPECT_EQ(runs, units);
    std::sort(sorted.begin(), sorted.end());
    std::sort(blocks.begin(), blocks.end());
    EXPECT_EQ(sorted, blocks);
  }
}

TEST(unit_sorter, leaves_blocks_alone_that_have_a_unit_each) {
  std::vector<void*> blocks = blocks_in_turn(heaps::remote_batch::capacity);
  heaps::unit_sorter sorter;
  EXPECT_EQ(sorter.sort(blocks.data(), blocks.size()), blocks.data());
}

// Many blocks of one owner go to it as one batch, and its magazine takes them.
class batch_test : public remote_test {
 protected:
  static constexpr std::size_t capacity = heaps::remote_batch::capacity;
  static constexpr size_class index = class_of(64);

  void SetUp() override {
    if (!heaps::may_hand_over()) {
      GTEST_SKIP() << "a release of the library sends bits only";
    }
    remote_test::SetUp();
  }
};

TEST_F(batch_test, is_handed_out_by_its_owner) {
  heap& owner = start();
  heap& sender = start();
  auto blocks = allocate_many(owner, index, 3 * capacity);
  while (owner.top[index][-1] != nullptr) blocks.push_back(allocate(owner, index));
  const std::uint64_t slabs = owner.statistics().slabs;
  for (std::size_t position = 0; position < 2 * capacity; ++position) give(sender, blocks[position]);
  owner.collect();
  EXPECT_TRUE(owner.is_valid());
  const std::set<void*> freed(blocks.begin(), blocks.begin() + 2 * capacity);
  std::set<void*> reused;
  for (std::size_t position = 0; position < 2 * capacity; ++position) reused.insert(allocate(owner, index));
  EXPECT_EQ(reused, freed);
  EXPECT_EQ(owner.statistics().slabs, slabs);
  EXPECT_TRUE(owner.is_valid());
  for (void* block : blocks) give(owner, block);
  expect_in_use(owner, 0);
}

// Both batches wait when the owner comes: it looks at all marks before it hands a block out.
TEST_F(batch_test, a_second_free_in_another_batch_is_named) {
  heap& owner = start();
  heap& sender = start();
  auto freed_twice = allocate_many(owner, index, 2 * capacity - 1);
  freed_twice.insert(freed_twice.begin() + capacity, freed_twice.front());
  EXPECT_DEATH(
      {
        for (void* block : freed_twice) give(sender, block);
        allocate_many(owner, index, 10 * capacity);
      },
      "double free of a block of 64 bytes");
  freed_twice.erase(freed_twice.begin());
  for (void* block : freed_twice) give(owner, block);
  expect_in_use(owner, 0);
}

// The owner frees the blocks, too, and then has a large block in the place of their slab.
TEST_F(batch_test, a_second_free_of_what_is_a_large_block_now_is_named) {
  for (const std::size_t sent : {std::size_t{1}, heaps::remote_batch::min_batch_blocks + 1}) {  // by bits, in a batch
    EXPECT_DEATH(
        {
          heap& owner = start();
          heap& sender = start();
          const auto blocks = allocate_many(owner, index, pages::shapes.classes[index].capacity);
          for (std::size_t position = 0; position < sent; ++position) give(sender, blocks[position]);
          for (void* block : blocks) {
            owner.deallocate(block, index);  // a look at each free would name the second one here
          }
          owner.flush_all();
          void* const large = owner.allocate_large(detail::largest_class_size + 1, detail::block_alignment, nullptr);
          EXPECT_EQ(large, *std::min_element(blocks.begin(), blocks.end()));
          sender.send_all();
          owner.collect();
        },
        "double free of a block of 327680 bytes");
  }
}

// A sender that was late posts a batch to a heap whose thread has ended. Who adopts a slab of that heap takes the batch
// in, and leaves its array to all heaps.
TEST_F(batch_test, leaves_its_array_to_all_when_a_slab_is_adopted) {
  heap& leaving = start();
  heap& sender = start();
  heap& adopter = start();
  const auto blocks = allocate_many(leaving, index, capacity + 1);
  for (std::size_t position = 0; position < capacity; ++position) give(sender, blocks[position]);
  sender.send_all();
  pages::inbox_node* const sent = leaving.remote_inbox.take_all();
  ASSERT_NE(sent, nullptr);
  ASSERT_NE(sent->batch_blocks, 0u);
  end(leaving);
  leaving.remote_inbox.post(*sent);
  void* const adopted = allocate(adopter, index);
  EXPECT_EQ(detail::key_of(blocks.back()), adopter.address() | index);
  auto* const array = static_cast<heaps::magazine*>(heaps::arrays.allocate());
  EXPECT_EQ(static_cast<void*>(array), static_cast<void*>(sent));
  heaps::arrays.deallocate(array);
  give(adopter, adopted);
  give(adopter, blocks.back());
}

TEST_F(batch_test, of_several_owners_is_divided) {
  std::vector<heap*> owners;
  for (int number = 0; number < 2; ++number) owners.push_back(&start());
  heap& sender = start();
  std::vector<std::vector<void*>> blocks;
  const std::size_t share = capacity / 2;
  std::vector<std::uint64_t> arrived;
  for (heap* owner : owners) {
    blocks.push_back(allocate_many(*owner, index, share));
    arrived.push_back(owner->statistics().remote_frees);
  }
  for (std::size_t position = 0; position < share; ++position) {
    for (const auto& blocks_of_owner : blocks) give(sender, blocks_of_owner[position]);
  }
  sender.send_all();
  for (std::size_t number = 0; number < owners.size(); ++number) {
    heap& owner = *owners[number];
    const pages::inbox_node* const sent = owner.remote_inbox.take_all();
    ASSERT_NE(sent, nullptr);
    EXPECT_EQ(sent->batch_blocks, share);
    owner.remote_inbox.post(*const_cast<pages::inbox_node*>(sent));
    owner.collect();
    EXPECT_EQ(owner.statistics().remote_frees - arrived[number], share);
    expect_in_use(owner, 0);
  }
}

// Batches that wait for an owner that does not come take little memory of their own.
TEST_F(batch_test, of_small_blocks_waits_in_small_numbers) {
  heap& sleeping = start();
  heap& sender = start();
  const auto blocks = allocate_many(sleeping, 0, 40 * capacity);
  for (void* block : blocks) give(sender, block);
  sender.send_all();
  std::int32_t batches = 0;
  inbox::node* const sent = sleeping.remote_inbox.take_all();
  for (const inbox::node* node = sent; node != nullptr; node = node->next_sent) batches += node->batch_blocks != 0;
  EXPECT_EQ(batches, heaps::remote_batch::min_quota);
  inbox::node* last = sent;
  while (last->next_sent != nullptr) last = last->next_sent;
  sleeping.remote_inbox.post(*sent, *last);
  expect_in_use(sleeping, 0);
}

// Somebody who acts for the owner finds the slabs of all blocks in batches.
TEST_F(batch_test, is_unpacked_for_an_owner_that_sleeps) {
  heap& sleeping = start();
  heap& sender = start();
  const auto blocks = allocate_many(sleeping, index, 8 * pages::unit_bytes / 64);
  for (void* block : blocks) give(sender, block);
  sender.send_all();
  sleeping.reclaim_for_owner();
  EXPECT_LE(heaps::central().used_bytes(), 2 * pages::unit_bytes);  // the rest of the owner's magazine
  EXPECT_TRUE(sleeping.is_valid());
  expect_in_use(sleeping, 0);
}

TEST_F(batch_test, is_taken_in_where_its_owner_has_ended) {
  heap& owner = start();
  heap& sender = start();
  for (void* block : allocate_many(owner, index, 4 * capacity)) give(sender, block);
  EXPECT_FALSE(owner.remote_inbox.empty());
  end(owner);
  EXPECT_TRUE(owner.remote_inbox.empty());
  EXPECT_TRUE(owner.is_valid());
  EXPECT_EQ(owner.statistics().used_bytes, 0u);
}

// The batch goes to the heap that owned the blocks when they were freed, and from there to the one that owns them now.
TEST_F(batch_test, of_an_adopted_slab_is_sent_on) {
  heap& former = start();
  heap& sender = start();
  heap& adopter = start();
  const auto blocks = allocate_many(former, index, capacity - 1);
  for (void* block : blocks) give(sender, block);
  void* const last_block = allocate(former, index);
  end(former);
  std::vector<void*> blocks_of_adopter;
  while (detail::key_of(last_block) == (former.address() | index)) {
    blocks_of_adopter.push_back(allocate(adopter, index));
    ASSERT_LT(blocks_of_adopter.size(), 10'000u) << "nobody adopts the slab";
  }
  while (&start() != &former) {  // another thread takes the former heap over
  }
  sender.send_all();
  EXPECT_FALSE(former.remote_inbox.empty());
  void* const new_block = allocate(former, index);
  EXPECT_TRUE(former.remote_inbox.empty());
  EXPECT_EQ(detail::key_of(new_block), former.address() | index);
  give(former, new_block);
  expect_in_use(former, 0);
  blocks_of_adopter.push_back(last_block);
  for (void* block : blocks_of_adopter) give(adopter, block);
  expect_in_use(adopter, 0);
}

// Many threads post while the owner collects: each block comes back once.
TEST_F(remote_test, batches_from_many_threads_all_arrive) {
  heap& owner = start();
  const std::uint64_t arrived = owner.statistics().remote_frees;
  constexpr int senders = 3;
  constexpr std::size_t rounds = 40;
  const size_class index = class_of(64);
  std::vector<heap*> others;
  std::vector<std::vector<void*>> shares(senders);
  for (int sender = 0; sender < senders; ++sender) {
    others.push_back(&start());
    shares[static_cast<std::size_t>(sender)] = allocate_many(owner, index, rounds * heaps::remote_batch::capacity);
  }
  std::vector<std::thread> threads;
  for (std::size_t sender = 0; sender < senders; ++sender) {
    threads.emplace_back([&, sender] {
      for (void* block : shares[sender]) {
        *static_cast<int*>(block) = 1;  // the last write of the freeing thread …
        give(*others[sender], block);
      }
      others[sender]->send_all();
    });
  }
  std::vector<void*> own_blocks;
  for (std::size_t round = 0; round < senders * rounds; ++round) {
    owner.collect();
    for (void* block : allocate_many(owner, index, 20)) {
      *static_cast<int*>(block) = 2;  // … is before the first of the next holder
      own_blocks.push_back(block);
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (void* block : own_blocks) give(owner, block);
  owner.collect();
  EXPECT_EQ(owner.statistics().remote_frees - arrived, senders * rounds * heaps::remote_batch::capacity);
  expect_in_use(owner, 0);
}

}  // namespace
}  // namespace heap_tests
