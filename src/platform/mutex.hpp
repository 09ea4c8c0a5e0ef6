// A lock for short critical sections: one word, no destructor, usable before
// main, and resettable in a forked child.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/platform.hpp"

namespace tarn::platform {

/// Meets Lockable. Spins for a moment, then sleeps in the kernel, so that it
/// does not collapse when threads outnumber cores. (The three-state futex lock
/// of U. Drepper, "Futexes Are Tricky", 2011.)
class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() noexcept {
    std::uint32_t expected = open;
    // acquire: what the last holder wrote before its unlock is seen here.
    if (!state_.compare_exchange_strong(expected, held, std::memory_order_acquire, std::memory_order_relaxed)) {
      lock_contended();
    }
  }

  bool try_lock() noexcept {
    std::uint32_t expected = open;
    return state_.compare_exchange_strong(expected, held, std::memory_order_acquire, std::memory_order_relaxed);
  }

  void unlock() noexcept {
    // release: pairs with the acquire of the next holder.
    if (state_.exchange(open, std::memory_order_release) == contended) {
      wake_one(word());
    }
  }

  /// For the child of a fork, where no other thread lives.
  void reset() noexcept { state_.store(open, std::memory_order_relaxed); }

 private:
  enum : std::uint32_t { open, held, contended };

  void lock_contended() noexcept {
    for (int round = 0; round < 64; ++round) {
      if (state_.load(std::memory_order_relaxed) == open && try_lock()) {
        return;
      }
      pause();
    }
    // From here on the word says that somebody may sleep, so unlock wakes.
    while (state_.exchange(contended, std::memory_order_acquire) != open) {
      wait(word(), contended);
    }
  }

  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

  const std::uint32_t* word() const noexcept { return reinterpret_cast<const std::uint32_t*>(&state_); }

  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
  std::atomic<std::uint32_t> state_{open};
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
