// How a guarded block lies in memory, and what is derived from its header.
//
//   the heap's block:  header | gap | state | the program's bytes | slack
//                      40         ≤64  8      as requested          8 … 4096 looked at
//
// Gap and slack hold the canary; the state differs from block to block. The gap is there
// where an alignment needs it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <tarn/detail/fast_path.hpp>

#include "base/fault.hpp"
#include "guard/canary.hpp"

namespace tarn::guard {

/// A large block is filled, and looked at, at its start only: the rest of its pages may
/// never be used.
inline constexpr std::size_t most_filled = std::size_t{64} << 10;
inline constexpr std::size_t most_slack = 4096;
inline constexpr std::size_t least_slack = 8;

enum class block_state : std::uint64_t { live, leaving, freed };

/// At the start of the heap's block. The second word is the heap's when the block is free
/// (heap/free_mark.hpp), so it holds nothing that is needed then.
struct header {
  std::uint64_t check;   ///< of all that does not change while the block lives
  const void* freed_at;  ///< while it lives: a pool's note
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

/// Where the program's bytes begin. 2^shift is an alignment beyond the usual; 0: none.
constexpr std::size_t offset_of(unsigned shift) noexcept { return shift == 0 ? usual_offset : std::size_t{1} << shift; }
constexpr unsigned shift_for(std::size_t alignment) noexcept {
  constexpr unsigned least = 6;
  static_assert((std::size_t{1} << least) >= usual_offset);
  if (alignment <= detail::block_alignment) {
    return 0;
  }
  const auto shift = static_cast<unsigned>(std::bit_width(alignment - 1));
  return shift < least ? least : shift;
}

/// A block whose header is whole.
struct guarded {
  header* head;
  char* user;
  char* end;  ///< of the heap's block

  std::size_t bytes() const noexcept { return head->bytes(); }
  char* start() const noexcept { return reinterpret_cast<char*>(head); }
  state_word* state() const noexcept { return reinterpret_cast<state_word*>(user) - 1; }
  state_word word_for(block_state state) const noexcept {
    return canary::word_for(user, static_cast<std::uint64_t>(state));
  }

  /// The canary before the state: the gap that an alignment leaves, its end only.
  char* gap() const noexcept {
    char* const before = reinterpret_cast<char*>(state());
    const auto size = static_cast<std::size_t>(before - start()) - sizeof(header);
    return before - (size < 64 ? size : 64);
  }
  /// The canary behind: [slack, slack_end).
  char* slack() const noexcept {
    // The inline path of free has put its mark into the second word by the time it comes
    // here, where a block begins at what could be the start of a heap's block: with an
    // alignment of 1 KiB or more (pages::may_start_at).
    const std::size_t skipped = head->shift() >= 10 && bytes() < 2 * sizeof(void*) ? 2 * sizeof(void*) : bytes();
    return user + skipped;
  }
  char* slack_end() const noexcept {
    const char* const first = slack();
    return static_cast<std::size_t>(end - first) < most_slack ? end : slack() + most_slack;
  }
  std::size_t filled() const noexcept { return bytes() < most_filled ? bytes() : most_filled; }

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

/// Whether a guarded block begins there, live or freed.
inline bool has_header(char* start, char* end) noexcept {
  const guarded block = at_start(start, end);
  return block.head->shift() < 48 && block.head->check == block.sum();
}

}  // namespace tarn::guard
