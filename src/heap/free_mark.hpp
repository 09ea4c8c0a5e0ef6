// The mark of a free block: how a second free is seen.
//
// Where marking is on (the drop-in), a block that its own heap has back carries a
// mark in its second word until it is handed out again. The owner's free sees it at
// once. A remote free does not look at the block, whose cache line is often another
// core's: there the owner sees it when it collects the block, and brings the line
// over at the same time, many of them at once.
//
// The mark depends on the address and on a number drawn when the process started, so
// that no live block has it by accident.
#pragma once

#include <cstdint>

namespace tarn::heaps {

/// Set once, while the process has one thread. No address has such high bits, so that
/// no pointer in a block looks like a mark. What was marked with another value before
/// counts as unmarked.
inline constexpr std::uintptr_t mark_high_bits = std::uintptr_t{0xa5} << 56;
inline constinit std::uintptr_t free_mark = mark_high_bits | 0x9e3779b97f4a7c;
/// Whether the process's free marks blocks.
inline constinit bool marks_blocks = false;

[[gnu::always_inline]] inline std::uintptr_t& mark_of(void* block) noexcept {
  return static_cast<std::uintptr_t*>(block)[1];
}
[[gnu::always_inline]] inline bool is_marked(void* block) noexcept {
  return mark_of(block) == (free_mark ^ reinterpret_cast<std::uintptr_t>(block));
}
[[gnu::always_inline]] inline void mark(void* block) noexcept {
  mark_of(block) = free_mark ^ reinterpret_cast<std::uintptr_t>(block);
}

}  // namespace tarn::heaps
