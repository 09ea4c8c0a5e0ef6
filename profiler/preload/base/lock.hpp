// A lock that needs nothing of the C library. It is held for some hundred instructions at most, and seldom contended.
#pragma once

#include <time.h>

#include <atomic>

#include "profiler/preload/base/raw_call.hpp"

namespace tarn::preload {

class lock {
 public:
  // The thread sleeps after some tries: one of a higher priority than the holder's would otherwise keep it from
  // running.
  void acquire() noexcept {
    constexpr int yields = 8;
    constexpr timespec pause{0, 20'000};
    for (int tries = 0; is_taken_.exchange(true, std::memory_order_acquire); ++tries) {
      if (tries < yields) {
        own_call(SYS_sched_yield);
      } else {
        own_call(SYS_nanosleep, &pause, nullptr);
      }
    }
  }
  // Returns false where the lock stays taken: a signal's handler may have interrupted the thread that holds it.
  bool try_acquire() noexcept {
    constexpr int tries = 8;
    for (int left = tries; left > 0; --left) {
      if (!is_taken_.exchange(true, std::memory_order_acquire)) return true;
      own_call(SYS_sched_yield);
    }
    return false;
  }
  void release() noexcept { is_taken_.store(false, std::memory_order_release); }
  // Frees the lock in a child of fork, where the other threads, which may have held it, are gone.
  void begin_anew() noexcept { release(); }

 private:
  std::atomic<bool> is_taken_ = false;
};

class holding {
 public:
  explicit holding(lock& target) noexcept : target_(target) { target_.acquire(); }
  holding(const holding&) = delete;
  holding& operator=(const holding&) = delete;
  ~holding() { target_.release(); }

 private:
  lock& target_;
};

}  // namespace tarn::preload
