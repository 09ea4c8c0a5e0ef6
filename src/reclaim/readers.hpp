// The slots of all threads that read versions. They decide which versions may be freed.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/detail/readers.hpp>

#include "platform/mutex.hpp"

namespace tarn::reclaim {

/// The state of a block of slots. `left`: unowned, and reusable once its slots are empty. Its owner was a thread that
/// ended or that only the parent process has; or the block serves as one additional slot.
enum class block_state : std::uint32_t { free, occupied, left };

/// The slots of a thread, or one additional slot of a thread: two cache lines that only the reader writes, and one that
/// is rarely used. Its memory never goes back to the system, so that a writer may read it at any time.
struct reader_block : detail::reader_slots {
  std::atomic<block_state> state{block_state::free};
  std::atomic<std::uint32_t> thread{0};  ///< the kernel's thread number; 0: a thread that this forked child lacks
  reader_block* next = nullptr;          ///< in the list of all blocks; never changes
  reader_block* next_left = nullptr;     ///< in the list of the blocks that are left

  /// Returns true if no slot names a version.
  bool is_quiescent() const noexcept;
  /// Returns true if the slots belong to a thread of the parent that this process, a forked child, does not have. A
  /// snapshot may have been moved from that thread to the one that forked. So the versions in such slots are kept, and
  /// no reader takes the slots until the snapshot ends, which mostly never happens.
  bool is_inherited() const noexcept { return thread.load(std::memory_order_relaxed) == 0; }
};
static_assert(TARN_SMALL || sizeof(reader_block) == 192);

/// Registers the process with the kernel for barriers, once. Call it without a lock: in a process with threads it may
/// take 50 ms.
void prepare_readers() noexcept;

/// Protects publishing, collecting and taking a block. It is held for microseconds.
platform::mutex& writers_lock() noexcept;

/// Returns all blocks that were ever made, newest first.
reader_block* all_blocks() noexcept;

/// Returns the number of running threads of this process that have ever read. The caller holds the lock.
std::size_t reading_threads() noexcept;

/// Makes every earlier write to a slot visible to the caller, and makes the caller's earlier writes visible to every
/// later reader. Returns false if the kernel refuses that; the slots then no longer show what is read. The caller holds
/// the lock.
[[nodiscard]] bool synchronise_with_readers() noexcept;
/// Returns true once synchronise_with_readers() has failed; it then always fails. The caller holds the lock.
bool is_barrier_lost() noexcept;

/// Test hook: the number of blocks that threads have looked at to find one for themselves. The caller holds the lock.
std::uint64_t examined_blocks() noexcept;
/// Test hook: behaves as if membarrier(2) were unavailable. Call it before the first read of the process.
void refuse_membarrier() noexcept;

}  // namespace tarn::reclaim
