// Defines the layout of a guarded block in memory, and derives everything else from its header.
//
//   the heap's block:  header | gap | state | the program's bytes | slack
//                      40         ≤64  8      as requested          8 … 4096 checked
//
// Gap and slack hold the canary; the state differs from block to block. The gap exists only where an alignment needs
// it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <tarn/detail/fast_path.hpp>

#include "base/fault.hpp"
#include "memory/heap/canary.hpp"

namespace tarn::guard {

namespace canary = heaps::canary;

/// A large block is filled and checked only at its start, because the rest of its pages may never be used.
inline constexpr std::size_t max_filled_bytes = std::size_t{64} << 10;
inline constexpr std::size_t max_slack = 4096;
inline constexpr std::size_t min_slack = 8;

enum class block_state : std::uint64_t { live, leaving, freed };

/// Lies at the start of the heap's block. The second word belongs to the heap while the block is free
/// (memory/heap/free_mark.hpp), so it holds nothing that is needed then.
struct header {
  std::uint64_t check;   ///< checksum of all that does not change while the block lives
  const void* freed_at;  ///< a pool's note while the block lives
  const void* allocated_at;
  std::uint64_t bytes_and_shift;
  std::uint32_t allocated_by;
  std::uint32_t freed_by;

  std::size_t bytes() const noexcept { return bytes_and_shift >> 8; }
  unsigned shift() const noexcept { return bytes_and_shift & 0xff; }
};
static_assert(sizeof(header) == 40);

/// The word before the program's first byte is the block's state, and the canary of
/// underruns at the same time.
using state_word = std::uint64_t;
constexpr std::size_t usual_offset = sizeof(header) + sizeof(state_word);
static_assert(usual_offset % detail::block_alignment == 0);

/// Returns the offset of the program's bytes. 2^shift is an alignment beyond the usual; 0 means none.
constexpr std::size_t offset_of(unsigned shift) noexcept { return shift == 0 ? usual_offset : std::size_t{1} << shift; }
constexpr unsigned shift_for(std::size_t alignment) noexcept {
  constexpr unsigned min_shift = 6;
  static_assert((std::size_t{1} << min_shift) >= usual_offset);
  if (alignment <= detail::block_alignment) return 0;
  const auto shift = static_cast<unsigned>(std::bit_width(alignment - 1));
  return shift < min_shift ? min_shift : shift;
}

/// A block whose header is whole.
struct guarded {
  header* head;
  char* user;
  char* end;  ///< end of the heap's block

  std::size_t bytes() const noexcept { return head->bytes(); }
  char* start() const noexcept { return reinterpret_cast<char*>(head); }
  state_word* state() const noexcept { return reinterpret_cast<state_word*>(user) - 1; }
  state_word word_for(block_state state) const noexcept {
    return canary::word_for(user, static_cast<std::uint64_t>(state));
  }

  /// Returns the start of the canary before the state: the end of the gap that an alignment leaves.
  char* gap() const noexcept {
    char* const before = reinterpret_cast<char*>(state());
    const auto size = static_cast<std::size_t>(before - start()) - sizeof(header);
    return before - (size < 64 ? size : 64);
  }
  /// Returns the start of the canary behind the program's bytes: [slack, slack_end).
  char* slack() const noexcept {
    // If this block begins where a heap's block could start, which needs an alignment of 1 KiB or more
    // (pages::may_start_at), the inline path of free has already written its mark into the second word.
    const std::size_t skipped = head->shift() >= 10 && bytes() < 2 * sizeof(void*) ? 2 * sizeof(void*) : bytes();
    return user + skipped;
  }
  char* slack_end() const noexcept {
    const char* const first = slack();
    return static_cast<std::size_t>(end - first) < max_slack ? end : slack() + max_slack;
  }
  std::size_t filled_bytes() const noexcept { return bytes() < max_filled_bytes ? bytes() : max_filled_bytes; }

  std::uint64_t sum() const noexcept {
    return canary::sum(start(), head->bytes_and_shift, reinterpret_cast<std::uintptr_t>(head->allocated_at),
                       head->allocated_by);
  }
  base::block_record record() const noexcept {
    return {user, bytes(), head->allocated_at, head->allocated_by, 0, nullptr};
  }
};

inline guarded at_start(char* start, char* end) noexcept {
  auto* const head = reinterpret_cast<header*>(start);
  return {head, start + offset_of(head->shift()), end};
}

/// Returns whether a guarded block begins there, live or freed.
inline bool has_header(char* start, char* end) noexcept {
  const guarded block = at_start(start, end);
  return block.head->shift() < 48 && block.head->check == block.sum();
}

}  // namespace tarn::guard
