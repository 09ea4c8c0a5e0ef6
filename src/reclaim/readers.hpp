// The slots of all threads that read versions: the one place that knows what may be freed.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/detail/readers.hpp>

#include "platform/mutex.hpp"

namespace tarn::reclaim {

/// The owner of a block of slots. `left`: unowned; reusable once its slots are empty. It belonged to a thread that
/// ended, or of the parent process, or holds one additional slot.
enum class block_state : std::uint32_t { free, occupied, left };

/// The slots of a thread, or one additional slot of a thread. It has two cache lines that only the reader writes, and
/// a cold one. It is never given back to the system, so that a writer may read it at any time.
struct reader_block : detail::reader_slots {
  std::atomic<block_state> state{block_state::free};
  std::atomic<std::uint32_t> thread{0};  ///< the kernel's thread number; 0 in a forked child: of no thread here
  reader_block* next = nullptr;          ///< in the list of all blocks; never changes

  bool names_nothing() const noexcept;
  /// Returns whether the slots are those of a thread that this process, a forked child, does not have. A snapshot may
  /// have been moved from that thread to the one that forked. So the versions that such slots name are kept, and the
  /// slots are no other reader's, until the snapshot's holder empties them; mostly nobody does.
  bool is_inherited() const noexcept { return thread.load(std::memory_order_relaxed) == 0; }
};
static_assert(TARN_SMALL || sizeof(reader_block) == 192);

/// Protects publishing, collecting and taking a block. It is held for microseconds.
platform::mutex& writers_lock() noexcept;

/// Returns all blocks that were ever made, newest first.
reader_block* all_blocks() noexcept;

/// Returns how many threads of this process have slots: those that have read, and run. The caller holds the lock.
std::size_t reading_threads() noexcept;

/// Makes every earlier write to a slot visible to the caller, and makes the caller's earlier writes visible to every
/// later reader. Returns false when the kernel refuses that by now; the slots then say nothing about what is read. The
/// caller holds the lock.
[[nodiscard]] bool meet_all_readers() noexcept;
/// Returns whether meet_all_readers() fails, now and for ever. The caller holds the lock.
bool is_barrier_lost() noexcept;

/// Test hook: behaves as if membarrier(2) were unavailable. Call it before the first read of the process.
void refuse_membarrier() noexcept;

}  // namespace tarn::reclaim
