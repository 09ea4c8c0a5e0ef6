// The handles of a value under a lock: each holds the lock as long as it lives.
#pragma once

#include <chrono>
#include <concepts>
#include <source_location>
#include <type_traits>
#include <utility>

#include <tarn/detail/config.hpp>
#include <tarn/detail/durations.hpp>
#include <tarn/detail/escape.hpp>
#include <tarn/detail/thread_safety.hpp>

namespace tarn::detail {

template <class Mutex>
concept lockable = requires(Mutex& mutex) {
  mutex.lock();
  mutex.unlock();
  { mutex.try_lock() } -> std::convertible_to<bool>;
};
template <class Mutex>
concept shared_lockable = lockable<Mutex> && requires(Mutex& mutex) {
  mutex.lock_shared();
  mutex.unlock_shared();
  { mutex.try_lock_shared() } -> std::convertible_to<bool>;
};
template <class Mutex>
concept timed_lockable = lockable<Mutex> && requires(Mutex& mutex) { mutex.try_lock_for(std::chrono::seconds(1)); };
template <class Mutex>
concept timed_shared_lockable =
    shared_lockable<Mutex> && requires(Mutex& mutex) { mutex.try_lock_shared_for(std::chrono::seconds(1)); };

/// Reports the use of a handle that holds nothing.
[[noreturn]] void fault_empty_handle(const char* name) noexcept;

/// `Owner` is a tarn::shared, const for readers. A handle cannot be copied or moved: it stays in its scope and
/// thread.
template <class Owner>
class handle_base {
 public:
  using value_type =
      std::conditional_t<std::is_const_v<Owner>, const typename Owner::value_type, typename Owner::value_type>;

  handle_base(const handle_base&) = delete;
  handle_base& operator=(const handle_base&) = delete;

  value_type& operator*() & noexcept { return value(); }
  const value_type& operator*() const& noexcept { return value(); }
  value_type* operator->() & noexcept { return &value(); }
  const value_type* operator->() const& noexcept { return &value(); }

  template <class Never = void>
  value_type& operator*() && {
    static_assert(is_reached<Never>,
                  "this handle ends with the statement, and the lock with it: give it a name (auto held = it.lock();) "
                  "or use it.with(function)");
    return value();
  }
  template <class Never = void>
  value_type* operator->() && {
    static_assert(is_reached<Never>,
                  "this handle ends with the statement, and the lock with it: give it a name (auto held = it.lock();) "
                  "or use it.with(function)");
    return &value();
  }

 protected:
  explicit handle_base(Owner* owner) noexcept : owner_(owner) {}
  ~handle_base() = default;

  Owner& owner() const noexcept {
    if constexpr (TARN_CHECKS) {
      if (owner_ == nullptr) fault_empty_handle("tarn::shared");
    }
    return *owner_;
  }

  value_type& value() const noexcept { return owner().value_; }

  Owner* owner_;
};

/// Holds the lock exclusively.
template <class Owner>
class TARN_SCOPED_CAPABILITY [[nodiscard("the lock ends with the handle: give it a name")]] handle
    : public handle_base<Owner> {
 public:
  ~handle() TARN_RELEASE() { unlock(); }

  /// Releases the lock before the end of the scope. The handle is empty then, and unlock() does nothing more.
  void unlock() noexcept TARN_RELEASE() TARN_NO_THREAD_SAFETY_ANALYSIS {
    if (Owner* const owner = std::exchange(this->owner_, nullptr)) owner->end_change();
  }

  /// Returns when `holds(value)`; the lock is released while the thread waits. `holds` is called under the lock, by
  /// this thread or by the one that ends a change, and must not change anything. Throws what `holds` throws; the lock
  /// is held then.
  template <std::predicate<const typename Owner::value_type&> Predicate>
  void wait(Predicate&& holds, std::source_location location = std::source_location::current()) {
    this->owner().wait(holds, nullptr, location);
  }
  /// Does the same for at most this time. Returns true when the condition holds.
  template <class Rep, class Period, std::predicate<const typename Owner::value_type&> Predicate>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> longest, Predicate&& holds,
                              std::source_location location = std::source_location::current()) {
    const auto deadline = std::chrono::steady_clock::now() + clamp_duration(longest);
    return this->owner().wait(holds, &deadline, location);
  }
  /// Waits until `deadline` at the latest. Returns true when the condition holds.
  template <std::predicate<const typename Owner::value_type&> Predicate>
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline, Predicate&& holds,
                                std::source_location location = std::source_location::current()) {
    return this->owner().wait(holds, &deadline, location);
  }

 private:
  friend std::remove_const_t<Owner>;
  handle(Owner& locked, const std::source_location& location) TARN_ACQUIRE(locked) : handle_base<Owner>(&locked) {
    locked.begin_change(location);
  }
};

/// Holds the lock for reading; where the mutex supports readers, several may hold it at once.
template <class Owner>
class TARN_SCOPED_CAPABILITY [[nodiscard("the lock ends with the handle: give it a name")]] reader
    : public handle_base<const Owner> {
 public:
  ~reader() TARN_RELEASE() { unlock(); }

  /// Releases the lock before the end of the scope. The handle is empty then, and unlock() does nothing more.
  void unlock() noexcept TARN_RELEASE() TARN_NO_THREAD_SAFETY_ANALYSIS {
    if (const Owner* const owner = std::exchange(this->owner_, nullptr)) owner->end_reading();
  }

 private:
  friend Owner;
  reader(const Owner& locked, const std::source_location& location) TARN_ACQUIRE_SHARED(locked)
      : handle_base<const Owner>(&locked) {
    locked.begin_reading(location);
  }
};

/// May hold the lock: test it before use. Use of an empty one is a named fault in builds with TARN_CHECKS.
template <class Owner>
class [[nodiscard("whether the lock is held is the answer")]] maybe_handle : public handle_base<Owner> {
 public:
  ~maybe_handle() {
    if (this->owner_ != nullptr) {
      if constexpr (std::is_const_v<Owner>) {
        this->owner_->end_reading();
      } else {
        this->owner_->end_change();
      }
    }
  }
  explicit operator bool() const noexcept { return this->owner_ != nullptr; }

 private:
  friend std::remove_const_t<Owner>;
  explicit maybe_handle(Owner* owner) noexcept : handle_base<Owner>(owner) {}
};

}  // namespace tarn::detail
