// The lock of the engine, and how it is held.
#pragma once

#include <tarn/spin_mutex.hpp>

#include "platform/lock_rank.hpp"
#include "platform/platform.hpp"

namespace tarn::platform {

/// Usable before main, and ready for fork. Builds with TARN_CHECKS end the process at the first lock that is taken
/// against the order of ranks, whether or not two threads met.
class mutex : public spin_mutex {
 public:
  constexpr explicit mutex(lock_rank rank) noexcept : rank_(rank) {}

  void lock() noexcept {
    // relaxed: the word is written by the holder only, so only its own thread finds itself.
    if (spin_mutex::try_lock()) {
      held_locks::taken(rank_);
    } else if (forking_.load(std::memory_order_relaxed) != thread_token()) {
      held_locks::taken(rank_);
      spin_mutex::lock();
    }
  }

  bool try_lock() noexcept {
    const bool got = spin_mutex::try_lock();
    if (got) {
      held_locks::taken(rank_);
    }
    return got;
  }

  void unlock() noexcept {
    if (forking_.load(std::memory_order_relaxed) == 0) {  // else of a second lock, by the thread that forks
      held_locks::left(rank_);
      spin_mutex::unlock();
    }
  }

  /// As lock, but this thread may then lock again, and unlock as often: fork handlers of
  /// others run while it is held, and may allocate (thread/fork.cpp).
  void lock_for_fork() noexcept {
    if (forking_.load(std::memory_order_relaxed) == thread_token()) {
      return;  // a handler of a fork forks
    }
    held_locks::taken_for_fork(rank_);
    spin_mutex::lock();
    forking_.store(thread_token(), std::memory_order_relaxed);
  }
  /// In the parent. Nothing, if the lock came into being after lock_for_fork.
  void unlock_after_fork() noexcept {
    if (forking_.load(std::memory_order_relaxed) != 0) {
      forking_.store(0, std::memory_order_relaxed);
      held_locks::left_after_fork();
      spin_mutex::unlock();
    }
  }
  /// In the child, where no other thread lives.
  void reset() noexcept {
    if (forking_.exchange(0, std::memory_order_relaxed) != 0) {
      held_locks::left_after_fork();
    }
    state_.store(open, std::memory_order_relaxed);
  }

 private:
  lock_rank rank_;
  std::atomic<std::uintptr_t> forking_{0};  ///< thread_token of a holder who forks
};

/// Holds a lock for a scope; std::lock_guard without <mutex>'s weight.
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
