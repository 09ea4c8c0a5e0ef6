// The memory layout of a fixed_pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/fixed_pool.hpp>

namespace tarn::detail {

/// Stands at the start of each chunk; the blocks follow, aligned. Invariant: begin <= fresh, and nothing from fresh
/// on was handed out since the chunk was made or the pool cleared.
struct pool_chunk {
  pool_chunk* next;
  pool_chunk* next_untouched;
  std::size_t bytes;  ///< size of the chunk
  std::size_t blocks;
  char* begin;
  char* untouched;
  std::uint64_t in_use[1];  ///< in builds with checks: a bit for each block in use

  std::size_t untouched_blocks(std::size_t block_bytes) const noexcept {
    return blocks - static_cast<std::size_t>(untouched - begin) / block_bytes;
  }
};

/// A free block that holds the addresses of as many others as fit.
struct pool_carrier {
  pool_carrier* next;
  void* blocks[1];
};

/// The number of blocks in a carrier: as many addresses as fit into a block, but fewer than half a magazine.
inline constexpr std::size_t max_carrier_blocks = pool_slots / 4;

}  // namespace tarn::detail
