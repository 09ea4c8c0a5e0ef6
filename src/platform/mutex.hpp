// The engine's lock, and its guard.
#pragma once

#include <tarn/spin_mutex.hpp>

#include "platform/helper_locks.hpp"
#include "platform/lock_rank.hpp"
#include "platform/platform.hpp"
#include "platform/race_detector.hpp"

namespace tarn::platform {

/// A mutex that works before main and around fork. Builds with TARN_CHECKS end the process at the first lock that is
/// taken against the order of ranks, even if no other thread holds a lock.
class mutex : public spin_mutex {
 public:
  constexpr explicit mutex(lock_rank rank) noexcept : rank_(rank) {}

  void lock() noexcept {
    // relaxed: only the holder writes the word, so only its own thread can find itself.
    if (spin_mutex::try_lock()) {
      held_locks::note_acquired(rank_);
    } else if (forking_.load(std::memory_order_relaxed) != thread_token()) {
      held_locks::note_acquired(rank_);
      if (helper_locks::is_helper()) {
        static_assert(open == 0);
        helper_locks::lock(state_, contended);
      } else {
        spin_mutex::lock();
      }
    }
    note_acquire(this);
  }

  bool try_lock() noexcept {
    const bool is_locked = spin_mutex::try_lock();
    if (is_locked) {
      held_locks::note_acquired(rank_);
      note_acquire(this);
    }
    return is_locked;
  }

  void unlock() noexcept {
    if (forking_.load(std::memory_order_relaxed) == 0) {  // otherwise a second lock by the forking thread
      held_locks::note_released(rank_);
      note_release(this);
      spin_mutex::unlock();
    }
  }

  /// Locks for the time of a fork. This thread may lock it again, and unlock it as often, because other fork handlers
  /// run meanwhile and may allocate (memory/thread/fork.cpp).
  void lock_for_fork() noexcept {
    if (forking_.load(std::memory_order_relaxed) == thread_token()) {
      return;  // a fork handler forks
    }
    held_locks::acquired_for_fork(rank_);
    spin_mutex::lock();
    forking_.store(thread_token(), std::memory_order_relaxed);
  }
  /// Unlocks in the parent. Does nothing if the lock was created after lock_for_fork.
  void unlock_after_fork() noexcept {
    if (forking_.load(std::memory_order_relaxed) != 0) {
      forking_.store(0, std::memory_order_relaxed);
      held_locks::note_released_after_fork();
      spin_mutex::unlock();
    }
  }
  /// Resets in the child, where no other thread lives.
  void reset() noexcept {
    if (forking_.exchange(0, std::memory_order_relaxed) != 0) held_locks::note_released_after_fork();
    state_.store(open, std::memory_order_relaxed);
  }

 private:
  lock_rank rank_;
  std::atomic<std::uintptr_t> forking_{0};  ///< thread_token of a holder that forks
};

/// Holds a lock for a scope, like std::lock_guard without the weight of <mutex>.
template <class Mutex>
class [[nodiscard]] locked {
 public:
  explicit locked(Mutex& mutex) noexcept : mutex_(mutex) { mutex_.lock(); }
  ~locked() { mutex_.unlock(); }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace tarn::platform
