// Heaps whose thread has ended: retired, drained by senders, adopted whole or slab by slab.
#include "central_fixture.hpp"

namespace heap_tests {
namespace {

using idle_test = central_heap_test;

TEST_F(idle_test, a_retired_heap_keeps_only_what_the_program_has) {
  heap& leaving = start();
  std::vector<void*> live_blocks_of_heap;
  for (size_class index = 0; index < 40; ++index) {
    for (void* block : allocate_many(leaving, index, 100)) give(leaving, block);
  }
  live_blocks_of_heap.push_back(allocate(leaving, 5));
  live_blocks_of_heap.push_back(allocate(leaving, 30));
  end(leaving);
  EXPECT_TRUE(leaving.is_valid());
  EXPECT_EQ(leaving.statistics().used_bytes, size_of(5) + size_of(30));
  EXPECT_EQ(leaving.statistics().slabs, 2u);
  heap& sender = start();  // most likely the same heap
  for (void* block : live_blocks_of_heap) give(sender, block);
}

TEST_F(idle_test, the_next_thread_takes_the_heap_over) {
  const auto counts_before = registry::count();
  heap& first = start();
  end(first);
  heap& second = start();
  EXPECT_EQ(&second, &first);
  EXPECT_EQ(registry::count().started, counts_before.started + 2);
  EXPECT_EQ(registry::count().abandoned, counts_before.abandoned + 1);
  EXPECT_GE(registry::count().adopted, counts_before.adopted + 1);
  EXPECT_TRUE(second.is_valid());
  give(second, allocate(second, 7));
}

TEST_F(idle_test, a_heap_that_is_being_tended_is_passed_over) {
  heap& first = start();
  end(first);
  first.state = ownership::tending;
  heap& second = start();
  EXPECT_NE(&second, &first);
  first.state = ownership::idle;
  heap& third = start();
  EXPECT_EQ(&third, &first);
}

// Programs may have had thousands of threads at one time, whose records nobody needs again.
TEST_F(idle_test, the_record_gives_its_pages_back) {
  for (const bool is_closed : {false, true}) {
    heap& first = start();
    heap& sender = start();
    if (is_closed) first.add_trait(heaps::heap_trait::counting);
    const size_class used_class = class_of(512);
    void* const block = allocate(first, used_class);
    const std::size_t before = registry::idle_record_bytes();
    end(first);
    EXPECT_GT(registry::idle_record_bytes(), before);
    EXPECT_GE(first.visit_now(), platform::page_bytes());
    EXPECT_EQ(registry::idle_record_bytes(), before);
    EXPECT_TRUE(first.is_valid());
    EXPECT_EQ(first.visit_now(), 0u);
    give(sender, block);  // makes the record whole, and leaves it empty
    sender.send_all();
    EXPECT_TRUE(first.is_valid());
    EXPECT_GT(registry::idle_record_bytes(), before);
    EXPECT_GE(first.visit_now(), platform::page_bytes());
    heap& second = start();
    ASSERT_EQ(&second, &first);
    EXPECT_EQ(registry::idle_record_bytes(), before);
    EXPECT_TRUE(second.is_valid());
    for (size_class index = 0; index < detail::class_count; ++index) give(second, allocate(second, index));
    EXPECT_TRUE(second.is_valid());
    end(second);
    if (is_closed) first.policy.clear();
  }
}

TEST_F(idle_test, a_free_for_an_idle_heap_is_taken_in_at_once) {
  heap& leaving = start();
  heap& sender = start();
  const std::size_t count = 4 * heaps::remote_batch::capacity + 3;
  const std::uint64_t freed = leaving.statistics().remote_frees;
  const auto blocks = allocate_many(leaving, class_of(64), count);
  end(leaving);
  for (void* block : blocks) give(sender, block);
  sender.send_all();
  EXPECT_TRUE(leaving.remote_inbox.empty());
  EXPECT_EQ(leaving.statistics().used_bytes, 0u);
  EXPECT_EQ(leaving.statistics().slabs, 0u);
  EXPECT_EQ(leaving.statistics().remote_frees, freed + count);
  EXPECT_EQ(leaving.state.load(), ownership::idle);
  EXPECT_TRUE(leaving.is_valid());
}

TEST_F(idle_test, what_arrived_before_the_end_is_taken_in_at_the_end) {
  heap& leaving = start();
  heap& sender = start();
  const auto blocks = allocate_many(leaving, class_of(64), 100);
  for (void* block : blocks) give(sender, block);
  sender.send_all();
  EXPECT_FALSE(leaving.remote_inbox.empty());
  end(leaving);
  EXPECT_EQ(leaving.statistics().used_bytes, 0u);
}

TEST_F(idle_test, a_leaving_heap_sends_what_it_freed_for_others) {
  heap& owner = start();
  heap& leaving = start();
  void* const block = allocate(owner, 9);
  give(leaving, block);
  EXPECT_TRUE(owner.remote_inbox.empty());
  end(leaving);
  EXPECT_FALSE(owner.remote_inbox.empty());
  expect_in_use(owner, 0);
}

TEST_F(idle_test, a_heap_whose_thread_is_lost_accepts_frees_and_nothing_else) {
  heap& lost = start();
  heap& sender = start();
  const auto blocks = allocate_many(lost, class_of(64), heaps::remote_batch::capacity);
  const std::uint64_t freed = lost.statistics().remote_frees;
  for (void* block : blocks) give(sender, block);
  EXPECT_FALSE(lost.remote_inbox.empty());
  EXPECT_EQ(lost.statistics().remote_frees, freed);
}

// A thread adopts a slab of an idle heap before it takes new memory.
TEST_F(idle_test, slabs_are_adopted_one_by_one) {
  const size_class index = class_of(512);
  heap& leaving = start();
  heap& taking = start();
  const auto old = allocate_many(leaving, index, 20);
  end(leaving);
  ASSERT_EQ(leaving.statistics().slabs, 1u);
  const std::size_t used_bytes = heaps::central().used_bytes();
  live_blocks live;
  for (void* block : allocate_many(taking, index, 20)) ASSERT_NO_FATAL_FAILURE(live.add(block, 512));
  EXPECT_EQ(heaps::central().used_bytes(), used_bytes);
  EXPECT_EQ(leaving.statistics().slabs, 0u);
  EXPECT_EQ(leaving.statistics().used_bytes, 0u);
  EXPECT_EQ(taking.statistics().slabs, 1u);
  EXPECT_TRUE(taking.is_valid());
  EXPECT_TRUE(leaving.is_valid());
  for (void* block : old) {
    EXPECT_EQ(detail::key_of(block), taking.address() | index);
    EXPECT_EQ(std::ranges::count(old, block), 1);
    give(taking, block);  // by now a local free
  }
  expect_in_use(taking, live.bytes());
  while (live.size() != 0) give(taking, live.remove(0));
}

TEST_F(idle_test, a_heap_of_another_space_adopts_nothing) {
  heap& leaving = start();
  const auto old = allocate_many(leaving, 4, 10);
  end(leaving);
  heap& object = make();
  static_cast<void>(allocate(object, 4));
  EXPECT_EQ(leaving.statistics().slabs, 1u);
  heap& sender = start();
  for (void* block : old) give(sender, block);
}

// A slab that is posted to its former heap is forwarded.
TEST_F(idle_test, a_free_follows_its_slab) {
  for (const bool is_tended : {true, false}) {
    const size_class index = class_of(512);
    heap& leaving = start();
    heap& sender = start();
    heap& taking = start();
    const auto old = allocate_many(leaving, index, 20);
    give(sender, old[0]);
    end(leaving);
    const std::uint64_t freed = taking.statistics().remote_frees;
    void* const own_block = allocate(taking, index);
    ASSERT_EQ(detail::key_of(old[0]), taking.address() | index);
    sender.send_all();
    taking.collect();
    EXPECT_EQ(taking.statistics().remote_frees, freed + 1);
    heap* resumed = nullptr;
    if (!is_tended) {  // the heap has a thread again
      while (resumed != &leaving) {
        ASSERT_LT(owned_heaps.size(), 1'000u);
        resumed = &start();
      }
    }
    pages::slab& home = *pages::page_map::slab_of(old[1]);  // acts as a sender that saw the old key
    const std::size_t number = home.number_of(old[1]);
    ASSERT_TRUE(home.free_remotely(number / 64, std::uint64_t{1} << (number % 64)).must_post);
    leaving.remote_inbox.post(home);
    if (resumed != nullptr) {
      resumed->collect();
    } else {
      leaving.tend();
    }
    EXPECT_TRUE(leaving.remote_inbox.empty());
    EXPECT_FALSE(taking.remote_inbox.empty());
    taking.collect();
    EXPECT_EQ(taking.statistics().remote_frees, freed + 2);
    EXPECT_TRUE(leaving.is_valid());
    for (std::size_t position = 2; position < old.size(); ++position) give(taking, old[position]);
    give(taking, own_block);
    expect_in_use(taking, 0);
    while (!owned_heaps.empty()) end(*owned_heaps.back());
  }
}

TEST_F(idle_test, threads_that_come_and_go_need_no_more_records) {
  char* mark = nullptr;
  for (int round = 0; round < 1'000; ++round) {
    heap& short_lived = start();
    for (size_class index = 0; index < 10; ++index) give(short_lived, allocate(short_lived, index));
    end(short_lived);
    if (round == 3) mark = static_cast<char*>(pages::metadata::allocate(1, 1));
  }
  EXPECT_EQ(pages::metadata::allocate(1, 1), mark + 1);
}

TEST_F(idle_test, the_registry_says_null_without_memory) {
  std::vector<heap*> acquired_heaps;
  fake::fail_requests_from(1);
  while (heap* const acquired = registry::acquire()) {
    acquired_heaps.push_back(acquired);
    ASSERT_LT(acquired_heaps.size(), 1'000u);
  }
  pages::space space;
  std::vector<heap*> objects;
  while (heap* const object = registry::create(space, "tested")) {  // uses the records that waited
    objects.push_back(object);
    ASSERT_LT(objects.size(), 1'000u);
  }
  fake::fail_requests_from(0);
  owned_heaps = acquired_heaps;
  for (heap* object : objects) registry::destroy(object);
  start();
}

// A program whose sizes drift leaves a few blocks in each slab of the sizes before.
TEST_F(idle_test, pages_of_idle_classes_go_back_while_the_heap_grows) {
  heap& tested = start();
  const std::vector<void*> blocks = allocate_many(tested, class_of(1_KiB), 8_KiB);
  for (std::size_t number = 0; number < blocks.size(); ++number) {
    if (number % 64 != 0) give(tested, blocks[number]);
  }
  const std::uint64_t before = platform::purge_totals().bytes;
  const std::vector<void*> others = allocate_many(tested, class_of(256), 16_MiB / 256);
  EXPECT_GE(platform::purge_totals().bytes - before, 6_MiB);
  for (std::size_t number = 0; number < blocks.size(); number += 64) give(tested, blocks[number]);
  for (void* const block : others) give(tested, block);
}

}  // namespace
}  // namespace heap_tests
