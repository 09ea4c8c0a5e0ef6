// Coroutines for one thread and one io_context. The frames of Asio's own coroutines come from a cache of two blocks for
// each thread, and otherwise from the process heap. The frames of these coroutines, and each wait in them, come from
// the memory of the object that the coroutine belongs to.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory_resource>
#include <optional>
#include <type_traits>
#include <utility>

#include <tarn/asio/net.hpp>
#include <tarn/async_shared.hpp>

namespace tarn::asio {

namespace detail {

/// Allocates a coroutine's frame from the memory() of the object whose member the coroutine is; else from the default
/// resource.
class framed {
 public:
  template <class Owner, class... Rest>
    requires requires(Owner& owner) {
      { owner.memory() } -> std::same_as<std::pmr::memory_resource&>;
    }
  static void* operator new(std::size_t size, Owner& owner, Rest&...) {
    return allocate(size, owner.memory());
  }
  static void* operator new(std::size_t size) { return allocate(size, *std::pmr::get_default_resource()); }
  static void operator delete(void* frame, std::size_t size) noexcept {
    void* const allocation = static_cast<std::byte*>(frame) - before;
    (*static_cast<std::pmr::memory_resource**>(allocation))->deallocate(allocation, size + before);
  }

 private:
  static constexpr std::size_t before = alignof(std::max_align_t);

  static void* allocate(std::size_t size, std::pmr::memory_resource& memory) {
    void* const allocation = memory.allocate(size + before);
    *static_cast<std::pmr::memory_resource**>(allocation) = &memory;
    return static_cast<std::byte*>(allocation) + before;
  }
};

struct task_promise : framed {
  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> coroutine) const noexcept {
      return coroutine.promise().awaiting;
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  final_awaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { thrown = std::current_exception(); }
  /// See tarn::root_of.
  const void* root() const noexcept { return outermost; }

  std::coroutine_handle<> awaiting;
  const void* outermost = nullptr;
  std::exception_ptr thrown;
};

template <class Result>
struct result_promise : task_promise {
  void return_value(Result value) { result.emplace(std::move(value)); }
  Result take() { return std::move(*result); }
  std::optional<Result> result;
};
template <>
struct result_promise<void> : task_promise {
  void return_void() noexcept {}
  void take() noexcept {}
};

struct background_promise : framed {
  std::suspend_never initial_suspend() const noexcept { return {}; }
  std::suspend_never final_suspend() const noexcept { return {}; }
  void return_void() const noexcept {}
  void unhandled_exception() const { throw; }
};

}  // namespace detail

/// A coroutine that starts when it is awaited. The co_await returns its result, or throws what the coroutine threw.
/// Threads: it runs in the thread that awaits it until it suspends, and then in the one that resumes it. Errors: the
/// call of the coroutine throws std::bad_alloc. Cost: one allocation for its frame.
template <class Result = void>
class [[nodiscard("co_await it")]] task {
 public:
  /// The compiler keeps it in the frame.
  struct promise_type : detail::result_promise<Result> {
    /// The compiler calls it first.
    task get_return_object() noexcept { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
  };

  task(task&& source) noexcept : frame_(std::exchange(source.frame_, nullptr)) {}
  ~task() {
    if (frame_) {
      frame_.destroy();
    }
  }

  /// co_await calls this and the next two functions.
  bool await_ready() const noexcept { return false; }
  /// Starts the coroutine, which continues `awaiting` at its end.
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> awaiting) const noexcept {
    frame_.promise().awaiting = awaiting;
    frame_.promise().outermost = root_of(awaiting);
    return frame_;
  }
  /// Returns the result, or throws what the coroutine has thrown.
  Result await_resume() const {
    if (frame_.promise().thrown) {
      std::rethrow_exception(frame_.promise().thrown);
    }
    return frame_.promise().take();
  }

 private:
  explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

/// A coroutine that starts at once, and whose end nobody awaits. Its exceptions leave the call that resumes it, mostly
/// io_context::run(). Let it run to its end, for example by a cancellation, before its io_context ends: a frame that is
/// still suspended then is not destroyed, because the memory() that it came from may already be gone. Threads: the one
/// that calls it until it suspends, then the one that resumes it. Cost: one allocation for its frame.
struct background {
  /// The compiler keeps it in the frame.
  struct promise_type : detail::background_promise {
    /// The compiler calls it first.
    background get_return_object() const noexcept { return {}; }
  };
};

/// co_await wait(memory, [&](auto then) { socket.async_connect(peer, std::move(then)); }) returns the error code and
/// stores the number of bytes. What Asio allocates for the wait comes from `memory`. Threads: the coroutine's; it is
/// resumed by the thread that completes the operation. Errors: the error code; `start` may throw. Cost: that of the
/// operation, and what Asio allocates for it.
template <class Start>
class wait {
 public:
  /// `start(handler)` begins the operation. The number of bytes that it reports is stored in `bytes`, unless that is
  /// null.
  wait(std::pmr::memory_resource& memory, Start start, std::size_t* bytes = nullptr)
      : memory_(memory), start_(std::move(start)), bytes_(bytes) {}

  /// co_await calls this and the next two functions.
  bool await_ready() const noexcept { return false; }
  /// Begins the operation.
  void await_suspend(std::coroutine_handle<> waiting) { start_(handler{this, waiting}); }
  /// Returns the error of the operation.
  error_code await_resume() const noexcept { return error_; }

 private:
  struct handler {
    using allocator_type = std::pmr::polymorphic_allocator<std::byte>;
    allocator_type get_allocator() const noexcept { return &operation->memory_; }
    void operator()(const error_code& error, std::size_t bytes = 0) const {
      operation->error_ = error;
      if (operation->bytes_ != nullptr) {
        *operation->bytes_ = bytes;
      }
      waiting.resume();
    }

    wait* operation;
    std::coroutine_handle<> waiting;
  };

  std::pmr::memory_resource& memory_;
  Start start_;
  std::size_t* bytes_;
  error_code error_;
};

}  // namespace tarn::asio
