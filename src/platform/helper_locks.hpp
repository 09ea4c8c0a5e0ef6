// Lets a program of one thread fork while the helper waits for a lock that the thread holds.
//
// A signal handler may fork where it interrupted malloc. If the helper waits for a lock that the interrupted call
// holds, it waits until the handler has returned, so the fork must not wait for the helper. It may overtake the helper
// instead, because a thread that waits for one of these locks is not in the middle of a change: the locks that are
// taken under a space's lock (page_map and so on) are left out. The two exclude each other with Dekker's algorithm, so
// all operations are sequentially consistent:
//
//   the helper                        a thread that forks
//   1 is_blocked_ = true              5 ++overtaking_
//   2 takes the lock                  6 reads `is_blocked_`, and forks if it is true
//   3 is_blocked_ = false
//   4 reads `overtaking_`, and unlocks
//     and waits if it is not 0
//
// With any weaker order 6 may read the value of 1 while 4 misses 5, and the child would find the lock held by a thread
// that is in the middle of a change.
#pragma once

#include <atomic>
#include <cstdint>

#include <tarn/spin_mutex.hpp>

#include "platform/lock_rank.hpp"
#include "platform/platform.hpp"

namespace tarn::platform {

class helper_locks {
 public:
  /// Makes the calling thread the helper, which takes contended locks by lock(), until leave().
  static void enter() noexcept { token_.store(thread_token(), std::memory_order_relaxed); }
  static void leave() noexcept { token_.store(0, std::memory_order_relaxed); }

  /// Returns true if the calling thread must take a contended lock of this rank by lock().
  static bool must_announce(lock_rank rank) noexcept {
    // relaxed: only the helper can find its own token there.
    return (rank <= lock_rank::space || rank == lock_rank::magazines) &&
           token_.load(std::memory_order_relaxed) == thread_token();
  }
  static void lock(spin_mutex& contended) noexcept {
    for (;;) {
      is_blocked_.store(true, std::memory_order_seq_cst);
      contended.lock();
      is_blocked_.store(false, std::memory_order_seq_cst);
      if (overtaking_.load(std::memory_order_seq_cst) == 0) return;
      is_blocked_.store(true, std::memory_order_seq_cst);
      contended.unlock();
      while (overtaking_.load(std::memory_order_seq_cst) != 0) sleep_ms(1);
    }
  }

  /// Returns true if the helper waits for a lock, and then keeps it from taking one until end_overtaking(). A thread
  /// calls it before a fork.
  static bool overtake() noexcept {
    overtaking_.fetch_add(1, std::memory_order_seq_cst);
    if (is_blocked_.load(std::memory_order_seq_cst)) return true;
    overtaking_.fetch_sub(1, std::memory_order_seq_cst);
    return false;
  }
  static void end_overtaking() noexcept { overtaking_.store(0, std::memory_order_seq_cst); }
  /// Forgets the parent's helper, in a forked child.
  static void reset_after_fork() noexcept {
    leave();
    is_blocked_.store(false, std::memory_order_relaxed);
    end_overtaking();
  }

 private:
  static inline constinit std::atomic<std::uintptr_t> token_{0};  ///< thread_token of the helper; 0: there is none
  static inline constinit std::atomic<bool> is_blocked_{false};
  static inline constinit std::atomic<std::uint32_t> overtaking_{0};  ///< forks that do not wait for the helper
};

}  // namespace tarn::platform
