// The locking category "shared": data that several threads use, reachable only under its lock.
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <mutex>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include <tarn/detail/handle.hpp>
#include <tarn/detail/lock_watch.hpp>
#include <tarn/detail/waiters.hpp>
#include <tarn/outlives.hpp>
#include <tarn/rank.hpp>

namespace tarn {

namespace detail {
struct shared_access;  // <tarn/with.hpp>

/// Calls the function if `is_wanted`. The result is a bool for a function without a result, else a std::optional.
template <class Function, class... T>
auto call_if(bool is_wanted, Function&& function, T&... values) {
  using result = std::invoke_result_t<Function, T&...>;
  if constexpr (std::is_void_v<result>) {
    if (is_wanted) std::invoke(std::forward<Function>(function), values...);
    return is_wanted;
  } else {
    return is_wanted ? std::optional<result>(std::invoke(std::forward<Function>(function), values...)) : std::nullopt;
  }
}
}  // namespace detail

/// Holds a T that is reachable only under its lock.
///
/// tarn::shared<std::map<int, session>> sessions;
/// sessions.with([](auto& all) { all[7].hits += 1; });          // the lock is held while the function runs
/// auto held = sessions.lock();                                 // the same for a scope
/// held.wait([](const auto& all) { return !all.empty(); });     // until another thread makes it true
/// tarn::with(sessions, log, [](auto& all, auto& lines) { … }); // <tarn/with.hpp>
///
/// Threads: any number use it at any time, but construction and destruction belong to one thread. A `const` shared
/// gives `const` access, under the readers' lock where the Mutex has one (std::shared_mutex; glibc's lets readers
/// starve a writer for seconds). A function may not return a reference, pointer, view or iterator out of with(), unless
/// it is wrapped by tarn::outlives(), and a handle must have a name: violations of both fail to compile. The compiler
/// cannot see a pointer that the function stores elsewhere. Errors: an exception releases the lock and is passed on;
/// later locks succeed as usual. With TARN_CHECKS, locks taken in an order that can deadlock are a fault the first time
/// that the orders differ; so is a lock that its holder takes again. Clang's -Wthread-safety treats it as a capability:
/// a second lock() in one function is a warning. Cost: that of the Mutex, and one load when the lock is released after
/// a change; with std::mutex, 8 bytes more than the mutex and the value together.
template <class T, class Mutex = std::mutex>
class TARN_CAPABILITY("shared") shared {
  static_assert(detail::lockable<Mutex>,
                "Mutex needs lock(), try_lock() and unlock(): std::mutex, tarn::spin_mutex, …");
  static_assert(!std::is_reference_v<T> && !std::is_const_v<T>,
                "shared<T> holds the data itself; data that never changes needs no lock: tarn::read_only<T>");

 public:
  using value_type = T;
  /// The lock.
  using mutex_type = Mutex;
  /// Access for changes, while the lock is held.
  using handle = detail::handle<shared>;
  /// Access for reading, while the lock is held for reading.
  using reader = detail::reader<shared>;
  /// A handle that may be empty, as try_lock() returns it.
  using maybe_handle = detail::maybe_handle<shared>;
  /// A reader that may be empty, as try_lock_shared() returns it.
  using maybe_reader = detail::maybe_handle<const shared>;

  /// Constructs the value from these arguments.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  explicit(sizeof...(Arguments) == 1) shared(Arguments&&... arguments)
      : value_(std::forward<Arguments>(arguments)...) {}
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  explicit shared(rank level, Arguments&&... arguments)
      : watch_(level.level, level.name), value_(std::forward<Arguments>(arguments)...) {}
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;

  /// Calls `function(value)` under the lock and returns its result. The value is a T&; for a const shared, a const
  /// T&.
  template <class Function>
  decltype(auto) with(Function&& function, std::source_location location = std::source_location::current())
      TARN_EXCLUDES(this) {
    detail::result_stays_inside<Function, T&>();
    const handle lock(*this, location);
    return std::invoke(std::forward<Function>(function), value_);
  }
  template <class Function>
  decltype(auto) with(Function&& function, std::source_location location = std::source_location::current()) const
      TARN_EXCLUDES(this) {
    return read(std::forward<Function>(function), location);
  }
  /// Calls `function(value)`, with a const T&, under the readers' lock where there is one.
  template <class Function>
  decltype(auto) read(Function&& function, std::source_location location = std::source_location::current()) const
      TARN_EXCLUDES(this) {
    detail::result_stays_inside<Function, const T&>();
    const reader lock(*this, location);
    return std::invoke(std::forward<Function>(function), value_);
  }
  /// Returns a copy of the value, made under the readers' lock where there is one.
  template <std::copy_constructible Value = T>
  Value copy(std::source_location location = std::source_location::current()) const TARN_EXCLUDES(this) {
    const reader lock(*this, location);
    return value_;
  }
  /// Exchanges the guarded value with `value` under the lock, for example to take all gathered data and process it
  /// outside.
  template <std::swappable Value = T>
  void swap(Value& value, std::source_location location = std::source_location::current()) TARN_EXCLUDES(this) {
    const handle lock(*this, location);
    std::ranges::swap(value_, value);
  }
  /// Waits until `holds(value)`, then calls `function(value)` without releasing the lock in between.
  template <std::predicate<const T&> Predicate, class Function>
  decltype(auto) with_when(Predicate&& holds, Function&& function,
                           std::source_location location = std::source_location::current()) TARN_EXCLUDES(this) {
    detail::result_stays_inside<Function, T&>();
    handle lock(*this, location);
    lock.wait(holds, location);
    return std::invoke(std::forward<Function>(function), value_);
  }

  /// Does the same, but waits for at most this time. Returns what `function` returns, in a std::optional that is empty
  /// when the condition did not hold in time; for a function without a result, a bool.
  template <class Rep, class Period, std::predicate<const T&> Predicate, class Function>
  [[nodiscard]] auto with_when_for(std::chrono::duration<Rep, Period> longest, Predicate&& holds, Function&& function,
                                   std::source_location location = std::source_location::current())
      TARN_EXCLUDES(this) {
    detail::result_stays_inside<Function, T&>();
    handle lock(*this, location);
    return detail::call_if(lock.wait_for(longest, holds, location), std::forward<Function>(function), value_);
  }
  /// Waits until `holds(value)`, then calls `function(value)`, with a const T&, under the same lock. It takes the lock
  /// exclusively, also where there is one for readers.
  template <std::predicate<const T&> Predicate, class Function>
  decltype(auto) read_when(Predicate&& holds, Function&& function,
                           std::source_location location = std::source_location::current()) const TARN_EXCLUDES(this) {
    detail::result_stays_inside<Function, const T&>();
    detail::handle<const shared> lock(*this, location);
    lock.wait(holds, location);
    return std::invoke(std::forward<Function>(function), value_);
  }
  /// Does the same, but waits for at most this time. The result is that of with_when_for().
  template <class Rep, class Period, std::predicate<const T&> Predicate, class Function>
  [[nodiscard]] auto read_when_for(std::chrono::duration<Rep, Period> longest, Predicate&& holds, Function&& function,
                                   std::source_location location = std::source_location::current()) const
      TARN_EXCLUDES(this) {
    detail::result_stays_inside<Function, const T&>();
    detail::handle<const shared> lock(*this, location);
    return detail::call_if(lock.wait_for(longest, holds, location), std::forward<Function>(function), value_);
  }
  /// Calls `function(value)` under the lock if `holds(value)`. It looks under the readers' lock first and takes the
  /// lock for changes only when the condition holds; then it looks again, because the value may have changed in
  /// between. So a rare change costs readers nothing, and two threads that both want to change cannot deadlock, as
  /// they would with a readers' lock that is upgraded. `holds` must not change anything. The result is that of
  /// with_when_for().
  template <std::predicate<const T&> Predicate, class Function>
  auto with_if(Predicate&& holds, Function&& function, std::source_location location = std::source_location::current())
      TARN_EXCLUDES(this) {
    detail::result_stays_inside<Function, T&>();
    bool is_wanted = false;
    {
      const reader lock(*this, location);
      is_wanted = holds(std::as_const(value_));
    }
    if (!is_wanted) return detail::call_if(false, std::forward<Function>(function), value_);
    const handle lock(*this, location);
    return detail::call_if(holds(std::as_const(value_)), std::forward<Function>(function), value_);
  }

  /// Holds the lock for as long as the handle lives.
  handle lock(std::source_location location = std::source_location::current())
      TARN_ACQUIRE(this) TARN_NO_THREAD_SAFETY_ANALYSIS {
    return handle(*this, location);
  }
  /// Locks for reading; readers do not exclude each other.
  template <class Readers = Mutex>
    requires detail::shared_lockable<Readers>
  reader lock_shared(std::source_location location = std::source_location::current()) const
      TARN_ACQUIRE_SHARED(this) TARN_NO_THREAD_SAFETY_ANALYSIS {
    return reader(*this, location);
  }
  /// Returns at once: a handle that holds nothing when the lock was not free.
  maybe_handle try_lock(std::source_location location = std::source_location::current())
      TARN_NO_THREAD_SAFETY_ANALYSIS {
    return maybe_handle(mutex_.try_lock() ? note_acquired(this, location) : nullptr);
  }
  /// Waits at most as long as `longest`. Returns an empty handle when the lock did not become free.
  template <class Rep, class Period>
    requires detail::timed_lockable<Mutex>
  maybe_handle try_lock_for(std::chrono::duration<Rep, Period> longest,
                            std::source_location location = std::source_location::current())
      TARN_NO_THREAD_SAFETY_ANALYSIS {
    return maybe_handle(mutex_.try_lock_for(longest) ? note_acquired(this, location) : nullptr);
  }
  /// Locks for reading; returns an empty handle when the lock was not free.
  maybe_reader try_lock_shared(std::source_location location = std::source_location::current()) const
    requires detail::shared_lockable<Mutex>
  {
    return maybe_reader(mutex_.try_lock_shared() ? note_acquired(this, location) : nullptr);
  }

  /// Waits at most as long as `longest`, for reading. Returns an empty handle when the lock did not become free.
  template <class Rep, class Period>
    requires detail::timed_shared_lockable<Mutex>
  maybe_reader try_lock_shared_for(std::chrono::duration<Rep, Period> longest,
                                   std::source_location location = std::source_location::current()) const
      TARN_NO_THREAD_SAFETY_ANALYSIS {
    return maybe_reader(mutex_.try_lock_shared_for(longest) ? note_acquired(this, location) : nullptr);
  }

  /// Returns the value without taking the lock. Use it only when a single thread can reach the object: before the
  /// others start, or after they have ended.
  T& unsafe_unlocked() noexcept { return value_; }

 private:
  template <class>
  friend class detail::handle_base;
  friend handle;
  friend detail::handle<const shared>;
  friend reader;
  friend maybe_handle;
  friend maybe_reader;
  friend struct detail::shared_access;

  template <class Self>
  static Self* note_acquired(Self* self, const std::source_location& location) noexcept {
    self->watch_.note_acquired_at_once(self, location);
    return self;
  }

  void begin_change(const std::source_location& location) const {
    watch_.note_attempt(this, location);
    mutex_.lock();
    watch_.note_acquired(this, location);
  }
  void end_change() const noexcept {
    waiters_.wake(value_);
    watch_.note_released(this);
    mutex_.unlock();
  }
  void begin_reading(const std::source_location& location) const {
    watch_.note_attempt(this, location);
    if constexpr (detail::shared_lockable<Mutex>) {
      mutex_.lock_shared();
    } else {
      mutex_.lock();
    }
    watch_.note_acquired(this, location);
  }
  void end_reading() const noexcept {
    watch_.note_released(this);
    if constexpr (detail::shared_lockable<Mutex>) {
      mutex_.unlock_shared();
    } else {
      mutex_.unlock();
    }
  }
  template <class Predicate>
  bool wait(Predicate& holds, const std::chrono::steady_clock::time_point* deadline,
            const std::source_location& location) const {
    if (holds(std::as_const(value_))) return true;
    waiters_.wake(value_);  // other threads see the changes so far from here on
    watch_.note_released(this);
    watch_.note_attempt(this, location);
    const acquisition_note noted{*this, location};
    return waiters_.wait(mutex_, value_, holds, deadline);
  }
  /// Notes at its end that the wait has taken the lock again, also when it throws.
  struct acquisition_note {
    const shared& locked;
    const std::source_location& location;
    ~acquisition_note() { locked.watch_.note_acquired(&locked, location); }
  };

  mutable Mutex mutex_;
  [[no_unique_address]] mutable detail::lock_watch watch_{0, ""};
  mutable detail::waiters<T, Mutex> waiters_;
  T value_;
};

}  // namespace tarn
