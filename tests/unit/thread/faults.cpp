// Tests the misuses of a pointer, and the line that reports each.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "base/bits.hpp"
#include "memory/api/blocks.hpp"
#include "memory/pages/page_map.hpp"
#include "memory/thread/threads.hpp"
#include "platform/platform.hpp"
#include "support/child.hpp"
#include "support/current_heap.hpp"
#include "tarn/heap.hpp"

namespace {

using namespace tarn;
using namespace tarn::base::units;
using support::ending;
using support::fault;
using support::give;
using support::in_child;
using support::take;
using support::written;

ending foreign(const void* address) {
  return fault(
      "tarn: free(" + written(address) + "): foreign pointer: not a block of this allocator",
      "free a block with the allocator that it came from; memory of the stack or a static object is never freed");
}
ending double_free(const void* address, std::size_t bytes) {
  return fault("tarn: free(" + written(address) + "): double free of a block of " + std::to_string(bytes) + " bytes",
               "free each block once; TARN_GUARD=1 shows where it was allocated and freed before");
}
ending misaligned(const void* address, std::size_t offset, const void* block, std::size_t bytes) {
  return fault("tarn: free(" + written(address) + "): misaligned pointer: " + std::to_string(offset) +
                   " bytes into the " + std::to_string(bytes) + "-byte block at " + written(block),
               "pass the address that the allocation returned");
}

class faults : public testing::Test {
 protected:
  void SetUp() override { live_block = take(1); }  // keeps its segment, which explains late frees
  void TearDown() override { give(live_block); }
  void* live_block = nullptr;
};

TEST_F(faults, a_pointer_that_is_none_of_ours_is_named) {
  static int global = 0;
  int local = 0;
  void* const from_libc = std::calloc(1, 100);
  auto* const function = reinterpret_cast<void*>(&std::malloc);
  for (void* address :
       {static_cast<void*>(&global), static_cast<void*>(&local), from_libc, function, reinterpret_cast<void*>(16),
        reinterpret_cast<void*>(~std::uintptr_t{15}), reinterpret_cast<void*>(std::uintptr_t{1} << 47),
        reinterpret_cast<void*>(0x8000'0000'0000'0010)}) {
    EXPECT_EQ(in_child([=] { give(address); }), foreign(address));
    EXPECT_EQ(in_child([=] { detail::deallocate(detail::local_heap, address, 64, 16); }), foreign(address));
    EXPECT_EQ(in_child([=] { detail::deallocate(detail::local_heap, address, 64, 4096); }), foreign(address));
  }
  std::free(from_libc);
}

TEST_F(faults, a_foreign_pointer_is_named_in_a_threads_first_call) {
  void* const from_libc = std::calloc(1, 100);
  EXPECT_EQ(in_child([=] { std::thread([=] { give(from_libc); }).join(); }), foreign(from_libc));
  std::free(from_libc);
}

TEST_F(faults, nothing_happens_for_null) {
  EXPECT_EQ(in_child([] { give(nullptr); }), ending{});
}

TEST_F(faults, a_large_block_that_is_freed_twice_is_named) {
  for (const std::size_t bytes : {300_KiB, 1_MiB, 40_MiB, 200_MiB}) {
    void* const block = take(bytes);
    const std::size_t rounded = base::align_up(bytes, pages::unit_bytes);
    EXPECT_EQ(in_child([=] { give(block), give(block); }), double_free(block, rounded)) << bytes;
    give(block);
  }
}

TEST_F(faults, a_pointer_into_a_large_block_is_named) {
  for (const std::size_t bytes : {300_KiB, 40_MiB}) {
    char* const block = static_cast<char*>(take(bytes));
    const std::size_t rounded = base::align_up(bytes, pages::unit_bytes);
    for (const std::size_t offset : {std::size_t{1}, std::size_t{16}, 64_KiB, rounded - 1}) {
      EXPECT_EQ(in_child([=] { give(block + offset); }), misaligned(block + offset, offset, block, rounded));
    }
    give(block);
  }
}

// A small block that is free already is detected when it reaches its slab.
TEST_F(faults, a_small_block_that_is_freed_twice_is_named) {
  for (const std::size_t bytes : {16, 64, 500, 3'000, 100'000}) {
    void* const block = take(bytes);
    const std::size_t rounded = detail::size_of(detail::class_of(bytes));
    EXPECT_EQ(in_child([=] {
                give(block);
                give(block);
                api::trim();
              }),
              double_free(block, rounded))
        << bytes;
    EXPECT_EQ(in_child([=] {
                give(block);
                api::trim();
                give(block);
                api::trim();
              }),
              double_free(block, rounded))
        << bytes;
    give(block);
  }
}

TEST_F(faults, a_small_block_that_two_threads_free_is_named) {
  void* const block = take(64);
  EXPECT_EQ(in_child([=] {
              std::thread([=] { give(block); }).join();
              give(block);
              api::trim();
            }),
            double_free(block, 64));
  EXPECT_EQ(in_child([=] {
              std::thread([=] { give(block); }).join();
              std::thread([=] { give(block); }).join();
              api::trim();
            }),
            double_free(block, 64));
  give(block);
}

TEST_F(faults, a_pointer_into_a_small_block_is_named) {
  for (const std::size_t bytes : {64, 500, 3'000}) {
    char* const block = static_cast<char*>(take(bytes));
    const std::size_t rounded = detail::size_of(detail::class_of(bytes));
    for (const std::size_t offset : {std::size_t{1}, std::size_t{16}, rounded - 1}) {
      EXPECT_EQ(in_child([=] { give(block + offset), api::trim(); }),
                misaligned(block + offset, offset, block, rounded));
      EXPECT_EQ(in_child([=] { std::thread([=] { give(block + offset); }).join(), api::trim(); }),
                misaligned(block + offset, offset, block, rounded));
    }
    give(block);
  }
}

TEST_F(faults, a_free_with_the_wrong_size_is_named) {
  const auto wrong = [](void* block, std::size_t stated_bytes, std::size_t bytes) {
    // The message has the sizes of the class that the size falls into.
    const detail::size_class stated = detail::class_of(stated_bytes);
    const std::string sizes =
        std::to_string(detail::size_of(stated - 1) + 1) + " to " + std::to_string(detail::size_of(stated));
    EXPECT_EQ(in_child([=] { detail::deallocate(detail::local_heap, block, stated_bytes, 16); }),
              fault("tarn: free(" + written(block) + ", " + sizes + "): wrong size: the block has " +
                        std::to_string(bytes) + " bytes",
                    "pass the size that was allocated: delete an object by its own type"));
  };
  void* const small = take(64);
  wrong(small, 65, 64);
  wrong(small, 48, 64);
  wrong(small, 100'000, 64);
  detail::deallocate(detail::local_heap, small, 60, 16);
  void* const large = take(1_MiB);
  wrong(large, 64, 1_MiB);
  detail::deallocate(detail::local_heap, large, 1_MiB, 16);
}

TEST_F(faults, a_block_of_a_strict_heap_that_is_freed_elsewhere_is_named) {
  for (const std::size_t bytes : {64, 1'000'000}) {
    const ending child_ending = in_child([=] {
      heap lane({.name = "parser\n", .forbids_remote_frees = true});
      void* const block = lane.allocate(bytes);
      std::string expected;
      std::thread([&] {
        expected = "tarn: heap \"parser\\x0a\": block " + written(block) + " freed by thread " +
                   std::to_string(platform::thread_number()) + ", but only thread " + std::to_string(getpid()) +
                   " may free blocks of this heap\ntarn: free the block in the thread of its heap, or create the heap "
                   "without forbids_remote_frees\n";
        static_cast<void>(write(STDERR_FILENO, expected.data(), expected.size()));
        give(block);
      }).join();
    });
    EXPECT_EQ(child_ending.signal, SIGABRT);
    const std::size_t half = child_ending.error.size() / 2;
    EXPECT_EQ(child_ending.error.substr(0, half), child_ending.error.substr(half));
    EXPECT_NE(half, 0u);
  }
}

TEST_F(faults, a_strict_heap_is_for_its_thread_in_every_way) {
  EXPECT_EQ(in_child([] {
              heap lane({.name = "parser", .forbids_remote_frees = true});
              lane.deallocate(lane.allocate(64));
              give(lane.allocate(64));  // another heap is current, the thread is the same
              give(lane.allocate(1'000'000));
              void* const block = lane.allocate(64);
              const scoped_current_heap use(lane);
              give(block);
            }),
            ending{});
}

TEST_F(faults, a_heap_that_nobody_made_cannot_be_destroyed) {
  const auto not_destroyable = [](const heap& target, const std::string& name) {
    return fault(
        "tarn: heap \"" + name + "\" at " + written(&target) +
            " is destroyed, but belongs to a thread or to the process",
        "destroy only heaps that the program created; tarn::current_heap() and tarn::process_heap() end by themselves");
  };
  EXPECT_EQ(in_child([] { current_heap().~heap(); }), not_destroyable(current_heap(), ""));
  EXPECT_EQ(in_child([] { process_heap().~heap(); }), not_destroyable(process_heap(), "process"));
}

}  // namespace
