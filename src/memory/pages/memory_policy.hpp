// The memory policy of a segment allocator decides how much free memory it keeps, for how long, and when the rest
// goes back to the system.
//
// It knows numbers only: memory/pages/purge.cpp asks it and carries out the answers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tarn::pages {

/// The lock of its space guards it, except for `due` and `note_dirty`.
class memory_policy {
 public:
  /// Notes that units with memory have become free. Any thread may call it.
  void note_dirty() noexcept { is_pending_.store(true, std::memory_order_relaxed); }

  /// Returns true if free memory may be old enough to purge. Any thread may call it; cost: one or two loads.
  bool is_due(std::uint64_t now_ms) const noexcept {
    return is_pending_.load(std::memory_order_relaxed) && now_ms >= next_ms_.load(std::memory_order_relaxed);
  }
  /// Notes that one generation of free memory has gone back. The next one, if `is_any_left`, is
  /// due half a delay later.
  void note_aged(std::uint64_t now_ms, std::uint32_t delay_ms, bool is_any_left) noexcept {
    is_pending_.store(is_any_left, std::memory_order_relaxed);
    next_ms_.store(now_ms + delay_ms / 2, std::memory_order_relaxed);
  }

  /// Returns the bytes to give back now. `dirty_bytes` are free, `freed_bytes` of them through this call, and
  /// `used_bytes` are handed out. 0: none.
  std::size_t excess(std::size_t dirty_bytes, std::size_t used_bytes, std::size_t freed_bytes) noexcept;
  void note_excess_purged(std::uint64_t now_ms) noexcept { excess_purged_ms_ = now_ms; }

  /// Notes that a run came from memory that must be touched anew. Shortly after a purge of excess this means that the
  /// purge went too far: the policy then keeps twice as much. That regret fades: the amount halves every few seconds
  /// without another regret.
  void note_new_memory() noexcept;

  // The system refuses to take locked memory. One locked page (mlock) must not keep the rest, and a process that locks
  // all of its memory (mlockall) must not ask again and again: so after many refusals in a row purges pause, and each
  // pause is twice as long as the one before.

  void note_purged() noexcept { refusals_ = pause_ms_ = 0; }
  void note_refused() noexcept { ++refusals_; }
  /// Returns true if a part of a run may be purged although the system refused the whole.
  bool may_split() const noexcept { return refusals_ < min_refusals; }
  /// Returns true if this purge should end, because the last one ended in a pause and this one works no better.
  bool should_stop() const noexcept { return pause_ms_ != 0 && refusals_ >= min_refusals; }
  /// Notes that a purge has tried all that it wanted; perhaps a pause begins.
  void note_tried(std::uint64_t now_ms) noexcept;
  /// Returns true while all memory seems to be locked.
  bool is_locked() const noexcept { return pause_ms_ != 0; }
  /// Returns true during a pause.
  bool is_paused() const noexcept;
  /// Returns true if memory that was refused should be tried again; then not for a while.
  bool should_retry(std::uint64_t now_ms) noexcept;
  /// Begins anew, because the program asks for a purge: the memory may be unlocked by now.
  void forget_refusals() noexcept { refusals_ = pause_ms_ = 0; }

 private:
  std::atomic<std::uint64_t> next_ms_{0};
  std::atomic<bool> is_pending_{false};
  static constexpr std::size_t min_kept_bytes = std::size_t{16} << 20;

  std::size_t kept_dirty_ = min_kept_bytes;
  std::uint64_t regretted_ms_ = 0;      ///< time of the last regret, or when the regret last halved
  std::uint64_t excess_purged_ms_ = 0;  ///< 0: none lately

  /// More than it takes to find one locked unit among those that one system call purges.
  static constexpr std::uint32_t min_refusals = 16;
  std::uint32_t refusals_ = 0;       ///< since the last purge that worked, or the last pause
  std::uint32_t pause_ms_ = 0;       ///< length of the last pause; 0: none since the last purge that worked
  std::uint64_t pause_end_ms_ = 0;   ///< end of the last pause
  std::uint64_t next_retry_ms_ = 0;  ///< when refused memory is tried again
};

}  // namespace tarn::pages
