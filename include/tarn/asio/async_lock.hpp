// The locks of async_shared for Asio: where a coroutine continues, until when it waits, and Asio's own coroutines.
#pragma once

#include <tarn/detail/language.hpp>

#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <stop_token>
#include <utility>

#include <tarn/asio/net.hpp>
#include <tarn/async_shared.hpp>
#include <tarn/detail/durations.hpp>

namespace tarn::asio {

/// auto held = co_await sessions.lock(tarn::asio::resume_on(io.get_executor()));
///
/// Resumes a coroutine where this executor runs its functions, not in the thread that releases the lock. The executor's
/// context must not end while the coroutine waits; async_lock, below, allows that. Threads: any that the executor
/// allows. Errors: it is called where nothing may throw, so a post without memory ends the program. Cost: one post.
template <class Executor>
class resume_on {
 public:
  /// Keeps a copy of the executor.
  explicit resume_on(Executor executor) noexcept : executor_(std::move(executor)) {}
  void operator()(std::coroutine_handle<> next) const {
    net::post(executor_, [next] { next.resume(); });
  }

 private:
  Executor executor_;
};

/// const tarn::asio::deadline soon(io.get_executor(), 50ms);
/// auto held = co_await sessions.lock(soon.token());   // empty after 50 ms
///
/// Requests a stop when the time is over, unless it is destroyed before. So each wait that takes a std::stop_token may
/// have a deadline. Threads: those of the executor, one at a time. Errors: the constructor throws std::bad_alloc, and
/// what Asio throws for a timer. Cost: one timer of Asio, and one allocation.
class deadline {
 public:
  /// Requests the stop of `stop`, which may have other reasons, too.
  template <class Executor, class Rep, class Period>
  deadline(const Executor& executor, std::chrono::duration<Rep, Period> duration, std::stop_source stop = {})
      : stop_(std::move(stop)), timer_(executor) {
    timer_.expires_after(tarn::detail::clamp_duration(duration));
    timer_.async_wait([stop = stop_](const error_code& error) mutable {
      if (!error) stop.request_stop();
    });
  }

  /// Returns the token of the stop.
  std::stop_token token() const noexcept { return stop_.get_token(); }
  /// Returns true when the stop was requested.
  bool is_over() const noexcept { return stop_.stop_requested(); }

 private:
  std::stop_source stop_;
  net::steady_timer timer_;
};

namespace detail {

/// A wait that is registered with the context of its handler. It is used through a std::shared_ptr.
class context_wait {
 public:
  context_wait() = default;
  context_wait(const context_wait&) = delete;
  context_wait& operator=(const context_wait&) = delete;
  virtual ~context_wait() = default;

  /// Called when the context ends: withdraws the wait from the lock.
  virtual void leave() noexcept = 0;
  /// Destroys the handler, after each wait of the context has left.
  virtual void drop() noexcept = 0;

 private:
  friend class context_waits;
  std::list<std::shared_ptr<context_wait>>::iterator position_;
  bool is_listed_ = false;
};

/// The waits of an execution context. The thread that ends a wait may not belong to this context, which may end at the
/// same time; both threads go through this list, which outlives the context. It prevents:
///   1  a thread releases the lock, which passes to a wait of this context
///   2  the context ends in another thread
///   3  the first thread posts the handler to the context: a use after free
/// If begin_post() takes the wait from the list first, end() returns only after end_post(), and the context later
/// destroys the functions that were posted to it. If end() comes first, begin_post() returns false.
class context_waits {
 public:
  /// Returns false when the context has ended.
  bool add(const std::shared_ptr<context_wait>& wait) {
    const std::lock_guard hold(mutex_);
    if (has_ended_) return false;
    wait->position_ = waits_.insert(waits_.end(), wait);
    wait->is_listed_ = true;
    return true;
  }
  /// Returns true when the caller is to post the handler, and to call end_post() then.
  bool begin_post(context_wait& wait) noexcept {
    const std::lock_guard hold(mutex_);
    if (!wait.is_listed_) return false;
    wait.is_listed_ = false;
    waits_.erase(wait.position_);
    ++posts_;
    return true;
  }
  void end_post() noexcept {
    const std::lock_guard hold(mutex_);
    if (--posts_ == 0) posted_.notify_all();
  }
  /// Ends all waits.
  void end() noexcept {
    std::unique_lock hold(mutex_);
    has_ended_ = true;
    const std::list<std::shared_ptr<context_wait>> ended_waits = std::move(waits_);
    waits_.clear();
    for (const auto& wait : ended_waits) wait->is_listed_ = false;
    posted_.wait(hold, [this] { return posts_ == 0; });
    hold.unlock();
    // A handler may release a lock when it is destroyed: then no wait of this context is in the list of that lock.
    for (const auto& wait : ended_waits) wait->leave();
    for (const auto& wait : ended_waits) wait->drop();
  }

 private:
  std::mutex mutex_;
  std::condition_variable posted_;
  std::list<std::shared_ptr<context_wait>> waits_;
  unsigned posts_ = 0;
  bool has_ended_ = false;
};

/// Ends the waits of a context when the context ends. Asio calls shutdown() before it destroys the functions that are
/// still queued.
class wait_service : public net::execution_context::service {
 public:
  using key_type = wait_service;
  static inline net::execution_context::id id;
  explicit wait_service(net::execution_context& owner) : service(owner) {}
  const std::shared_ptr<context_waits>& waits() const noexcept { return waits_; }

 private:
  void shutdown() noexcept override { waits_->end(); }
  std::shared_ptr<context_waits> waits_ = std::make_shared<context_waits>();
};

/// Returns the waits of the executor's context. An executor that names no context gets a new list.
template <class Executor>
std::shared_ptr<context_waits> waits_of(const Executor& executor) {
  if constexpr (requires { net::use_service<wait_service>(net::query(executor, net::execution::context)); }) {
    return net::use_service<wait_service>(net::query(executor, net::execution::context)).waits();
  } else {
    return std::make_shared<context_waits>();
  }
}

/// A handler with its executor, cancellation slot and timer. The executor's thread destroys it, or the end of the
/// context.
template <class Handler>
struct lock_request {
  using executor_type = decltype(net::prefer(net::get_associated_executor(std::declval<const Handler&>()),
                                             net::execution::outstanding_work.tracked));
  using slot_type = net::associated_cancellation_slot_t<Handler>;

  explicit lock_request(Handler completion_handler)
      : executor(
            net::prefer(net::get_associated_executor(completion_handler), net::execution::outstanding_work.tracked)),
        slot(net::get_associated_cancellation_slot(completion_handler)),
        handler(std::move(completion_handler)) {}

  executor_type executor;
  slot_type slot;
  Handler handler;
  std::unique_ptr<net::steady_timer> timer;
};

/// Posts the handler to its executor. If the context ends before it runs, the handle is destroyed and unlocks.
template <class T, class Handler>
void complete(lock_request<Handler> request, async_handle<T> handle) {
  const auto executor = request.executor;
  net::post(executor, [request = std::move(request), handle = std::move(handle)]() mutable {
    request.timer.reset();  // it keeps the executor at work
    if (request.slot.is_connected()) request.slot.clear();
    const error_code error = handle ? error_code() : error_code(net::error::operation_aborted);
    std::move(request.handler)(error, std::move(handle));
  });
}

/// A handler in the list of a lock. It ends exactly once: with the lock, by cancellation, or with its context.
template <class T, class Handler>
class lock_wait final : public context_wait,
                        tarn::detail::async_waiter,
                        public std::enable_shared_from_this<lock_wait<T, Handler>> {
 public:
  lock_wait(async_shared<T>& object, lock_request<Handler> request)
      : object_(object), waits_(waits_of(request.executor)), request_(std::in_place, std::move(request)) {
    resume = [](tarn::detail::async_waiter* self) noexcept { static_cast<lock_wait*>(self)->finish(); };
  }

  /// Starts the wait, which is cancelled after `duration` if there is one.
  void start(std::optional<std::chrono::steady_clock::duration> duration) {
    const std::shared_ptr<lock_wait> self = this->shared_from_this();
    const auto cancel = [wait = std::weak_ptr(self)] {
      if (const auto alive = wait.lock(); alive && alive->lock().cancel(*alive)) alive->finish();
    };
    if (request_->slot.is_connected()) {
      request_->slot.assign([cancel](net::cancellation_type) { cancel(); });
    }
    if (duration) {
      request_->timer = std::make_unique<net::steady_timer>(request_->executor, *duration);
      request_->timer->async_wait([cancel](const error_code& error) {
        if (!error) cancel();
      });
    }
    if (!waits_->add(self)) return;
    listed_ = self;  // Another thread may end the wait from here on.
    if (!lock().wait(*this)) finish();
  }

 private:
  auto& lock() noexcept { return async_shared<T>::access::lock(object_); }

  // Called by the thread that took the wait out of the lock's list.
  void finish() noexcept {
    const std::shared_ptr<lock_wait> self = std::move(listed_);
    if (waits_->begin_post(*this)) {
      complete(std::move(*request_), has_lock() ? async_shared<T>::access::adopt(object_) : async_handle<T>());
      request_.reset();
      waits_->end_post();
    } else if (has_lock()) {
      lock().unlock();  // the context has ended: the next wait in the list gets the lock
    }
  }
  void leave() noexcept override {
    if (lock().cancel(*this)) listed_.reset();
  }
  void drop() noexcept override { request_.reset(); }

  async_shared<T>& object_;
  const std::shared_ptr<context_waits> waits_;
  std::optional<lock_request<Handler>> request_;
  std::shared_ptr<lock_wait> listed_;  // keeps this object alive while it is in the list of the lock
};

/// Takes the lock and gives it to the handler, which its executor runs, never this call.
template <class T, class Handler>
void lock_for(async_shared<T>& object, std::optional<std::chrono::steady_clock::duration> duration, Handler handler,
              const std::source_location& location) {
  if constexpr (TARN_CHECKS) {
    tarn::detail::check_nothing_is_held(&object, location);
  }
  lock_request<Handler> request(std::move(handler));
  if (async_handle<T> handle = object.try_lock()) return complete(std::move(request), std::move(handle));
  std::make_shared<lock_wait<T, Handler>>(object, std::move(request))->start(duration);
}

}  // namespace detail

/// auto held = co_await tarn::asio::async_lock(sessions, net::use_awaitable);
///
/// Locks for any completion token of Asio: a coroutine of Asio, a function, a future. The completion is
/// `void(error_code, async_handle<T>)`; the error is operation_aborted, and the handle empty, when the wait was
/// cancelled by the handler's cancellation slot. When the handler's execution context ends, its waits end with it: the
/// handlers are destroyed, and a lock that was passing to one of them goes to the next wait. Builds with checks do not
/// watch the order of these locks, because they cannot attribute a handler to a coroutine. Any thread may call it.
/// Throws std::bad_alloc. Cost: one post for a free lock; else also two allocations, and a mutex of the context.
template <class T, class CompletionToken>
auto async_lock(async_shared<T>& object, CompletionToken&& token,
                std::source_location location = std::source_location::current()) {
  return net::async_initiate<CompletionToken, void(error_code, async_handle<T>)>(
      [location](auto handler, async_shared<T>* target) {
        detail::lock_for(*target, std::nullopt, std::move(handler), location);
      },
      token, &object);
}
/// Does the same, and gives up after `duration`: the error is then operation_aborted, and the handle empty. Any thread
/// may call it. Throws std::bad_alloc. Cost: a timer more when the lock is not free.
template <class T, class Rep, class Period, class CompletionToken>
auto async_lock(async_shared<T>& object, std::chrono::duration<Rep, Period> duration, CompletionToken&& token,
                std::source_location location = std::source_location::current()) {
  return net::async_initiate<CompletionToken, void(error_code, async_handle<T>)>(
      [duration, location](auto handler, async_shared<T>* target) {
        detail::lock_for(*target, tarn::detail::clamp_duration(duration), std::move(handler), location);
      },
      token, &object);
}

}  // namespace tarn::asio
