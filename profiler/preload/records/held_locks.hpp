// Keeps the locks that a thread holds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/stacks/stack_cache.hpp"

namespace tarn::preload {

struct alignas(16) held_lock {  // 64 bytes, so that an index is a shift
  const void* address;
  format::lock_cell* cell;  // the counters of the acquisition; null while it has no site
  format::open_use* use;    // where `tarn record` sees the hold, if anywhere; not set while there is no cell
  acquisition_point acquisition;
  std::uint64_t since;   // of the clock; 0 while the thread waits for a condition, and if it is not timed; not set
                         // while there is no cell
  std::uint16_t weight;  // how many acquisitions this one stands for; 0: it was skipped
  std::uint16_t type;    // format::lock_type
  bool is_shared;        // held as one of several readers
};

// The held locks of one thread. Locks beyond the limit are not timed. A signal's handler may take and release locks in
// between: `count_` is the larger of its values around each change, so the handler's locks come on top.
class held_locks {
 public:
  // Adds a lock, which the caller then describes. Returns null when there is no room.
  [[gnu::always_inline]] held_lock* push() noexcept {
    if (count_ == limit) [[unlikely]]
      return nullptr;
    held_lock* const slot = &locks_[count_++];
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return slot;
  }
  // Returns the newest hold of the lock, as locks are mostly released in reverse order; null when there is none.
  held_lock* find(const void* address) noexcept {
    for (std::size_t index = count_; index-- > 0;) {
      if (locks_[index].address == address) return &locks_[index];
    }
    return nullptr;
  }
  std::size_t count() const noexcept { return count_; }
  held_lock& operator[](std::size_t index) noexcept { return locks_[index]; }
  // Removes the newest lock.
  [[gnu::always_inline]] void pop() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    --count_;
  }
  void forget_all() noexcept { count_ = 0; }
  void remove(const held_lock* removed) noexcept {
    for (auto index = static_cast<std::size_t>(removed - locks_); index + 1 < count_; ++index)
      locks_[index] = locks_[index + 1];
    pop();
  }

 private:
  static constexpr std::size_t limit = format::max_holds;
  std::size_t count_ = 0;
  held_lock locks_[limit];
};

}  // namespace tarn::preload
