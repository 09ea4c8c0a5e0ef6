// A lock that suspends instead of blocking: it keeps the list of waiters, first come, first served.
#pragma once

#include <tarn/detail/language.hpp>

#include <cstdint>
#include <mutex>
#include <source_location>

namespace tarn::detail {

/// In builds with checks, reports a fault when the calling thread holds the lock of a shared, which would stay locked
/// while the coroutine is suspended.
void check_nothing_is_held(const void* object, const std::source_location& location) noexcept;
/// Reports that an async_shared was destroyed while it was locked.
[[noreturn]] void fault_async_destroyed(const void* object) noexcept;

/// One waiter. Its address must not change until it is resumed. The lock owns `state` and the links.
class async_waiter {
 public:
  enum class state : std::uint8_t { idle, waiting, has_lock, cancelled };

  /// Called at most once, without any lock held, by the thread that releases the lock or cancels the wait. It may
  /// destroy the waiter.
  void (*resume)(async_waiter*) noexcept = nullptr;
  bool has_lock() const noexcept { return state_ == state::has_lock; }

 private:
  template <class>
  friend class async_lock;
  state state_ = state::idle;
  async_waiter* next_ = nullptr;
  async_waiter* before_ = nullptr;
};

/// A lock with a list of waiters. Any number of threads may use it. It holds the Mutex for a few instructions, never
/// while it resumes a waiter.
template <class Mutex>
class async_lock {
 public:
  async_lock() = default;
  async_lock(const async_lock&) = delete;
  async_lock& operator=(const async_lock&) = delete;

  /// Takes the lock if it is free. It overtakes no waiter, because the lock is never free while one waits.
  bool try_lock() noexcept {
    const std::lock_guard hold(mutex_);
    return !is_locked_ && (is_locked_ = true);
  }

  /// Returns false when the waiter has the lock or was cancelled before. Returns true when it is resumed later,
  /// perhaps before this call returns; the caller must not touch it after that.
  bool wait(async_waiter& waiter) noexcept {
    const std::lock_guard hold(mutex_);
    if (waiter.state_ == async_waiter::state::cancelled) return false;
    if (!is_locked_) {
      is_locked_ = true;
      waiter.state_ = async_waiter::state::has_lock;
      return false;
    }
    waiter.state_ = async_waiter::state::waiting;
    waiter.before_ = last_;
    (last_ != nullptr ? last_->next_ : first_) = &waiter;
    last_ = &waiter;
    return true;
  }

  /// Returns true when it removed a waiter from the list; the caller must then resume it. Returns false when the
  /// waiter has the lock, or does not wait yet; a later wait() then returns at once.
  bool cancel(async_waiter& waiter) noexcept {
    const std::lock_guard hold(mutex_);
    if (waiter.state_ == async_waiter::state::idle) waiter.state_ = async_waiter::state::cancelled;
    if (waiter.state_ != async_waiter::state::waiting) return false;
    waiter.state_ = async_waiter::state::cancelled;
    (waiter.before_ != nullptr ? waiter.before_->next_ : first_) = waiter.next_;
    (waiter.next_ != nullptr ? waiter.next_->before_ : last_) = waiter.before_;
    return true;
  }

  /// Hands the lock to the waiter that has waited longest, and returns it. Returns null, and frees the lock, if there
  /// is no waiter.
  [[nodiscard]] async_waiter* hand_on() noexcept {
    const std::lock_guard hold(mutex_);
    async_waiter* const next = first_;
    if (next == nullptr) {
      is_locked_ = false;
      return nullptr;
    }
    first_ = next->next_;
    (first_ != nullptr ? first_->before_ : last_) = nullptr;
    next->state_ = async_waiter::state::has_lock;
    return next;
  }

  /// Calls hand_on() and resumes the new holder: in this thread, unless it wants to be resumed elsewhere. When a
  /// holder that is resumed here releases the lock again, that call returns first, and only then is the next waiter
  /// resumed: a thousand waiters in a row need no thousand stack frames.
  void unlock() noexcept {
    async_waiter* next = hand_on();
    if (next == nullptr) return;
    struct resuming {
      async_waiter* first = nullptr;
      async_waiter* last = nullptr;
      bool is_active = false;
    };
    static constinit thread_local resuming pending;
    next->next_ = nullptr;  // it has left the list of the lock and joins this one
    (pending.last != nullptr ? pending.last->next_ : pending.first) = next;
    pending.last = next;
    if (pending.is_active) return;
    pending.is_active = true;
    while (pending.first != nullptr) {
      next = pending.first;
      pending.first = next->next_;
      if (pending.first == nullptr) pending.last = nullptr;
      next->resume(next);
    }
    pending.is_active = false;
  }

  bool is_locked() noexcept {
    const std::lock_guard hold(mutex_);
    return is_locked_;
  }

 private:
  Mutex mutex_;
  bool is_locked_ = false;
  async_waiter* first_ = nullptr;
  async_waiter* last_ = nullptr;
};

}  // namespace tarn::detail
