// One allocation and its free; bursts of 64; and both calls through calloc and aligned_alloc.
#pragma once
#include "../work.hpp"

namespace bench {

/// Unit: one allocation and its free.
template <class Front, std::size_t Size>
std::uint64_t pair(const share& own_share) {
  Front front;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    void* block = front.template make<Size>();
    mark(block, i);
    sum += marked(block);
    front.template unmake<Size>(block);
  }
  return sum;
}

enum class order { fifo, lifo };

/// 64 allocations, then 64 frees: oldest first (fifo) or newest first (lifo). Unit: one allocation and its free.
template <class Front, std::size_t Size, order Order>
std::uint64_t burst(const share& own_share) {
  constexpr unsigned count = 64;
  Front front;
  void* blocks[count];
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    for (unsigned k = 0; k < count; ++k) {
      blocks[k] = front.template make<Size>();
      mark(blocks[k], i + k);
    }
    for (unsigned k = 0; k < count; ++k) {
      void* block = blocks[Order == order::fifo ? k : count - 1 - k];
      sum += marked(block);
      front.template unmake<Size>(block);
    }
  }
  return sum;
}

/// calloc and free. The first and the last word are read (they must be 0) and written, so that the next block at this
/// address has to be cleared. Unit: one allocation and its free.
template <class Front, std::size_t Size>
std::uint64_t zeroed_pair(const share& own_share) {
  Front front;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    auto* numbers = static_cast<std::uint64_t*>(front.allocate_zeroed(Size));
    keep(numbers);
    sum += numbers[0] + numbers[Size / 8 - 1];
    numbers[0] = numbers[Size / 8 - 1] = ~i;
    keep(numbers);
    sum += numbers[0];
    front.deallocate_c(numbers);
  }
  return sum;
}

/// aligned_alloc and free. The address modulo the alignment is added to the checksum: it must be 0. Unit: one
/// allocation and its free.
template <class Front, std::size_t Size, std::size_t Align>
std::uint64_t aligned_pair(const share& own_share) {
  Front front;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    void* block = front.allocate_aligned(Size, Align);
    mark(block, i);
    sum += marked(block) + (reinterpret_cast<std::uintptr_t>(block) & (Align - 1));
    front.deallocate_aligned(block, Size, Align);
  }
  return sum;
}

}  // namespace bench
