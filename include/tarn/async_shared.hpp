// The locking category "shared" for coroutines: waiting for the lock suspends the coroutine and blocks no thread.
#pragma once

#include <tarn/detail/language.hpp>

#include <concepts>
#include <coroutine>
#include <functional>
#include <optional>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <tarn/detail/async_lock.hpp>
#include <tarn/detail/config.hpp>
#include <tarn/detail/escape.hpp>
#include <tarn/detail/lock_watch.hpp>
#include <tarn/outlives.hpp>
#include <tarn/rank.hpp>
#include <tarn/spin_mutex.hpp>

namespace tarn::asio::detail {
template <class T, class Handler>
class lock_wait;
}

namespace tarn {

template <class T>
class async_shared;

/// Returns the address of the coroutine for which this one runs: the outermost of those that await each other. A
/// promise names it by a function `const void* root() const noexcept`; a coroutine whose promise has none runs for
/// itself. Any thread may call it. Cost: one load.
template <class Promise>
const void* root_of(std::coroutine_handle<Promise> coroutine) noexcept {
  if constexpr (requires {
                  { coroutine.promise().root() } -> std::same_as<const void*>;
                }) {
    return coroutine.promise().root();
  } else {
    return coroutine.address();
  }
}

/// Holds the lock as long as it lives, whatever coroutine and thread has it: it may be kept across a co_await, and
/// moved. It is empty after a cancelled wait, a failed try_lock(), a move and unlock(). Threads: one at a time. No
/// function throws; reading an empty handle is not checked. Cost: unlocking takes a short spin lock.
template <class T>
class [[nodiscard("the lock ends with the handle: give it a name")]] async_handle {
 public:
  async_handle() noexcept = default;
  async_handle(async_handle&& source) noexcept : owner_(std::exchange(source.owner_, nullptr)) { leave_coroutine(); }
  async_handle& operator=(async_handle&& source) noexcept {
    std::swap(owner_, source.owner_);
    leave_coroutine();
    source.leave_coroutine();
    return *this;
  }
  ~async_handle() { unlock(); }

  explicit operator bool() const noexcept { return owner_ != nullptr; }
  T& operator*() const noexcept { return owner_->value_; }
  T* operator->() const noexcept { return &owner_->value_; }
  /// Resumes the coroutine that has waited longest: in this call, unless an executor resumes it.
  void unlock() noexcept {
    leave_coroutine();
    if (auto* const owner = std::exchange(owner_, nullptr)) owner->lock_.unlock();
  }

 private:
  friend class async_shared<T>;
  void leave_coroutine() noexcept {
    if (TARN_CHECKS && owner_ != nullptr) owner_->watch_.forget_coroutine();
  }
  explicit async_handle(async_shared<T>* owner) noexcept : owner_(owner) {}
  async_shared<T>* owner_ = nullptr;
};

/// tarn::async_shared<std::map<int, session>> sessions;
/// auto held = co_await sessions.lock();                        // suspends while somebody else has it
/// (*held)[7].last = co_await read(socket);                     // other threads work on meanwhile
/// co_await sessions.with([](auto& all) { all.erase(7); });     // the lock for one function
/// auto soon = co_await sessions.lock(stop);                    // a std::stop_token; empty when it was cancelled
/// auto here = co_await sessions.lock(schedule);                // schedule(coroutine_handle) has it resumed
///
/// Threads: any number; construction and destruction belong to one thread. First come, first served: the lock passes
/// to the coroutine that has waited longest, and none overtakes. A coroutine is resumed in the thread that releases
/// the lock, or cancels, inside that call. With `schedule`, that function decides where it is resumed: `[=](auto next)
/// { asio::post(executor, next); }`. Locking works in coroutines whose await_transform accepts any awaitable; those of
/// Asio do not, so use tarn::asio::async_lock there. Errors: locking allocates nothing and does not fail. In builds
/// with TARN_CHECKS it is a fault to ask for the lock while the thread holds the lock of a `shared`, to destroy the
/// object while it is locked, to wait for a lock that the coroutine holds itself, and to take two locks in two orders.
/// These builds attribute a handle to the coroutine that awaited it, until the handle is moved; a moved handle is
/// attributed to nobody. Other builds wait without end in these cases. A coroutine may be destroyed while it waits, if
/// nobody releases the lock at the same moment. Cost: two short spin locks to lock and unlock, and nothing that blocks.
template <class T>
class async_shared {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>, "async_shared<T> holds the data itself, and changes it");

  /// Resumes in the thread that releases the lock.
  struct at_once {
    void operator()(std::coroutine_handle<> next) const { next.resume(); }
  };

  template <class Resume>
  class waiting : detail::async_waiter {
   public:
    waiting(async_shared& owner, std::stop_token stop, Resume schedule, const std::source_location& location)
        : owner_(owner), stop_(std::move(stop)), schedule_(std::move(schedule)), location_(location) {
      if constexpr (TARN_CHECKS) {
        detail::check_nothing_is_held(&owner, location);
      }
    }
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;
    // Handles a coroutine that is destroyed while it waits, or before an executor has resumed it.
    ~waiting() {
      cancel_.reset();
      if (coroutine_ && !is_resumed_ && !owner_.lock_.cancel(*this) && has_lock()) owner_.lock_.unlock();
    }

    // With checks, await_suspend takes the lock in all cases, because it is told which coroutine waits.
    bool await_ready() noexcept {
      return has_at_once_ = !TARN_CHECKS && !stop_.stop_requested() && owner_.lock_.try_lock();
    }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
      if constexpr (TARN_CHECKS) {
        root_ = root_of(coroutine);
        owner_.watch_.note_attempt_in_coroutine(root_, &owner_, location_);
      }
      coroutine_ = coroutine;
      resume = [](detail::async_waiter* self) noexcept { static_cast<waiting*>(self)->go_on(); };
      if (stop_.stop_possible()) {
        // This comes before the wait, after which this object may be gone. A stop in between makes the wait return at
        // once.
        cancel_.emplace(stop_, canceller{this});
      }
      return owner_.lock_.wait(*this);
    }
    async_handle<T> await_resume() noexcept {
      is_resumed_ = true;
      cancel_.reset();
      const bool is_held = has_at_once_ || has_lock();
      if (TARN_CHECKS && is_held) owner_.watch_.note_acquired_in_coroutine(root_, &owner_, location_);
      return async_handle<T>(is_held ? &owner_ : nullptr);
    }

   private:
    struct canceller {
      waiting* wait;
      void operator()() const noexcept {
        if (wait->owner_.lock_.cancel(*wait)) wait->go_on();
      }
    };
    // Resuming the coroutine may destroy this object, so nothing of it is used while the coroutine runs.
    void go_on() noexcept {
      const std::coroutine_handle<> coroutine = coroutine_;
      Resume schedule = std::move(schedule_);
      schedule(coroutine);
    }

    async_shared& owner_;
    std::stop_token stop_;
    Resume schedule_;
    std::coroutine_handle<> coroutine_;
    std::optional<std::stop_callback<canceller>> cancel_;
    std::source_location location_;
    const void* root_ = nullptr;  // with checks: the coroutine
    bool has_at_once_ = false;
    bool is_resumed_ = false;
  };

  template <class Function>
  class calling : public waiting<at_once> {
   public:
    calling(async_shared& owner, Function function, std::stop_token stop, const std::source_location& location)
        : waiting<at_once>(owner, std::move(stop), {}, location), function_(std::forward<Function>(function)) {}
    decltype(auto) await_resume() {
      const async_handle<T> handle = waiting<at_once>::await_resume();
      return std::invoke(std::forward<Function>(function_), *handle);
    }

   protected:
    Function function_;
  };

  template <class Function>
  class calling_unless_stopped : public calling<Function> {
   public:
    using calling<Function>::calling;
    bool await_resume() {
      const async_handle<T> handle = waiting<at_once>::await_resume();
      if (handle) std::invoke(std::forward<Function>(this->function_), *handle);
      return bool(handle);
    }
  };

 public:
  using value_type = T;
  /// The lock and the access to the value.
  using handle = async_handle<T>;

  /// Constructs the value from these arguments.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  explicit(sizeof...(Arguments) == 1) async_shared(Arguments&&... arguments)
      : async_shared(rank{}, std::forward<Arguments>(arguments)...) {}
  /// Does the same for a lock with a name for messages and a level: locks that are taken after it need a higher one.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  explicit async_shared(rank level, Arguments&&... arguments)
      : watch_(level.level, level.name), value_(std::forward<Arguments>(arguments)...) {}
  ~async_shared() {
    if constexpr (TARN_CHECKS) {
      if (lock_.is_locked()) detail::fault_async_destroyed(this);
    }
  }
  async_shared(const async_shared&) = delete;
  async_shared& operator=(const async_shared&) = delete;

  /// Returns an awaitable that gives a handle.
  [[nodiscard("co_await it")]] auto lock(std::source_location location = std::source_location::current()) {
    return waiting<at_once>(*this, {}, {}, location);
  }
  [[nodiscard("co_await it")]] auto lock(std::stop_token stop,
                                         std::source_location location = std::source_location::current()) {
    return waiting<at_once>(*this, std::move(stop), {}, location);
  }
  /// Calls `schedule(handle)` once when the coroutine can continue; it must make sure that handle.resume() is called.
  template <std::invocable<std::coroutine_handle<>> Resume>
  [[nodiscard("co_await it")]] auto lock(Resume schedule, std::stop_token stop = {},
                                         std::source_location location = std::source_location::current()) {
    return waiting<Resume>(*this, std::move(stop), std::move(schedule), location);
  }
  /// Returns an awaitable that calls `function(value)`, with a T&, under the lock and gives its result, under the
  /// same rules as shared::with.
  template <class Function>
  [[nodiscard("co_await it")]] auto with(Function&& function,
                                         std::source_location location = std::source_location::current()) {
    detail::result_stays_inside<Function, T&>();
    return calling<Function>(*this, std::forward<Function>(function), {}, location);
  }
  /// Does the same unless the wait is cancelled before, and gives true if the function was called.
  template <class Function>
  [[nodiscard("co_await it")]] auto with(Function&& function, std::stop_token stop,
                                         std::source_location location = std::source_location::current()) {
    detail::result_stays_inside<Function, T&>();
    return calling_unless_stopped<Function>(*this, std::forward<Function>(function), std::move(stop), location);
  }
  /// Returns an empty handle when the lock was not free. Code outside of coroutines may call it, too.
  handle try_lock() noexcept { return handle(lock_.try_lock() ? this : nullptr); }

 private:
  friend handle;
  template <class Wanted, class Handler>
  friend class asio::detail::lock_wait;

  /// Serves a wait that is no coroutine.
  struct access {
    static detail::async_lock<spin_mutex>& lock(async_shared& object) noexcept { return object.lock_; }
    static handle adopt(async_shared& object) noexcept { return handle(&object); }
  };

  detail::async_lock<spin_mutex> lock_;
  [[no_unique_address]] detail::lock_watch watch_;
  T value_;
};

}  // namespace tarn
