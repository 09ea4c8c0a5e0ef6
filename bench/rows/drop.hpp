// A request whose blocks all end at once, which is the use of arenas.
#pragma once
#include <array>
#include <cstddef>
#include <span>

#include "../work.hpp"

namespace bench {

/// Replaces an arena where there is none: release() of a heap, otherwise a free for each block.
template <class Front>
struct without_arena {
  Front& front;
  const std::size_t* sizes;
  [[gnu::always_inline]] void* allocate(std::size_t bytes) { return front.allocate(bytes); }
  [[gnu::always_inline]] void drop(std::span<void* const> blocks) {
    if constexpr (requires { front.release(); }) {
      front.release();
    } else {
      for (void* const block : blocks) front.deallocate(block, *sizes++);
    }
  }
};

/// Makes 200 blocks of random sizes, drawn before the clock starts, writes and reads all, then drops them; an arena
/// begins and ends with them. Unit: one block.
template <class Front>
std::uint64_t drop(const share& own_share) {
  constexpr std::size_t count = 200, requests = 20;
  static const auto sizes = [] {
    std::array<std::size_t, count * requests> drawn_sizes;
    random_numbers random(1);
    for (std::size_t& size : drawn_sizes) size = skewed_size(random.next());
    return drawn_sizes;
  }();
  Front front;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    const std::size_t* const request_sizes = sizes.data() + i % requests * count;
    std::array<void*, count> blocks;
    auto arena = [&] {
      if constexpr (requires { front.make_arena(); }) {
        return front.make_arena();
      } else {
        return without_arena<Front>{front, request_sizes};
      }
    }();
    for (std::size_t k = 0; k < count; ++k) {
      blocks[k] = arena.allocate(request_sizes[k]);
      mark(blocks[k], i + k);
    }
    for (void* const block : blocks) sum += marked(block);
    arena.drop(blocks);
  }
  return sum;
}

}  // namespace bench
