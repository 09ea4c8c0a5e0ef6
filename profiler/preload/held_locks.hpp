// Keeps the locks that a thread holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/format/region.hpp"

namespace tarn::preload {

struct held_lock {
  const void* address;
  format::lock_cell* cell;  // the counters of the acquisition
  std::uint64_t since;      // of the clock; 0 while the thread waits for a condition
  bool shared;              // held as one of several readers
};

// The held locks of one thread. Locks beyond the limit are not timed.
class held_locks {
 public:
  void push(const held_lock& lock) noexcept {
    if (count_ < limit) locks_[count_++] = lock;
  }
  // Returns the newest hold of the lock, as locks are mostly released in reverse order; null when there is none.
  held_lock* find(const void* address) noexcept {
    for (std::size_t index = count_; index-- > 0;) {
      if (locks_[index].address == address) return &locks_[index];
    }
    return nullptr;
  }
  std::size_t count() const noexcept { return count_; }
  const held_lock& operator[](std::size_t index) const noexcept { return locks_[index]; }
  void remove(const held_lock* which) noexcept {
    --count_;
    for (auto index = static_cast<std::size_t>(which - locks_); index < count_; ++index)
      locks_[index] = locks_[index + 1];
  }

 private:
  static constexpr std::size_t limit = 32;
  held_lock locks_[limit];
  std::size_t count_ = 0;
};

}  // namespace tarn::preload
