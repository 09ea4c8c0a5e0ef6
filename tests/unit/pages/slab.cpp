// Compares slabs of every size class with a naive set of free blocks.
#include "memory/pages/slab.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "memory/pages/segment.hpp"
#include "platform/fake/platform.hpp"
#include "platform/platform.hpp"
#include "support/child.hpp"

namespace {

using namespace tarn;
using detail::class_count;
using detail::size_class;
using detail::size_of;
using pages::segment;
using pages::slab;
using support::fault;
using support::in_child;
using support::written;

/// Makes one slab at a time, from a segment of its own.
class slab_test : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    home = segment::create(100, pages::unit_bytes);
    ASSERT_NE(home, nullptr);
  }
  static void TearDownTestSuite() { home->destroy(); }

  slab& make(size_class index) {
    if (last != nullptr) home->give(*last);
    last = home->take(pages::shapes.classes[index].units, pages::unit_bytes);
    last->cut(index);
    pages::page_map::set(last->start, last->units, 0x1000 | index, last);
    return *last;
  }
  void TearDown() override {
    if (last != nullptr) home->give(*last);
  }

  static segment* home;
  slab* last = nullptr;
};
segment* slab_test::home = nullptr;

/// Takes `count` blocks and compares them with the lowest of `free`.
std::vector<void*> take(slab& source, std::set<std::size_t>& free, std::size_t count) {
  std::vector<void*> magazine(count);
  const std::size_t expected = std::min(count, free.size());
  const std::size_t taken_count = source.take(magazine.data() + count, count);
  EXPECT_EQ(taken_count, expected);
  for (std::size_t index = 0; index < count - taken_count; ++index) {
    EXPECT_EQ(magazine[index], nullptr);  // nothing is written below
  }
  magazine.erase(magazine.begin(), magazine.end() - static_cast<std::ptrdiff_t>(taken_count));
  for (std::size_t index = taken_count;
       index-- != 0;) {  // a magazine hands out its last entry first, which is the lowest block
    EXPECT_EQ(magazine[index], source.block(*free.begin()));
    free.erase(free.begin());
  }
  return magazine;
}

TEST_F(slab_test, is_cut_into_free_blocks) {
  for (size_class index = 0; index < class_count; ++index) {
    const slab& cut = make(index);
    EXPECT_TRUE(cut.is_valid()) << index;
    EXPECT_TRUE(cut.empty());
    EXPECT_FALSE(cut.full());
    EXPECT_EQ(cut.capacity, pages::shapes.classes[index].capacity);
    EXPECT_EQ(cut.bytes, size_of(index));
    EXPECT_EQ(cut.index, index);
  }
}

TEST_F(slab_test, finds_the_block_of_every_address) {
  for (size_class index = 0; index < class_count; ++index) {
    const slab& cut = make(index);
    for (std::size_t number = 0; number < cut.capacity; ++number) {
      const char* const block = cut.block(number);
      ASSERT_EQ(block, cut.start + number * size_of(index));
      ASSERT_EQ(cut.number_of(block), number);
      ASSERT_EQ(cut.number_of(block + 1), number);
      ASSERT_EQ(cut.number_of(block + size_of(index) / 2), number);
      ASSERT_EQ(cut.number_of(block + size_of(index) - 1), number);
    }
  }
}

TEST_F(slab_test, every_class_gives_out_each_block_once_and_takes_it_back) {
  std::mt19937 random(3);
  for (size_class index = 0; index < class_count; ++index) {
    slab& cut = make(index);
    std::set<std::size_t> free;
    for (std::size_t number = 0; number < cut.capacity; ++number) free.insert(number);
    std::vector<void*> taken_blocks;
    for (int round = 0; round < 3; ++round) {
      while (!cut.full()) {
        const auto taken_now = take(cut, free, 1 + random() % 100);
        taken_blocks.insert(taken_blocks.end(), taken_now.begin(), taken_now.end());
        ASSERT_TRUE(cut.is_valid()) << index;
        ASSERT_EQ(cut.free_blocks, free.size());
      }
      ASSERT_EQ(taken_blocks.size(), cut.capacity);
      ASSERT_TRUE(take(cut, free, 3).empty());
      std::shuffle(taken_blocks.begin(), taken_blocks.end(), random);
      const std::size_t live_count = round == 2 ? 0 : random() % cut.capacity;
      while (taken_blocks.size() > live_count) {
        cut.give(taken_blocks.back());
        free.insert(cut.number_of(taken_blocks.back()));
        taken_blocks.pop_back();
        ASSERT_TRUE(taken_blocks.size() % 7 != 0 || cut.is_valid()) << index;
      }
      ASSERT_TRUE(cut.is_valid()) << index;
    }
    ASSERT_TRUE(cut.empty());
    ASSERT_EQ(free.size(), cut.capacity);
  }
}

TEST_F(slab_test, a_locked_page_does_not_keep_the_other_free_pages) {
  const std::size_t page = platform::page_bytes();
  slab& cut = make(detail::class_of(page));
  std::vector<void*> blocks(cut.capacity);
  ASSERT_EQ(cut.take(blocks.data() + blocks.size(), blocks.size()), blocks.size());
  std::memset(cut.start, 7, cut.units * pages::unit_bytes);
  ASSERT_EQ(syscall(SYS_mlock, cut.start, 1), 0);  // the sanitizers' mlock() does nothing
  for (std::size_t number = 0; number < cut.capacity; number += 2) cut.give(cut.block(number));
  const std::size_t free = (cut.capacity + 1U) / 2;
  EXPECT_EQ(cut.purge_free_pages(), (free - 1) * page);
  ASSERT_EQ(syscall(SYS_munlock, cut.start, 1), 0);
  EXPECT_EQ(cut.purge_free_pages(), free * page) << "unlocked";
}

// Tries every order of giving and taking in the smallest slab, by a walk over all its states.
TEST_F(slab_test, gives_the_pages_back_in_which_only_free_blocks_lie) {
  std::mt19937 random(5);
  const std::size_t page = platform::page_bytes();
  for (size_class index = 0; index < class_count; ++index) {
    slab& cut = make(index);
    std::vector<void*> taken_blocks(cut.capacity);
    ASSERT_EQ(cut.take(taken_blocks.data() + taken_blocks.size(), taken_blocks.size()), taken_blocks.size());
    std::memset(cut.start, 7, cut.units * pages::unit_bytes);
    EXPECT_EQ(cut.purge_free_pages(), 0u);
    std::vector<void*> live_blocks;
    std::vector<bool> needed(cut.units * pages::unit_bytes / page);
    for (void* block : taken_blocks) {
      if (random() % (1 + cut.capacity / 8) == 0) {
        live_blocks.push_back(block);
        const auto offset = static_cast<std::size_t>(static_cast<char*>(block) - cut.start);
        // The rest behind the last block was never handed out: it goes only with that block.
        const bool is_last = cut.number_of(block) + 1 == cut.capacity;
        const std::size_t end = is_last ? needed.size() : (offset + cut.bytes - 1) / page + 1;
        std::fill(needed.begin() + static_cast<std::ptrdiff_t>(offset / page),
                  needed.begin() + static_cast<std::ptrdiff_t>(end), true);
      } else {
        cut.give(block);
      }
    }
    const auto unneeded = static_cast<std::size_t>(std::count(needed.begin(), needed.end(), false));
    EXPECT_EQ(cut.purge_free_pages(), live_blocks.size() == taken_blocks.size() ? 0 : unneeded * page) << index;
    EXPECT_EQ(cut.purge_free_pages(), 0u) << "as the last time";
    for (void* block : live_blocks) {
      EXPECT_EQ(static_cast<char*>(block)[0], 7);
      EXPECT_EQ(static_cast<char*>(block)[cut.bytes - 1], 7);
    }
    EXPECT_TRUE(cut.is_valid());
  }
}

TEST_F(slab_test, is_right_in_every_state_of_a_small_slab) {
  const size_class index = class_count - 1;
  const std::size_t capacity = pages::shapes.classes[index].capacity;
  ASSERT_LE(capacity, 8u);
  for (unsigned state = 0; state < 1u << capacity; ++state) {  // bits: blocks that are free
    for (std::size_t count = 0; count <= capacity + 1; ++count) {
      slab& cut = make(index);
      std::vector<void*> blocks(capacity);
      cut.take(blocks.data() + capacity, capacity);
      std::set<std::size_t> free;
      for (std::size_t number = 0; number < capacity; ++number) {
        if ((state >> number & 1) != 0) {
          cut.give(cut.block(number));
          free.insert(number);
        }
      }
      ASSERT_TRUE(cut.is_valid());
      take(cut, free, count);
      ASSERT_TRUE(cut.is_valid());
      ASSERT_EQ(cut.free_blocks, free.size());
    }
  }
}

std::vector<size_class> some_classes() {
  std::vector<size_class> classes{0, 1, 15, 16, class_count - 1};
  for (size_class index = 5; index < class_count; index += 13) classes.push_back(index);
  return classes;
}

TEST_F(slab_test, a_double_free_is_a_fault) {
  for (const size_class index : some_classes()) {
    slab& cut = make(index);
    void* block[2];
    cut.take(block + 2, 2);
    EXPECT_EQ(in_child([&] { cut.give(block[0]), cut.give(block[1]), cut.give(block[0]); }),
              fault("tarn: free(" + written(block[0]) + "): double free of a block of " +
                        std::to_string(size_of(index)) + " bytes",
                    "free each block once; TARN_GUARD=1 shows where it was allocated and freed before"));
    // A block that was never handed out looks the same.
    void* const unused = cut.block(cut.capacity - 1u);
    EXPECT_EQ(in_child([&] { cut.give(unused); }),
              fault("tarn: free(" + written(unused) + "): double free of a block of " + std::to_string(size_of(index)) +
                        " bytes",
                    "free each block once; TARN_GUARD=1 shows where it was allocated and freed before"));
  }
}

TEST_F(slab_test, a_misaligned_pointer_is_a_fault) {
  for (const size_class index : some_classes()) {
    slab& cut = make(index);
    void* taken_blocks[2];
    cut.take(taken_blocks + 2, 2);
    char* const block = static_cast<char*>(taken_blocks[0]);
    for (const std::size_t offset : {std::size_t{1}, std::size_t{8}, size_of(index) / 2, size_of(index) - 1}) {
      EXPECT_EQ(in_child([&] { cut.give(block + offset); }),
                fault("tarn: free(" + written(block + offset) + "): misaligned pointer: " + std::to_string(offset) +
                          " bytes into the " + std::to_string(size_of(index)) + "-byte block at " + written(block),
                      "pass the address that the allocation returned"));
    }
  }
}

TEST_F(slab_test, a_pointer_behind_the_last_block_is_a_fault) {
  int with_rest = 0;
  for (size_class index = 0; index < class_count; ++index) {
    slab& cut = make(index);
    char* const behind_last = cut.block(cut.capacity);
    if (behind_last == cut.start + cut.units * pages::unit_bytes || ++with_rest % 6 != 0) continue;
    for (char* const wrong : {behind_last, behind_last + 1, cut.start + cut.units * pages::unit_bytes - 1}) {
      EXPECT_EQ(in_child([&] { cut.give(wrong); }),
                fault("tarn: free(" + written(wrong) + "): foreign pointer: not a block of this allocator",
                      "free a block with the allocator that it came from; memory of the stack or a static object is "
                      "never freed"));
    }
  }
  EXPECT_GT(with_rest, 12);
}

TEST(starts, are_known_by_the_offset_in_slabs_of_one_unit) {
  for (size_class index = 0; index < detail::class_count; ++index) {
    const pages::class_shape& shape = pages::shapes.classes[index];
    for (std::size_t offset = 0; offset < pages::unit_bytes; ++offset) {
      const bool starts_block = offset % shape.block_bytes == 0 && offset / shape.block_bytes < shape.capacity;
      const bool may_start = pages::may_start_at(reinterpret_cast<const void*>((std::size_t{7} << 32) + offset), index);
      ASSERT_TRUE(shape.units == 1 ? may_start == starts_block : may_start || offset != 0)
          << shape.block_bytes << " at " << offset;
    }
  }
}

TEST_F(slab_test, a_wide_slab_knows_where_its_blocks_start) {
  for (size_class index = pages::first_wide; index < class_count; ++index) {
    const slab& tested = make(index);
    const std::size_t block_bytes = size_of(index);
    for (std::size_t offset = 0; offset < tested.units * pages::unit_bytes; ++offset) {
      const bool is_start = offset % block_bytes == 0 && offset / block_bytes < tested.capacity;
      ASSERT_EQ(tested.starts_block(tested.start + offset, index), is_start) << block_bytes << " at " << offset;
    }
  }
}

TEST_F(slab_test, is_valid_sees_what_is_broken) {
  for (const size_class index : {size_class{0}, size_class{20}, class_count - 1}) {
    slab& broken = make(index);
    std::vector<void*> magazine(70);
    broken.take(magazine.data() + 70, std::min<std::size_t>(70, broken.capacity - 2u));
    ASSERT_TRUE(broken.is_valid());

    ++broken.free_blocks;
    EXPECT_FALSE(broken.is_valid());
    --broken.free_blocks;

    const std::size_t word = (broken.capacity - 1u) / 64;
    broken.free[word] ^= std::uint64_t{1} << (broken.capacity - 1u) % 64;
    EXPECT_FALSE(broken.is_valid());
    broken.free[word] ^= std::uint64_t{1} << (broken.capacity - 1u) % 64;

    if (broken.capacity % 64 != 0) {  // a block that does not exist
      broken.free[word] |= std::uint64_t{1} << broken.capacity % 64;
      ++broken.free_blocks;
      EXPECT_FALSE(broken.is_valid());
      broken.free[word] &= ~(std::uint64_t{1} << broken.capacity % 64);
      --broken.free_blocks;
    }

    const auto hint = broken.hint;
    broken.hint = static_cast<std::uint16_t>(word + 1);
    EXPECT_FALSE(broken.is_valid());
    broken.hint = hint;

    const auto kept_index = broken.index;
    broken.index = class_count;
    EXPECT_FALSE(broken.is_valid());
    broken.index = kept_index;

    slab foreign{};
    const char* const end = broken.start + (broken.units - 1u) * pages::unit_bytes;
    pages::page_map::set(end, 1, 0x1000 | index, &foreign);
    EXPECT_FALSE(broken.is_valid());
    pages::page_map::set(end, 1, 0x1000 | index, &broken);

    EXPECT_TRUE(broken.is_valid());
  }
}

}  // namespace
