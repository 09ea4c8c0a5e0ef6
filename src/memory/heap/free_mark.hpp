// Marks free blocks, so that a second free is noticed.
//
// Where marking is on (the drop-in), a block that is back in its own heap carries a mark in its second word until the
// heap hands it out again. The owner's free notices it at once. A remote free does not read the block, because its
// cache line is often in another core's cache. There the owner notices the mark when it collects the block; it
// fetches many such lines at the same time.
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
/// True if this process's free marks blocks.
inline constinit bool marks_blocks = false;
/// Draws the number and switches marking on, at the first call. The process must have one thread.
void draw_mark() noexcept;

/// A hardened heap keeps at least this much of each free block zero, from its start on, and the last word; all of a
/// smaller block. It does not apply to words that carry a mark.
inline constexpr std::size_t most_zeroed_bytes = std::size_t{4} << 10;

[[gnu::always_inline]] inline std::uintptr_t& mark_of(void* block) noexcept {
  return static_cast<std::uintptr_t*>(block)[1];  // NOLINT(clang-analyzer-core.uninitialized.UndefReturn) never null
}
[[gnu::always_inline]] inline bool is_marked(void* block) noexcept {
  return mark_of(block) == (free_mark ^ reinterpret_cast<std::uintptr_t>(block));
}
[[gnu::always_inline]] inline void mark(void* block) noexcept {
  mark_of(block) = free_mark ^ reinterpret_cast<std::uintptr_t>(block);
}

}  // namespace tarn::heaps
