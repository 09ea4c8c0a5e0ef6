// A lock that needs nothing of the C library. It is held for some hundred instructions at most, and seldom contended.
#pragma once

#include <atomic>

#include "profiler/preload/base/raw_call.hpp"

namespace tarn::preload {

class lock {
 public:
  void acquire() noexcept {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      own_call(SYS_sched_yield);
    }
  }
  void release() noexcept { taken_.store(false, std::memory_order_release); }
  // Frees the lock in a child of fork, where the other threads, which may have held it, are gone.
  void begin_anew() noexcept { release(); }

 private:
  std::atomic<bool> taken_ = false;
};

class holding {
 public:
  explicit holding(lock& held) noexcept : held_(held) { held_.acquire(); }
  holding(const holding&) = delete;
  holding& operator=(const holding&) = delete;
  ~holding() { held_.release(); }

 private:
  lock& held_;
};

}  // namespace tarn::preload
