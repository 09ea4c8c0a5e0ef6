// Keeps the last freed blocks of the guard from being reused, so that a late write is found. For some earlier blocks it
// remembers the calls that freed them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"
#include "base/fault.hpp"
#include "platform/mutex.hpp"

namespace tarn::guard {

/// A block that was freed.
struct freed_block {
  base::block_record record;
  char* start;             ///< start of the heap's block around it
  std::size_t held_bytes;  ///< bytes of the heap's block; 0: it does not wait
};

/// The freed blocks that wait, first in, first out. Any thread may call each function. No other lock is taken under its
/// lock.
/// Invariant: entries [left_, come_) of the ring wait, the entries before them are only remembered, and
///   come_ - left_ <= max_blocks, held_bytes_ == sum of their held_bytes
/// except between a push and the pops that follow it.
class quarantine {
 public:
  static constexpr std::size_t max_blocks = 4096;
  static constexpr std::size_t max_bytes = std::size_t{16} << 20;
  /// A larger block does not wait, because it would drive too many others out.
  static constexpr std::size_t max_bytes_of_one = max_bytes / 4;

  constexpr quarantine() noexcept = default;
  quarantine(const quarantine&) = delete;
  quarantine& operator=(const quarantine&) = delete;

  void push(const freed_block& block) noexcept;

  /// Takes the oldest block out if there are too many, or always with `is_forced`. Returns false if it took none.
  bool pop(freed_block& oldest, bool is_forced = false) noexcept;

  /// Finds the record of the last free of `block`, whether it still waits or not. Returns false if there is none.
  /// Slow.
  bool recall(const void* block, freed_block& last) noexcept;

  /// Calls `bad(entry)` for the waiting blocks, the oldest first. If it returns true for a block, this returns true and
  /// a copy of the entry.
  template <class Bad>
  bool find_waiting(freed_block& result, Bad bad) noexcept {
    const platform::locked hold(mutex_);
    for (std::uint64_t number = left_; number != come_; ++number) {
      if (slot(number).held_bytes != 0 && bad(slot(number))) {
        result = slot(number);
        return true;
      }
    }
    return false;
  }

  /// Returns the lock, which is held around a fork.
  platform::mutex& lock() noexcept { return mutex_; }

 private:
  static constexpr std::size_t remembered = 2 * max_blocks;
  static_assert(base::is_power_of_two(remembered));

  freed_block& slot(std::uint64_t number) noexcept { return ring_[number % remembered]; }

  platform::mutex mutex_{platform::lock_rank::isolated};
  std::uint64_t come_ = 0;  ///< the number of all blocks that ever came
  std::uint64_t left_ = 0;
  std::size_t held_bytes_ = 0;
  freed_block ring_[remembered] = {};
};

}  // namespace tarn::guard
