// The table of a heap object that remembers its blocks: where each was allocated and freed. memory/thread/sites.hpp
// and memory/thread/guarded_heap.hpp use it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fault.hpp"
#include "memory/heap/heap.hpp"

namespace tarn::heaps {

/// An open hash table from addresses to calls. Invariant: count <= 3/4 of room, a power of two; an entry lies at or
/// behind the slot of its hash, with no empty slot between.
struct site_table {
  struct entry {
    const void* block;
    const void* site;
    std::size_t bytes;
    std::uint32_t thread;
    std::uint32_t freed_by;
    const void* freed_at;  ///< null: in use, or freed by another thread where blocks are not guarded

    base::block_record record() const noexcept {
      return {.block = block,
              .bytes = bytes,
              .allocated_at = site,
              .allocated_by = thread,
              .freed_by = freed_by,
              .freed_at = freed_at};
    }
  };
  entry* entries;
  std::size_t room;
  std::size_t count;
  bool reports_leaks;  ///< heap_options::records_sites

  // The freed blocks of a guarded heap wait here, first in, first out.
  static constexpr std::size_t max_waiting_blocks = TARN_SMALL ? 16 : 256;
  const void* waiting[max_waiting_blocks];
  std::size_t come;  ///< the number of blocks that were ever added; the last ones, from `left` on, wait
  std::size_t left;
  std::size_t waiting_bytes;

  entry& place_of(const void* block) const noexcept {
    std::size_t slot = (reinterpret_cast<std::uintptr_t>(block) * 0x9e3779b97f4a7c15) >> 20;
    while (entries[slot &= room - 1].block != nullptr && entries[slot].block != block) ++slot;
    return entries[slot];
  }
};

}  // namespace tarn::heaps
