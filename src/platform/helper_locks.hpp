// Lets a program of one thread fork while the helper waits for a lock that the thread holds.
//
// A signal handler may fork where it interrupted malloc. If the helper waits for a lock that the interrupted call
// holds, it waits until the handler has returned, so the fork must not wait for the helper. It need not, because the
// helper takes no lock in the middle of a change: wherever it waits, all that it has changed is complete, and the child
// only has to open the locks that it holds (memory/thread/fork.cpp). So the helper publishes the lock for which it
// waits, and never while it has that lock:
//
//   the helper                               a thread that forks
//   1 tries to take the lock; if that        4 reads `awaited_`, and ends if it is null
//     fails, awaited_ = the lock             5 reads the lock, which must be taken
//   2 waits until it is perhaps open         6 reads `awaited_` again
//   3 awaited_ = null; continues with 1
//
// If 4 and 6 read the same lock and 5 finds it taken, then the thread that forks holds it, so the helper stays where it
// is until the handler returns. For if the thread does not hold it, only the helper can have taken it, in 1 and after
// 3. Then 6 sees null, since 1 releases and 5 acquires; and `awaited_` does not become this lock again while no other
// thread holds it. If 5 finds the lock open, the thread wakes the helper, because the handler may have interrupted an
// unlock that has not done so yet, and asks again. That the lock was merely awaited is not enough: the helper may be
// about to take it, and may hold other locks, which the program's own fork handlers need.
// (tests/models/helper_locks.pml, helper_locks_weak.cpp)
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/platform.hpp"

namespace tarn::platform {

class helper_locks {
 public:
  /// The word of a lock, which is 0 if the lock is open.
  using lock_word = std::atomic<std::uint32_t>;

  /// Makes the calling thread the helper, which takes contended locks by lock(), until leave().
  static void enter() noexcept { token_.store(thread_token(), std::memory_order_relaxed); }
  static void leave() noexcept { token_.store(0, std::memory_order_relaxed); }

  /// Returns true if the calling thread must take a contended lock by lock().
  static bool is_helper() noexcept {
    // relaxed: only the helper can find its own token there.
    return token_.load(std::memory_order_relaxed) == thread_token();
  }
  /// Takes a lock. `contended` is the word of a taken lock whose unlock wakes a thread.
  static void lock(lock_word& word, std::uint32_t contended) noexcept {
    while (word.exchange(contended, std::memory_order_acq_rel) != 0) {
      // release: what the helper has changed is complete for the thread that forks.
      awaited_.store(&word, std::memory_order_release);
      wait(reinterpret_cast<const std::uint32_t*>(&word), contended);
      awaited_.store(nullptr, std::memory_order_relaxed);
    }
  }

  /// Returns true if the helper waits for a lock that the calling thread holds, which must be the only thread beside
  /// the helper.
  static bool waits_for_caller() noexcept {
    const lock_word* const awaited = awaited_.load(std::memory_order_acquire);
    if (awaited == nullptr) return false;
    if (awaited->load(std::memory_order_acquire) != 0) return awaited_.load(std::memory_order_relaxed) == awaited;
    wake_one(reinterpret_cast<const std::uint32_t*>(awaited));
    return false;
  }
  /// Forgets the parent's helper, in a forked child.
  static void reset_after_fork() noexcept {
    leave();
    awaited_.store(nullptr, std::memory_order_relaxed);
  }

 private:
  static inline constinit std::atomic<std::uintptr_t> token_{0};  ///< thread_token of the helper; 0: there is none
  static inline constinit std::atomic<const lock_word*> awaited_{nullptr};
};

}  // namespace tarn::platform
