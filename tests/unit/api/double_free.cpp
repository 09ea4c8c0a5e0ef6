// A small block that is freed twice through the inline paths is named at once, in builds with checks.
#include <gtest/gtest.h>

#include <memory_resource>
#include <string>
#include <thread>

#include "support/child.hpp"
#include "tarn/allocator.hpp"
#include "tarn/heap.hpp"
#include "tarn/pooled.hpp"
#include "tarn/tarn.h"

namespace {

using support::fault;
using support::in_child;
using support::written;

#if TARN_CHECKS || TARN_ADDRESS_SANITIZER

std::string message(const void* block, int bytes) {
  return "tarn: free(" + written(block) + "): double free of a block of " + std::to_string(bytes) +
         " bytes\ntarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before";
}

// Frees a block of `owner` twice, and others between, so that the block is not the newest free one.
template <class Heap>
void expect_named(Heap& owner, int bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  void* const block = owner.allocate(size);
  void* const neighbour = owner.allocate(size);
  EXPECT_EQ(in_child([&] {
              owner.deallocate(block);
              owner.deallocate(neighbour);
              owner.deallocate(block);
            }),
            fault(message(block, bytes)));
  EXPECT_EQ(in_child([&] {
              owner.deallocate(block, size);
              static_cast<std::pmr::memory_resource&>(owner).deallocate(block, size);
            }),
            fault(message(block, bytes)));
  owner.deallocate(neighbour);
  owner.deallocate(block);
}

TEST(double_free, is_named_for_a_heap_object) {
  tarn::heap lane;
  expect_named(lane, 16);
  expect_named(lane, 64);
  expect_named(lane, 32768);
}

TEST(double_free, is_named_for_the_heap_of_the_process) { expect_named(tarn::process_heap(), 64); }

TEST(double_free, is_named_for_a_heap_that_counts) {
  tarn::heap lane({.counts_calls = true});
  expect_named(lane, 64);
}

TEST(double_free, is_named_for_a_block_that_was_moved_to_a_slab_meanwhile) {
  tarn::heap lane;
  void* blocks[2000];
  for (void*& block : blocks) block = lane.allocate(64);
  EXPECT_EQ(in_child([&] {
              for (void* block : blocks) lane.deallocate(block);
              lane.deallocate(blocks[5]);
            }),
            fault(message(blocks[5], 64)));
}

#if TARN_CHECKS
// Nobody frees twice: two threads take blocks from one heap object at once.
TEST(double_free, is_not_said_of_two_threads_in_one_heap) {
  tarn::heap lane({.name = "lane"});
  const auto child_ending = in_child([&] {
    const auto use = [&] {
      for (;;) lane.deallocate(lane.allocate(64), 64);
    };
    std::thread second_thread(use);
    use();
  });
  EXPECT_EQ(child_ending.signal, SIGABRT);
  EXPECT_EQ(child_ending.error.substr(0, child_ending.error.find(" at ")), "tarn: heap \"lane\" is used")
      << child_ending;
  EXPECT_NE(child_ending.error.find(" while another thread uses it\ntarn: let one thread at a time allocate from a "
                                    "heap; other threads free its blocks through tarn::current_heap().deallocate()\n"),
            std::string::npos)
      << child_ending;
}
#endif

TEST(double_free, is_named_when_two_threads_free) {
  tarn::heap lane;
  void* const block = lane.allocate(64);
  EXPECT_EQ(in_child([&] {
              std::thread([&] { lane.deallocate(block); }).join();
              lane.deallocate(block);
            }),
            fault(message(block, 64)));
  EXPECT_EQ(in_child([&] {
              lane.deallocate(block);
              std::thread([&] { lane.deallocate(block); }).join();
            }),
            fault(message(block, 64)));
  EXPECT_EQ(in_child([&] {
              std::thread([&] { lane.deallocate(block); }).join();
              std::thread([&] { lane.deallocate(block); }).join();
            }),
            fault(message(block, 64)));
  lane.deallocate(block);
}

struct item : tarn::pooled<item> {
  long values[6] = {};
};

TEST(double_free, is_named_for_pooled_objects_allocators_and_the_interface_for_c) {
  auto* const pooled_item = new item;
  EXPECT_EQ(in_child([&] {
              ::operator delete(nullptr);
              item::operator delete(pooled_item, sizeof(item));
              item::operator delete(pooled_item, sizeof(item));
            }),
            fault(message(pooled_item, 48)));
  delete pooled_item;

  tarn::allocator<long> longs;
  long* const two = longs.allocate(4);
  EXPECT_EQ(in_child([&] {
              longs.deallocate(two, 4);
              longs.deallocate(two, 4);
            }),
            fault(message(two, 32)));
  longs.deallocate(two, 4);

  void* const three = tarn_malloc(80);
  EXPECT_EQ(in_child([&] {
              tarn_free(three);
              tarn_free(three);
            }),
            fault(message(three, 80)));
  tarn_free(three);
}

TEST(double_free, is_none_after_the_block_was_allocated_again) {
  tarn::heap lane;
  for (int round = 0; round < 1000; ++round) {
    void* const block = lane.allocate(static_cast<std::size_t>(round % 300 + 1));
    lane.deallocate(block);
    void* const aligned = lane.allocate(100, 64);
    lane.deallocate(aligned, 100, 64);
    void* const large = lane.allocate(1'000'000);
    lane.deallocate(large);
  }
  lane.release();
  lane.deallocate(lane.allocate(64));
}

#endif

// A heap that notes sites knows both places, in every build.
TEST(double_free, names_both_places_in_a_heap_with_sites) {
  tarn::heap lane({.name = "lane", .records_sites = true});
  void* const block = lane.allocate(40);
  const support::ending child_ending = in_child([&] {
    lane.deallocate(block);
    lane.deallocate(block);
  });
  EXPECT_EQ(child_ending.signal, SIGABRT);
  EXPECT_EQ(child_ending.error.find("tarn: free(" + written(block) +
                                    "): double free of a block of 48 bytes; freed before at "),
            0u)
      << child_ending.error;
  EXPECT_NE(child_ending.error.find("; allocated at "), std::string::npos) << child_ending.error;
  lane.deallocate(block);
}

}  // namespace
