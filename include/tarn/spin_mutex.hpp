// A lock for short critical sections: one word, no destructor.
#pragma once

#include <atomic>
#include <cstdint>

namespace tarn {

/// A mutex that spins briefly and then sleeps in the kernel, so that it does not collapse when threads outnumber
/// processors. It meets Lockable, for std::lock_guard or tarn::pool<T, tarn::spin_mutex>. It is neither fair nor
/// recursive. Threads: any number. No function throws; locking it twice in one thread waits without end. Cost: one
/// atomic read-modify-write to lock and one to unlock, system calls only when threads meet; 4 bytes.
/// Source: the three-state futex lock of U. Drepper, "Futexes Are Tricky", 2011.
class spin_mutex {
 public:
  constexpr spin_mutex() noexcept = default;
  spin_mutex(const spin_mutex&) = delete;
  spin_mutex& operator=(const spin_mutex&) = delete;

  void lock() noexcept {
    if (!try_lock()) [[unlikely]] {
      lock_contended();
    }
  }

  bool try_lock() noexcept {
    std::uint32_t expected = open;
    // acquire: what the last holder wrote before its unlock is seen here.
    return state_.compare_exchange_strong(expected, locked, std::memory_order_acquire, std::memory_order_relaxed);
  }

  void unlock() noexcept {
    // release: pairs with the acquire of the next holder.
    if (state_.exchange(open, std::memory_order_release) == contended) [[unlikely]] {
      wake_one();
    }
  }

 protected:
  enum : std::uint32_t { open, locked, contended };
  std::atomic<std::uint32_t> state_{open};

 private:
  void lock_contended() noexcept;
  void wake_one() noexcept;
};

}  // namespace tarn
