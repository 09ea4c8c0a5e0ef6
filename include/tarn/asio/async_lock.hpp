// The locks of async_shared for Asio: where a coroutine continues, until when it waits, and Asio's own coroutines.
#pragma once

#include <chrono>
#include <coroutine>
#include <exception>
#include <optional>
#include <stop_token>
#include <utility>

#include <tarn/asio/net.hpp>
#include <tarn/async_shared.hpp>

namespace tarn::asio {

/// auto held = co_await sessions.lock(tarn::asio::resume_on(io.get_executor()));
/// The coroutine continues where this executor runs its functions, not in the thread that releases the lock.
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
/// Requests a stop when the time is over, unless it is destroyed before. So each wait that takes a std::stop_token may
/// have a deadline. Threads: those of the executor, one at a time. Cost: one timer of Asio, and one allocation.
class deadline {
 public:
  /// Requests the stop of `stop`, which may have other reasons, too.
  template <class Executor, class Rep, class Period>
  deadline(const Executor& executor, std::chrono::duration<Rep, Period> duration, std::stop_source stop = {})
      : stop_(std::move(stop)), timer_(executor) {
    timer_.expires_after(std::chrono::ceil<std::chrono::steady_clock::duration>(duration));
    timer_.async_wait([stop = stop_](const error_code& error) mutable {
      if (!error) {
        stop.request_stop();
      }
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

/// Runs at once, and ends by itself.
struct unawaited {
  struct promise_type {
    unawaited get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};

/// Takes the lock and gives it to the handler, by the handler's executor and never inside of this call.
template <class T, class Handler>
unawaited lock_for(async_shared<T>& object, std::optional<std::chrono::steady_clock::duration> duration,
                   Handler handler) {
  const auto executor = net::prefer(net::get_associated_executor(handler), net::execution::outstanding_work.tracked);
  std::stop_source stop;
  auto cancellation = net::get_associated_cancellation_slot(handler);
  if (cancellation.is_connected()) {
    cancellation.assign([stop](net::cancellation_type) mutable { stop.request_stop(); });
  }
  std::optional<deadline> until;
  if (duration) {
    until.emplace(executor, *duration, stop);
  }
  async_handle<T> held = co_await object.lock(resume_on(executor), stop.get_token());
  until.reset();  // its timer keeps the executor at work
  if (cancellation.is_connected()) {
    cancellation.clear();
  }
  const error_code error = held ? error_code() : error_code(net::error::operation_aborted);
  net::post(executor, [error, held = std::move(held), handler = std::move(handler)]() mutable {
    std::move(handler)(error, std::move(held));
  });
}

}  // namespace detail

/// auto held = co_await tarn::asio::async_lock(sessions, net::use_awaitable);
/// Locks for any completion token of Asio: a coroutine of its own, a function, a future. The completion is
/// `void(error_code, async_handle<T>)`; the error is operation_aborted, and the handle empty, when the wait was
/// cancelled by the handler's cancellation slot. Builds with checks do not watch the order of these locks, because
/// nobody knows for whom a handler runs. Cost: an allocation for a coroutine, and two posts.
template <class T, class CompletionToken>
auto async_lock(async_shared<T>& object, CompletionToken&& token) {
  return net::async_initiate<CompletionToken, void(error_code, async_handle<T>)>(
      [](auto handler, async_shared<T>* wanted) { detail::lock_for(*wanted, std::nullopt, std::move(handler)); }, token,
      &object);
}
/// Does the same, and gives up after `duration`.
template <class T, class Rep, class Period, class CompletionToken>
auto async_lock(async_shared<T>& object, std::chrono::duration<Rep, Period> duration, CompletionToken&& token) {
  return net::async_initiate<CompletionToken, void(error_code, async_handle<T>)>(
      [duration](auto handler, async_shared<T>* wanted) {
        detail::lock_for(*wanted, std::chrono::ceil<std::chrono::steady_clock::duration>(duration), std::move(handler));
      },
      token, &object);
}

}  // namespace tarn::asio
