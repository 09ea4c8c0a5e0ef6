// Size classes: the block sizes that heaps hand out, computed so that the compiler can do it when the size is
// constant.
//
//   1 … 256 bytes     steps of 16                      classes  0 … 15
//   up to 256 KiB     8 steps for each power of two    classes 16 … 95
//
// Above 128 bytes, at most one ninth of a block is therefore rounding. Larger blocks are runs of whole units
// (memory/pages/space.hpp).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tarn::detail {

using size_class = std::uint32_t;

inline constexpr std::size_t block_alignment = 16;
inline constexpr std::size_t linear_limit = 256;
inline constexpr size_class linear_classes = linear_limit / block_alignment;
inline constexpr size_class steps_per_doubling = 8;
inline constexpr size_class doublings = 10;
inline constexpr size_class class_count = linear_classes + steps_per_doubling * doublings;
inline constexpr std::size_t largest_class_size = linear_limit << doublings;

/// Returns the smallest class whose blocks hold `bytes` (0 counts as 1). Requires bytes <= largest_class_size. Cost:
/// a few instructions, no memory access.
constexpr size_class class_of(std::size_t bytes) noexcept {
  if (bytes <= linear_limit) return bytes == 0 ? 0 : static_cast<size_class>((bytes - 1) / block_alignment);
  const auto width = static_cast<size_class>(std::bit_width(bytes - 1));
  const auto step = static_cast<size_class>((bytes - 1) >> (width - 4));
  return linear_classes + (width - 9) * steps_per_doubling + (step - steps_per_doubling);
}

/// Returns the bytes in every block of `index`.
constexpr std::size_t size_of(size_class index) noexcept {
  if (index < linear_classes) return (index + 1) * block_alignment;
  const size_class doubling_class = index - linear_classes;
  const std::size_t base = linear_limit << (doubling_class / steps_per_doubling);
  return base + (doubling_class % steps_per_doubling + 1) * (base / steps_per_doubling);
}

/// Returns the smallest class that holds `bytes` and whose size is a multiple of `alignment` (a power of two; both up
/// to largest_class_size), so that its blocks have that alignment in a slab that starts on it. Returns class_count
/// when there is none.
constexpr size_class class_of(std::size_t bytes, std::size_t alignment) noexcept {
  // Class sizes are multiples of the step between them, a power of two. An alignment below the step divides it.
  // Otherwise the rounded size is a multiple of the step, and so the size of a class.
  const std::size_t rounded = bytes == 0 ? alignment : (bytes + alignment - 1) & ~(alignment - 1);
  return rounded <= largest_class_size ? class_of(rounded) : class_count;
}

static_assert(class_count == 96);
static_assert(size_of(class_count - 1) == largest_class_size);
static_assert(class_of(largest_class_size) == class_count - 1);
static_assert(class_of(257) == 16 && size_of(16) == 288);

}  // namespace tarn::detail
