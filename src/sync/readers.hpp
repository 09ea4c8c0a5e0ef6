// The places of all threads that read versions.
#pragma once

#include <cstdint>

#include <tarn/detail/readers.hpp>

#include "platform/mutex.hpp"

namespace tarn::sync {

/// Who has a block of places. `left`: nobody, as soon as it names nothing; of a thread that ended, or of one place
/// alone.
enum class block_state : std::uint32_t { free, owned, left };

/// The places of a thread, or one more place of a thread that needs it. Two cache lines that only the reader writes,
/// and a cold one. Never given back to the system, so that a writer may look at any time.
struct alignas(64) reader_block {
  detail::reader_place places[detail::places_per_thread] = {};
  std::atomic<block_state> state{block_state::free};
  std::atomic<std::uint32_t> thread{0};  ///< the kernel's number
  reader_block* next = nullptr;          ///< in the list of all; never changes

  bool names_nothing() const noexcept;
};
static_assert(TARN_SMALL || sizeof(reader_block) == 192);

/// Held by whoever publishes, collects, or takes a block; for microseconds.
platform::mutex& writers_lock() noexcept;

/// All blocks that there ever were, newest first.
const reader_block* all_blocks() noexcept;

/// Every place that was written before is seen from here on, and every reader that comes later sees what the caller
/// wrote before. Called with the lock held.
void meet_all_readers() noexcept;

/// For tests: as where membarrier(2) is refused. Before the first read of the process.
void refuse_membarrier() noexcept;

}  // namespace tarn::sync
