// Marks free blocks, so that a second free is noticed.
//
// If marking is on (in the drop-in), a block that has returned to its own heap carries a mark in its second word until
// the heap hands it out again. The owner's free checks the mark at once. A remote free does not read the block, because
// its cache line is often in another core's cache; the owner checks the mark when it collects the block, and fetches
// many such lines at the same time.
//
// The mark depends on the address and on a number drawn at process start, so that no live block carries it by
// accident.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::heaps {

/// The mark is set once, while the process has one thread. No address has such high bits, so no pointer in a block
/// looks like a mark. A block that carries an older value counts as unmarked.
inline constexpr std::uintptr_t mark_high_bits = std::uintptr_t{0xa5} << 56;
inline constinit std::uintptr_t free_mark = mark_high_bits | 0x9e3779b97f4a7c;
/// Marking is on in this process.
inline constinit bool marks_blocks = false;
/// Draws the number and switches marking on, at the first call. The process must have one thread.
void draw_mark() noexcept;

/// A hardened heap keeps the first so many bytes of each free block zero, and the last word, except for words that
/// carry a mark. A smaller block is zero as a whole.
inline constexpr std::size_t max_zeroed_bytes = std::size_t{4} << 10;

[[gnu::always_inline]] inline std::uintptr_t& mark_of(void* block) noexcept {
  return static_cast<std::uintptr_t*>(block)[1];  // NOLINT(clang-analyzer-core.uninitialized.UndefReturn) never null
}
[[gnu::always_inline]] inline bool is_marked(void* block) noexcept {
  return mark_of(block) == (free_mark ^ reinterpret_cast<std::uintptr_t>(block));
}
[[gnu::always_inline]] inline void mark(void* block) noexcept {
  mark_of(block) = free_mark ^ reinterpret_cast<std::uintptr_t>(block);
}

// In a hardened heap a remote free leaves a mark of its own, which the owner replaces when it collects the block. This
// detects two threads that free a block at the same moment, so that neither sees the other one's mark in time:
//   two remote frees     the exchange shows the mark of the first one to the second
//   the owner is later   its store replaces the remote mark, and the collector reports that the mark is gone
//   the owner is first   the exchange shows the mark of the owner, or the owner's malloc finds the remote mark
// tests/models/hardened_free.pml searches all interleavings.

/// No address and no owner's mark has this bit where a mark has it.
inline constexpr std::uintptr_t remote_mark_bit = std::uintptr_t{1} << 55;

inline bool is_marked_remotely(void* block) noexcept {
  return (mark_of(block) ^ remote_mark_bit) == (free_mark ^ reinterpret_cast<std::uintptr_t>(block));
}
/// Reports a block that was freed remotely but no longer has the remote mark: it was written, or its owner freed it,
/// too. The function is set before the first block of a hardened heap.
using lost_mark_function = void (*)(void* block) noexcept;
inline constinit lost_mark_function report_lost_mark = nullptr;

/// Marks a block that is freed by another thread than its owner. Returns false if the block already has a mark, and so
/// is free.
inline bool mark_remotely(void* block) noexcept {
  const std::uintptr_t owners = free_mark ^ reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t remote = owners ^ remote_mark_bit;
  // acq_rel: a thread that finds the mark may read earlier writes of this thread, such as the place of the free.
  const std::uintptr_t before = __atomic_exchange_n(&mark_of(block), remote, __ATOMIC_ACQ_REL);
  return before != owners && before != remote;
}

}  // namespace tarn::heaps
