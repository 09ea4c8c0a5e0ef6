// The locking category "shared": data that several threads use, reachable only under its lock.
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <mutex>
#include <source_location>
#include <type_traits>
#include <utility>

#include <tarn/detail/handle.hpp>
#include <tarn/detail/lock_watch.hpp>
#include <tarn/detail/waiters.hpp>
#include <tarn/rank.hpp>

namespace tarn {

namespace detail {
struct shared_access;  // <tarn/with.hpp>
}

/// tarn::shared<std::map<int, session>> sessions;
/// sessions.with([](auto& all) { all[7].hits += 1; });          // the lock is held while the function runs
/// auto held = sessions.lock();                                 // the same for a scope
/// held.wait([](const auto& all) { return !all.empty(); });     // woken by whoever makes it true
/// tarn::with(sessions, log, [](auto& all, auto& lines) { … }); // <tarn/with.hpp>
///
/// Threads: any, at any time, but for construction and destruction. A `const` shared gives `const` access, under the
/// lock of readers where the Mutex has one (std::shared_mutex; glibc's lets readers starve a writer for seconds).
/// What a function returns out of with() may not be a reference, pointer, view or iterator, and a handle must have a
/// name: both fail to compile. A pointer that the function stores elsewhere is out of the compiler's sight.
/// Errors: an exception opens the lock and is passed on; nothing is poisoned. With TARN_CHECKS, locks taken in an order
/// that can deadlock are a fault the first time that the orders differ; a lock taken twice by its holder, too.
/// Clang's -Wthread-safety knows it as a capability: a second lock() in one function is a warning.
/// Cost: that of the Mutex, and one load where the lock is opened after a change; with std::mutex 8 bytes more than
/// both.
template <class T, class Mutex = std::mutex>
class TARN_CAPABILITY("shared") shared {
  static_assert(detail::lockable<Mutex>,
                "Mutex needs lock(), try_lock() and unlock(): std::mutex, tarn::spin_mutex, …");
  static_assert(!std::is_reference_v<T> && !std::is_const_v<T>,
                "shared<T> holds the data itself; data that never changes needs no lock: tarn::read_only<T>");

 public:
  using value_type = T;
  using mutex_type = Mutex;
  using handle = detail::handle<shared>;
  using reader = detail::reader<shared>;
  using maybe_handle = detail::maybe_handle<shared>;
  using maybe_reader = detail::maybe_handle<const shared>;

  /// The arguments are those of T.
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

  /// Calls `function(value)` under the lock and gives what it returns. The value is a T&; a const T& of a const shared.
  template <class Function>
  decltype(auto) with(Function&& function, std::source_location where = std::source_location::current())
      TARN_EXCLUDES(this) {
    detail::result_stays_inside<Function, T&>();
    const handle held(*this, where);
    return std::invoke(std::forward<Function>(function), value_);
  }
  template <class Function>
  decltype(auto) with(Function&& function, std::source_location where = std::source_location::current()) const
      TARN_EXCLUDES(this) {
    return read(std::forward<Function>(function), where);
  }
  /// Calls `function(value)`, a const T&, under the lock of readers where there is one.
  template <class Function>
  decltype(auto) read(Function&& function, std::source_location where = std::source_location::current()) const
      TARN_EXCLUDES(this) {
    detail::result_stays_inside<Function, const T&>();
    const reader held(*this, where);
    return std::invoke(std::forward<Function>(function), value_);
  }
  /// Waits until `holds(value)`, then calls `function(value)` without opening the lock in between.
  template <std::predicate<const T&> Predicate, class Function>
  decltype(auto) with_when(Predicate&& holds, Function&& function,
                           std::source_location where = std::source_location::current()) TARN_EXCLUDES(this) {
    detail::result_stays_inside<Function, T&>();
    handle held(*this, where);
    held.wait(holds, where);
    return std::invoke(std::forward<Function>(function), value_);
  }

  /// The lock for as long as the handle lives.
  handle lock(std::source_location where = std::source_location::current())
      TARN_ACQUIRE(this) TARN_NO_THREAD_SAFETY_ANALYSIS {
    return handle(*this, where);
  }
  /// The same for reading; readers do not keep each other out.
  template <class Readers = Mutex>
    requires detail::shared_lockable<Readers>
  reader lock_shared(std::source_location where = std::source_location::current()) const
      TARN_ACQUIRE_SHARED(this) TARN_NO_THREAD_SAFETY_ANALYSIS {
    return reader(*this, where);
  }
  /// A handle that holds nothing where the lock was not open, or not within that time.
  maybe_handle try_lock(std::source_location where = std::source_location::current()) TARN_NO_THREAD_SAFETY_ANALYSIS {
    return maybe_handle(mutex_.try_lock() ? seen(this, where) : nullptr);
  }
  template <class Rep, class Period>
    requires detail::timed_lockable<Mutex>
  maybe_handle try_lock_for(std::chrono::duration<Rep, Period> most,
                            std::source_location where = std::source_location::current())
      TARN_NO_THREAD_SAFETY_ANALYSIS {
    return maybe_handle(mutex_.try_lock_for(most) ? seen(this, where) : nullptr);
  }
  maybe_reader try_lock_shared(std::source_location where = std::source_location::current()) const
    requires detail::shared_lockable<Mutex>
  {
    return maybe_reader(mutex_.try_lock_shared() ? seen(this, where) : nullptr);
  }

  /// The value without the lock, for moments at which one thread alone can reach it: before others start, after they
  /// ended.
  T& unsafe_unlocked() noexcept { return value_; }

 private:
  template <class>
  friend class detail::handle_base;
  friend handle;
  friend reader;
  friend maybe_handle;
  friend maybe_reader;
  friend struct detail::shared_access;

  template <class Self>
  static Self* seen(Self* self, const std::source_location& where) noexcept {
    self->watch_.taken(self, where);
    return self;
  }

  void begin_change(const std::source_location& where) {
    watch_.before(this, where);
    mutex_.lock();
    watch_.taken(this, where);
  }
  void end_change() noexcept {
    waiters_.wake(value_);
    watch_.released(this);
    mutex_.unlock();
  }
  void begin_reading(const std::source_location& where) const {
    watch_.before(this, where);
    if constexpr (detail::shared_lockable<Mutex>) {
      mutex_.lock_shared();
    } else {
      mutex_.lock();
    }
    watch_.taken(this, where);
  }
  void end_reading() const noexcept {
    watch_.released(this);
    if constexpr (detail::shared_lockable<Mutex>) {
      mutex_.unlock_shared();
    } else {
      mutex_.unlock();
    }
  }
  template <class Predicate>
  bool wait(Predicate& holds, const std::chrono::steady_clock::time_point* deadline,
            const std::source_location& where) {
    if (holds(std::as_const(value_))) {
      return true;
    }
    waiters_.wake(value_);  // what was changed so far is seen by others from here on
    watch_.released(this);
    watch_.before(this, where);
    const retaken keep{*this, where};
    return waiters_.wait(mutex_, value_, holds, deadline);
  }
  struct retaken {
    shared& of;
    const std::source_location& where;
    ~retaken() { of.watch_.taken(&of, where); }
  };

  mutable Mutex mutex_;
  [[no_unique_address]] mutable detail::lock_watch watch_{0, ""};
  detail::waiters<T, Mutex> waiters_;
  T value_;
};

}  // namespace tarn
