// Tests size classes with all sizes and all alignments, which are few enough to try each.
#include <tarn/detail/size_class.hpp>

#include <gtest/gtest.h>

#include "memory/pages/slab.hpp"

namespace {

using namespace tarn::detail;

TEST(size_class, sizes_grow_and_are_multiples_of_the_block_alignment) {
  std::size_t before = 0;
  for (size_class index = 0; index < class_count; ++index) {
    EXPECT_GT(size_of(index), before);
    EXPECT_EQ(size_of(index) % block_alignment, 0u);
    before = size_of(index);
  }
  EXPECT_EQ(before, largest_class_size);
}

TEST(size_class, every_size_gets_the_smallest_class_that_fits) {
  size_class expected = 0;
  for (std::size_t bytes = 0; bytes <= largest_class_size; ++bytes) {
    while (size_of(expected) < bytes) ++expected;
    ASSERT_EQ(class_of(bytes), expected) << bytes;
  }
}

TEST(size_class, at_most_an_eighth_is_wasted_above_128_bytes) {
  for (std::size_t bytes = 129; bytes <= largest_class_size; ++bytes) {
    const std::size_t block = size_of(class_of(bytes));
    ASSERT_LE((block - bytes) * 8, block) << bytes;
  }
}

TEST(size_class, an_aligned_request_gets_the_smallest_class_that_is_a_multiple) {
  for (std::size_t alignment = 1; alignment <= largest_class_size; alignment *= 2) {
    for (std::size_t bytes = 0; bytes <= largest_class_size; bytes += bytes < 5'000 ? 1 : 997) {
      size_class expected = class_of(bytes);
      while (expected < class_count && size_of(expected) % alignment != 0) ++expected;
      ASSERT_EQ(class_of(bytes, alignment), expected) << bytes << " at " << alignment;
    }
  }
}

TEST(size_class, the_compiler_can_compute_it) {
  static_assert(class_of(0) == 0 && class_of(1) == 0 && class_of(16) == 0 && class_of(17) == 1);
  static_assert(class_of(100) == 6 && size_of(class_of(100)) == 112);
  static_assert(size_of(class_of(largest_class_size, largest_class_size)) == largest_class_size);
  static_assert(class_of(largest_class_size - 1, 1) == class_count - 1);
  SUCCEED();
}

// Slabs follow from classes: the rest behind the last block is waste, too.
TEST(size_class, slabs_have_enough_blocks_and_little_rest) {
  for (size_class index = 0; index < class_count; ++index) {
    const auto& shape = tarn::pages::shapes.classes[index];
    const std::size_t slab_bytes = shape.units * tarn::pages::unit_bytes;
    EXPECT_EQ(shape.block_bytes, size_of(index));
    EXPECT_GE(shape.capacity, size_of(index) <= 32 * 1024 ? 8 : 4);
    EXPECT_LE(shape.capacity, tarn::pages::max_blocks);
    EXPECT_LE(shape.capacity * size_of(index), slab_bytes);
    EXPECT_GT((shape.capacity + 1) * size_of(index), slab_bytes);
    EXPECT_LE(slab_bytes - shape.capacity * size_of(index), slab_bytes / (shape.units == 1 ? 11 : 16))
        << size_of(index);
  }
}

TEST(size_class, division_by_multiplication_is_exact_for_every_offset) {
  for (size_class index = 0; index < class_count; ++index) {
    const auto& shape = tarn::pages::shapes.classes[index];
    std::size_t number = 0;
    std::size_t next = shape.block_bytes;
    for (std::size_t offset = 0; offset < shape.units * tarn::pages::unit_bytes; ++offset) {
      if (offset == next) {
        ++number;
        next += shape.block_bytes;
      }
      ASSERT_EQ((offset * shape.inverse) >> 40, number) << index << " " << offset;
    }
  }
}

}  // namespace
