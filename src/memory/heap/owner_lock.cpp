#include "memory/heap/owner_lock.hpp"

#include "platform/threads.hpp"

namespace tarn::heaps {

// Both sides of the wait are sequentially consistent: the visitor sees that the owner waits, or the kernel sees that
// the visitor has left.
void owner_lock::wait() noexcept {
  do {
    is_working_.store(false, std::memory_order_release);
    is_owner_waiting_.store(true, std::memory_order_seq_cst);
    while (visited_.load(std::memory_order_seq_cst) != 0) {
      platform::wait(reinterpret_cast<const std::uint32_t*>(&visited_), 1);
    }
    is_owner_waiting_.store(false, std::memory_order_relaxed);
    is_working_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } while (visited_.load(std::memory_order_acquire) != 0);
}

bool owner_lock::try_visit() noexcept {
  // acquire: the changes of the last visitor are complete.
  if (visited_.exchange(1, std::memory_order_acquire) != 0) return false;
  // If there was no barrier, step 5 does not prove that the owner is not at work.
  if (!platform::barrier_in_all_threads() || is_working_.load(std::memory_order_acquire)) {
    end_visit();
    return false;
  }
  platform::note_acquire(this);
  return true;
}

void owner_lock::end_visit() noexcept {
  platform::note_release(this);
  visited_.store(0, std::memory_order_seq_cst);
  if (is_owner_waiting_.load(std::memory_order_seq_cst)) {
    platform::wake_one(reinterpret_cast<const std::uint32_t*>(&visited_));
  }
}

}  // namespace tarn::heaps
