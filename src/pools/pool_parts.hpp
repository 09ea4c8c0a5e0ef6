// How a fixed_pool's memory is laid out.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/fixed_pool.hpp>

namespace tarn::detail {

/// At the start of each chunk; the blocks follow, aligned. Invariant: begin <= fresh, and what
/// lies from fresh on was never handed out since the chunk was made or the pool cleared.
struct pool_chunk {
  pool_chunk* next;
  pool_chunk* next_fresh;
  std::size_t bytes;  ///< of the chunk
  std::size_t blocks;
  char* begin;
  char* fresh;
  std::uint64_t taken[1];  ///< in checked builds: a bit for each block with the program

  std::size_t fresh_blocks(std::size_t block_bytes) const noexcept {
    return blocks - static_cast<std::size_t>(fresh - begin) / block_bytes;
  }
};

/// A free block that holds the addresses of others, as many as fit.
struct pool_carrier {
  pool_carrier* next;
  void* blocks[1];
};

/// Blocks in one carrier: as many addresses as fit into a block, but not so many that one would be half a magazine.
inline constexpr std::size_t most_carried = pool_slots / 4;

}  // namespace tarn::detail
