// Keeps visitors out of a heap while its owner is in a slow path, at the cost of two stores and a load for the owner.
//
//   owner                             visitor
//   1 working = true                  3 visited = true
//   2 reads visited                   4 a barrier in all threads
//                                     5 reads working
//
// The processor may delay 1 beyond 2, but not beyond the barrier of the visitor. If the owner passes the barrier before
// 1, then 2 comes after 3 and the owner waits. If it passes it after 1, then the visitor sees the owner in 5 and
// leaves. (tests/models/owner_lock.pml)
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.hpp"
#include "platform/platform.hpp"
#include "platform/race_detector.hpp"

namespace tarn::heaps {

class owner_lock {
 public:
  /// Enters a slow path. Owner only, and never inside another slow path.
  void enter() noexcept {
    TARN_CHECK(!is_working_.load(std::memory_order_relaxed) && "a slow path does not enter another one");
    is_working_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(
        std::memory_order_seq_cst);  // keeps the compiler's order; the visitor's barrier does the rest
    // acquire: the changes of the last visitor are complete.
    if (visited_.load(std::memory_order_acquire) != 0) [[unlikely]] {
      wait();
    }
    platform::note_acquire(this);
  }
  void leave() noexcept {
    platform::note_release(this);
    // release: a visitor that does not see the owner at work sees all of its changes.
    is_working_.store(false, std::memory_order_release);
  }

  /// Waits for the end of a visit. Owner only, outside of its slow paths.
  void wait_for_visitor() noexcept {
    enter();
    leave();
  }

  /// Returns true if the caller may visit until end_visit(); false if the owner is at work, another thread visits, or
  /// the kernel refuses the barrier. Any thread may call it. Cost: a barrier in all threads.
  bool try_visit() noexcept;
  /// Returns true if the owner waits for the end of the visit.
  bool is_wanted() const noexcept { return is_owner_waiting_.load(std::memory_order_relaxed); }
  void end_visit() noexcept;

  /// Runs in a forked child, where no visitor lives.
  void reset_after_fork() noexcept { visited_.store(0, std::memory_order_relaxed); }

 private:
  void wait() noexcept;

  std::atomic<bool> is_working_{false};        ///< the owner is in a slow path
  std::atomic<bool> is_owner_waiting_{false};  ///< for the end of a visit
  std::atomic<std::uint32_t> visited_{0};
};

}  // namespace tarn::heaps
