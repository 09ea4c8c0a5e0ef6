// The lock of the engine, and how it is held.
#pragma once

#include <tarn/spin_mutex.hpp>

namespace tarn::platform {

/// Usable before main, and resettable in a forked child.
class mutex : public spin_mutex {
 public:
  /// For the child of a fork, where no other thread lives.
  void reset() noexcept { state_.store(open, std::memory_order_relaxed); }
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
