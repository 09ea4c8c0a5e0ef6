// Blocks of every kind whose contents say whether they are whole. They come from malloc's family, which is the drop-in
// where it is preloaded, from the engine that is linked in, or from a heap object.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <tarn/heap.hpp>

namespace soak {

/// Says how a block must be freed.
enum class source : std::uint32_t { family, engine, lane };

/// Stands at the start of each block. The rest is filled from `seed`.
struct header {
  std::size_t bytes;
  std::uint32_t seed;
  source origin;
  std::uint32_t lane;
};

/// A heap object, and a count of its blocks that other threads may hold.
struct lane {
  tarn::heap heap;
  std::atomic<int> abroad{0};
};

inline constexpr std::size_t lane_count = 4;
extern lane* lanes[lane_count];

/// Set while there is one thread: the system may refuse memory and threads.
extern bool is_scarce;

/// Makes all threads draw sizes and sources of blocks from mixture `number` of ten, which repeat; the start has number
/// 0. Each part of the heaps has its sizes, and is at work only where these are drawn often. Any thread.
void choose_mixture(std::uint64_t number) noexcept;

/// Set in the child of a fork, which must leave the heap objects of other threads alone.
extern bool is_child;

/// Ends the process with a text, without stdio, which works in the child of a fork, too.
void require(bool is_so, const char* text) noexcept;

class random {
 public:
  explicit random(std::uint64_t seed) noexcept : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  /// Returns a number below `limit`.
  std::size_t next_below(std::size_t limit) noexcept {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::size_t>(state_ >> 33) % limit;
  }

 private:
  std::uint64_t state_;
};

/// Returns a new block by a random function of malloc's family, or of the engine; null where memory is scarce.
header* make_block(random& dice) noexcept;
/// Returns a new block of a heap object, whose owner is the caller; null where memory is scarce.
header* make_lane_block(random& dice, std::uint32_t lane) noexcept;
/// Returns a size for a block, from the present mixture.
std::size_t draw_size(random& dice) noexcept;
void check_block(header* block) noexcept;
/// Checks the block, perhaps resizes it and checks it again, and frees it. Any thread. Null is allowed.
void end_block(random& dice, header* block) noexcept;
/// Calls functions as no program should, but may: each has an answer that is no block, or one without a byte.
void call_oddly(random& dice) noexcept;

}  // namespace soak
