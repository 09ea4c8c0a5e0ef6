// The statistics of a heap and of the whole process: plain numbers, copied out in one snapshot.
#pragma once

#include <cstdint>

namespace tarn {

/// Describes one heap. Counts start with the heap and only grow, unless marked "now". Bytes are bytes of size classes
/// (the memory that blocks occupy), not the requested sizes.
///
/// A heap counts calls only where it was asked to (heap_options::counts_calls, TARN_STATS): `counts_calls` tells. Then
/// the blocks now in use are allocated_blocks - freed_blocks; otherwise these counts and their bytes are 0.
///
/// When other threads work during the read, each number is exact or a little old, and the numbers need not be
/// consistent with each other. A remote free counts when the heap takes the block in: at its thread's next refill, or
/// at once if it has no thread. The sums of process_statistics count it at once, except those of heap objects.
struct heap_statistics {
  /// true: the next four are counted; in a sum: those of the heaps that count
  bool counts_calls = false;
  /// blocks that were allocated; 0 without counts_calls
  std::uint64_t allocated_blocks = 0;
  /// blocks that were freed; 0 without counts_calls
  std::uint64_t freed_blocks = 0;
  /// bytes of these allocated blocks; 0 without counts_calls
  std::uint64_t allocated_bytes = 0;
  /// bytes of these freed blocks; 0 without counts_calls
  std::uint64_t freed_bytes = 0;
  std::uint64_t remote_frees = 0;  ///< blocks of this heap that other threads freed; counted by all heaps
  /// now: bytes in blocks of the program, and in free ones of the front magazines, from which the next calls are served
  std::uint64_t used_bytes = 0;
  std::uint64_t slabs = 0;         ///< now: slabs that the heap owns
  std::uint64_t slab_bytes = 0;    ///< now: their bytes
  std::uint64_t large_blocks = 0;  ///< now: blocks with pages of their own
  std::uint64_t large_bytes = 0;   ///< now: their bytes
  /// now: bytes in slabs and large blocks; free memory that the heap keeps for later, as after release(), is not
  /// counted
  std::uint64_t footprint_bytes = 0;
  std::uint64_t peak_footprint_bytes = 0;  ///< most of footprint_bytes so far
  std::uint64_t refills = 0;               ///< magazines filled from the slabs
  std::uint64_t flushes = 0;               ///< magazines emptied into the slabs

  /// Adds everything except for the peak, because peaks belong to different moments.
  constexpr heap_statistics& operator+=(const heap_statistics& added) noexcept {
    counts_calls = counts_calls || added.counts_calls;
    allocated_blocks += added.allocated_blocks;
    freed_blocks += added.freed_blocks;
    allocated_bytes += added.allocated_bytes;
    freed_bytes += added.freed_bytes;
    remote_frees += added.remote_frees;
    used_bytes += added.used_bytes;
    slabs += added.slabs;
    slab_bytes += added.slab_bytes;
    large_blocks += added.large_blocks;
    large_bytes += added.large_bytes;
    footprint_bytes += added.footprint_bytes;
    refills += added.refills;
    flushes += added.flushes;
    return *this;
  }
};

/// Counts the system calls that the allocator made, by kind. Each thread may use a copy of its own; nothing throws.
struct system_call_counts {
  /// calls of mmap(2)
  std::uint64_t mmap = 0;
  /// calls of munmap(2)
  std::uint64_t munmap = 0;
  /// calls of mremap(2)
  std::uint64_t mremap = 0;
  /// calls of madvise(2)
  std::uint64_t madvise = 0;
  /// calls of mprotect(2)
  std::uint64_t mprotect = 0;

  /// Returns the number of all of them.
  constexpr std::uint64_t sum() const noexcept { return mmap + munmap + mremap + madvise + mprotect; }
};

/// Describes the whole process.
struct process_statistics {
  heap_statistics sums;                    ///< over all present and former heaps; footprints: of the present heaps
  std::uint64_t waiting_frees = 0;         ///< now: blocks that were freed and that their heaps have not taken in
  std::uint64_t waiting_bytes = 0;         ///< now: their bytes
  std::uint64_t heaps = 0;                 ///< now
  std::uint64_t threads_started = 0;       ///< threads that ever got a heap
  std::uint64_t abandoned_heaps = 0;       ///< heaps whose thread ended
  std::uint64_t adopted_heaps = 0;         ///< abandoned heaps that a new thread took over
  std::uint64_t purges = 0;                ///< runs of empty pages given back to the system
  std::uint64_t purged_bytes = 0;          ///< bytes of these runs
  std::uint64_t footprint_bytes = 0;       ///< now: in slabs and large blocks of all heaps
  std::uint64_t mapped_bytes = 0;          ///< now: address space, most of it never touched
  std::uint64_t peak_footprint_bytes = 0;  ///< most of footprint_bytes so far
  /// system calls of the allocator, since the start of the process
  system_call_counts system_calls;
};

}  // namespace tarn
