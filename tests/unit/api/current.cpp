// Tests current_heap(), scoped_current_heap, process_heap() and owner_of().
#include <tarn/heap.hpp>

#include "front_fixture.hpp"

namespace front_tests {
namespace {

using tarn::heap;
using tarn::scoped_current_heap;

using current_heap = front_test;

TEST_F(current_heap, is_one_for_each_thread) {
  heap* const own_heap = &tarn::current_heap();
  EXPECT_EQ(&tarn::current_heap(), own_heap);
  worker second_thread;
  heap* their_heap = nullptr;
  second_thread.run([&] { their_heap = &tarn::current_heap(); });
  EXPECT_NE(their_heap, own_heap);
  second_thread.run([&] { EXPECT_EQ(&tarn::current_heap(), their_heap); });
  void* const block = tarn::current_heap().allocate(100);
  EXPECT_EQ(tarn::owner_of(block), own_heap);
  second_thread.run([&] { EXPECT_EQ(tarn::owner_of(block), own_heap); });
  tarn::current_heap().deallocate(block, 100);
  EXPECT_TRUE(own_heap->is_valid());
}

TEST_F(current_heap, release_of_a_threads_heap_does_nothing) {
  int* const block = static_cast<int*>(tarn::current_heap().allocate(100));
  *block = 42;
  tarn::current_heap().release();
  tarn::process_heap().release();
  EXPECT_EQ(*block, 42);
  EXPECT_EQ(tarn::owner_of(block), &tarn::current_heap());
  tarn::current_heap().deallocate(block);
}

TEST_F(current_heap, a_scope_puts_another_in_its_place) {
  heap* const own_heap = &tarn::current_heap();
  heap outer, inner;
  void* blocks[5];
  blocks[0] = tarn::current_heap().allocate(100);
  {
    const scoped_current_heap use_outer(outer);
    EXPECT_EQ(&tarn::current_heap(), &outer);
    blocks[1] = tarn::current_heap().allocate(100);
    {
      const scoped_current_heap use_inner(inner);
      EXPECT_EQ(&tarn::current_heap(), &inner);
      blocks[2] = tarn::current_heap().allocate(100);
      tarn::current_heap().deallocate(blocks[0]);  // it belongs to another heap
    }
    blocks[3] = tarn::current_heap().allocate(100);
  }
  blocks[4] = tarn::current_heap().allocate(100);
  EXPECT_EQ(tarn::owner_of(blocks[1]), &outer);
  EXPECT_EQ(tarn::owner_of(blocks[2]), &inner);
  EXPECT_EQ(tarn::owner_of(blocks[3]), &outer);
  EXPECT_EQ(tarn::owner_of(blocks[4]), own_heap);
  EXPECT_EQ(&tarn::current_heap(), own_heap);
  for (int block = 1; block < 5; ++block) tarn::current_heap().deallocate(blocks[block], 100);
}

TEST_F(current_heap, a_scope_may_be_a_threads_first_act) {
  heap lane;
  const auto started = tarn::heaps::registry::count().started;
  worker second_thread;
  second_thread.run([&] {
    {
      const scoped_current_heap use(lane);
      tarn::current_heap().deallocate(tarn::current_heap().allocate(100));
    }
    EXPECT_EQ(tarn::detail::local_heap, &tarn::heaps::no_heap);
  });
  EXPECT_EQ(tarn::heaps::registry::count().started, started);
  second_thread.run([&] { tarn::current_heap().deallocate(tarn::current_heap().allocate(100)); });
  EXPECT_EQ(tarn::heaps::registry::count().started, started + 1);
}

TEST_F(current_heap, an_exception_ends_a_scope) {
  heap* const own_heap = &tarn::current_heap();
  heap lane({.limit = 1_MiB});
  try {
    const scoped_current_heap use(lane);
    static_cast<void>(tarn::current_heap().allocate(2_MiB));
    FAIL();
  } catch (const std::bad_alloc&) {
  }
  EXPECT_EQ(&tarn::current_heap(), own_heap);
}

TEST_F(current_heap, a_heap_that_ends_while_current_is_no_longer) {
  heap* const own_heap = &tarn::current_heap();
  {
    heap lane;
    alignas(scoped_current_heap) unsigned char storage[sizeof(scoped_current_heap)];
    ::new (storage) scoped_current_heap(lane);  // never destroyed
    EXPECT_EQ(&tarn::current_heap(), &lane);
  }
  EXPECT_EQ(&tarn::current_heap(), own_heap);
}

TEST_F(current_heap, a_thread_may_end_inside_of_a_scope) {
  heap lane;
  void* block = nullptr;
  std::thread([&] {
    tarn::current_heap().deallocate(tarn::current_heap().allocate(10));
    alignas(scoped_current_heap) static thread_local unsigned char storage[sizeof(scoped_current_heap)];
    ::new (storage) scoped_current_heap(lane);
    block = tarn::current_heap().allocate(100);
  }).join();
  EXPECT_EQ(tarn::owner_of(block), &lane);
  lane.deallocate(block);
  EXPECT_TRUE(lane.is_valid());
}

TEST_F(current_heap, the_global_one_serves_every_thread) {
  heap* const shared = &tarn::process_heap();
  EXPECT_EQ(&tarn::process_heap(), shared);
  EXPECT_NE(&tarn::current_heap(), shared);
  std::vector<std::thread> threads;
  std::vector<void*> blocks(40);
  for (std::size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      EXPECT_EQ(&tarn::process_heap(), shared);
      for (std::size_t block = 0; block < 10; ++block) {
        blocks[thread * 10 + block] = tarn::process_heap().allocate(50 * (block + 1));
        tarn::process_heap().deallocate(tarn::process_heap().allocate(1_MiB), 1_MiB);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (void* block : blocks) {
    EXPECT_EQ(tarn::owner_of(block), shared);
    tarn::process_heap().deallocate(block);
  }
  EXPECT_TRUE(shared->is_valid());
}

TEST_F(current_heap, the_global_one_can_be_current) {
  void* block = nullptr;
  {
    const scoped_current_heap use(tarn::process_heap());
    EXPECT_EQ(&tarn::current_heap(), &tarn::process_heap());
    block = tarn::current_heap().allocate(100);
  }
  EXPECT_EQ(tarn::owner_of(block), &tarn::process_heap());
  tarn::current_heap().deallocate(block);
}

TEST_F(current_heap, owner_of_knows_what_is_ours) {
  static const int global = 0;
  const int local = 0;
  const std::unique_ptr<int> ordinary(new int);
  EXPECT_EQ(tarn::owner_of(nullptr), nullptr);
  EXPECT_EQ(tarn::owner_of(&global), nullptr);
  EXPECT_EQ(tarn::owner_of(&local), nullptr);
  EXPECT_EQ(tarn::owner_of(ordinary.get()), nullptr);
  heap lane;
  for (const std::size_t bytes : {16, 5'000, 1'000'000, 50'000'000}) {
    char* const block = static_cast<char*>(lane.allocate(bytes));
    EXPECT_EQ(tarn::owner_of(block), &lane);
    EXPECT_EQ(tarn::owner_of(block + bytes - 1), &lane);
    lane.deallocate(block);
  }
}

TEST_F(current_heap, owner_of_a_threads_block_outlives_the_thread) {
  void* block = nullptr;
  heap* their_heap = nullptr;
  std::thread([&] {
    block = tarn::current_heap().allocate(100);
    their_heap = &tarn::current_heap();
  }).join();
  EXPECT_EQ(tarn::owner_of(block), their_heap);
  tarn::current_heap().deallocate(block);
}

// Nobody has called current_heap() yet: of several concurrent callers the first makes the public side of that heap.
TEST_F(current_heap, many_threads_may_ask_for_owners_at_once) {
  for (int round = 0; round < 20; ++round) {
    worker owner;
    void* block = nullptr;
    owner.run([&] { block = tarn::detail::allocate(tarn::detail::local_heap, 100, 16); });
    std::vector<heap*> owners(4);
    std::vector<std::thread> threads;
    for (heap*& owner_seen : owners) {
      threads.emplace_back([&] { owner_seen = tarn::owner_of(block); });
    }
    owner.run([&] { EXPECT_EQ(&tarn::current_heap(), tarn::owner_of(block)); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(owners, std::vector<heap*>(4, tarn::owner_of(block)));
    owner.run([&] { tarn::current_heap().deallocate(block); });
  }
}

}  // namespace
}  // namespace front_tests
