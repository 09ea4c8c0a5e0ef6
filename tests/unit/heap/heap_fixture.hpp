// Heap objects: they have spaces of their own, which must be empty at the end.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "memory/heap/heap.hpp"
#include "memory/heap/registry.hpp"
#include "memory/pages/metadata.hpp"
#include "platform/fake/platform.hpp"
#include "platform/platform.hpp"

namespace heap_tests {

using namespace tarn;
using namespace tarn::base::units;
using detail::class_count;
using detail::class_of;
using detail::size_class;
using detail::size_of;
using heaps::heap;
namespace fake = platform::fake;

/// The number of slow-path calls between two reads of the clock, with a margin.
inline constexpr int calls_for_a_tick = 64;

/// Tracks the blocks of a program and checks that they do not overlap: each is marked with its own byte.
class live_blocks {
 public:
  void add(void* block_, std::size_t bytes) {
    ASSERT_NE(block_, nullptr);
    char* const block = static_cast<char*>(block_);
    ASSERT_TRUE(base::is_aligned(block, detail::block_alignment));
    const auto [position, is_new] = blocks_.emplace(block, bytes);
    ASSERT_TRUE(is_new) << "handed out twice";
    ASSERT_TRUE(std::next(position) == blocks_.end() || block + bytes <= std::next(position)->first)
        << "overlaps the next";
    ASSERT_TRUE(position == blocks_.begin() || std::prev(position)->first + std::prev(position)->second <= block)
        << "overlaps the last";
    stamp(block, bytes);
    bytes_ += bytes;
  }
  /// Checks a block's contents and removes it.
  void* remove(std::size_t index) {
    auto position = blocks_.begin();
    std::advance(position, static_cast<std::ptrdiff_t>(index % blocks_.size()));
    char* const block = position->first;
    EXPECT_EQ(block[0], mark(block));
    EXPECT_EQ(block[position->second - 1], mark(block));
    bytes_ -= position->second;
    blocks_.erase(position);
    return block;
  }
  void clear() { blocks_.clear(), bytes_ = 0; }
  std::size_t size() const { return blocks_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  static char mark(const char* block) { return static_cast<char>(reinterpret_cast<std::uintptr_t>(block) >> 4); }
  static void stamp(char* block, std::size_t bytes) { block[0] = block[bytes - 1] = mark(block); }

  std::map<char*, std::size_t> blocks_;
  std::size_t bytes_ = 0;
};

class heap_test : public testing::Test {
 protected:
  void SetUp() override { fake::reset(); }
  void TearDown() override {
    fake::reset();
    for (heap* created : heaps_of_test) {
      created->release();
      EXPECT_TRUE(created->is_valid());
      pages::space& space = *created->space;
      heaps::registry::destroy(created);
      EXPECT_EQ(space.used_bytes(), 0u);
      space.release_all(0);
    }
    heaps_of_test.clear();
    // The rest is metadata, which is never given back.
    for (const fake::mapping& mapping : fake::mappings()) {
      EXPECT_TRUE(mapping.bytes == 256_KiB || heaps::central().peak_used_bytes() != 0) << mapping.bytes;
    }
  }

  /// Makes a heap with a space of its own.
  heap& make(std::size_t limit = 0) {
    pages::space& space = spaces.emplace_back();
    space.configure(
        {.segment_units = 64, .alignment = pages::unit_bytes, .limit = limit, .purge = pages::purging::never});
    heap* const created = heaps::registry::create(space, "tested");
    EXPECT_NE(created, nullptr);
    EXPECT_TRUE(created->is_valid());
    heaps_of_test.push_back(created);
    return *created;
  }

  static void* allocate(heap& owner, size_class index) { return detail::allocate(&owner, index); }
  /// Frees the block in the thread of `self`, for any owner.
  static void give(heap& self, void* block) { detail::deallocate(&self, block); }

  /// Makes calls of the slow path that change nothing, until the clock has been read.
  static void tick(heap& tested, size_class index = 0) {
    for (int call = 0; call < calls_for_a_tick; call += 2) {
      void* const block = tested.allocate(index);
      tested.deallocate(block, index);
    }
  }

  static constexpr std::size_t magazine_count() { return heaps::capacity_of(class_of(64)); }

  /// Flushes all free blocks to the slabs, so that the heap has exactly the program's blocks in use.
  static void expect_in_use(heap& tested, std::size_t bytes) {
    tested.collect();
    tested.flush_all();
    EXPECT_TRUE(tested.is_valid());
    EXPECT_EQ(tested.statistics().used_bytes, bytes);
    if (bytes == 0) {
      EXPECT_EQ(tested.statistics().slabs, 0u);
      EXPECT_EQ(tested.statistics().slab_bytes, 0u);
    }
  }

  std::deque<pages::space> spaces;
  std::vector<heap*> heaps_of_test;
};

}  // namespace heap_tests
