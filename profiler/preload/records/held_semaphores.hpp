// Keeps the semaphores that a thread has taken, and may post itself.
#pragma once

#include <atomic>
#include <cstddef>

#include "profiler/preload/records/held_locks.hpp"

namespace tarn::preload {

// The semaphores of one thread, in a ring apart from its locks: most are posted by another thread, which ends no hold.
// So they have no part in orders of locks, and never fill the thread's list. A signal's handler may post in between:
// an entry is free before it is filled, and never half described.
class held_semaphores {
 public:
  // Returns null when it is not known to be taken.
  held_lock* find(const void* address) noexcept {
    for (held_lock& hold : holds_) {
      if (hold.address == address) return &hold;
    }
    return nullptr;
  }
  // Returns the entry for one that is taken now, which the caller then describes; its address comes last. `give_up`
  // gets the entry as it was if it has another one, or this one from before.
  template <class GiveUp>
  held_lock& place_for(const void* address, GiveUp give_up) noexcept {
    held_lock* slot = find(address);
    if (slot == nullptr) slot = find(nullptr);
    if (slot == nullptr) slot = &holds_[next_++ % limit];
    if (slot->address != nullptr) give_up(*slot);
    remove(*slot);
    return *slot;
  }
  template <class GiveUp>
  void give_up_all(GiveUp give_up) noexcept {
    for (held_lock& hold : holds_) {
      if (hold.address != nullptr) give_up(hold);
      remove(hold);
    }
  }
  std::size_t index_of(const held_lock& hold) const noexcept { return static_cast<std::size_t>(&hold - holds_); }
  held_lock* begin() noexcept { return holds_; }
  held_lock* end() noexcept { return holds_ + limit; }
  static void remove(held_lock& hold) noexcept {
    hold.address = nullptr;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

 private:
  static constexpr std::size_t limit = format::max_semaphores;
  held_lock holds_[limit] = {};
  unsigned next_ = 0;  // the next one to be replaced
};

}  // namespace tarn::preload
