// Coroutines for one thread and one io_context. The frames of Asio's own coroutines come from a cache of two blocks for
// each thread, and otherwise from the process heap. The frames of these coroutines, and each wait in them, come from
// the memory of the object that the coroutine belongs to.
#pragma once

#include <tarn/detail/language.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory_resource>
#include <optional>
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
  std::coroutine_handle<> background_frame() noexcept { return background_awaiting; }

  std::coroutine_handle<> awaiting;
  const void* outermost = nullptr;
  std::coroutine_handle<> background_awaiting;  // null: this task belongs to another kind of coroutine
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
  std::coroutine_handle<> background_frame() noexcept {
    return std::coroutine_handle<background_promise>::from_promise(*this);
  }
};

/// Returns the `background` for which this coroutine runs, or null. Whoever destroys that frame destroys the tasks that
/// it awaits, too.
template <class Promise>
std::coroutine_handle<> background_of(std::coroutine_handle<Promise> coroutine) noexcept {
  if constexpr (requires { coroutine.promise().background_frame(); }) {
    return coroutine.promise().background_frame();
  } else {
    return nullptr;
  }
}

/// An operation that this thread is about to start. Its handler may be destroyed before the start returns, while the
/// coroutine's frame is in use: when the start throws, or forgets the handler.
class starting_operation {
 public:
  explicit starting_operation(const void* operation) noexcept : operation_(operation), outer_(innermost()) {
    innermost() = this;
  }
  starting_operation(const starting_operation&) = delete;
  starting_operation& operator=(const starting_operation&) = delete;
  ~starting_operation() { innermost() = outer_; }

  /// Returns true when this thread is starting the operation; its handler is then known to be dropped.
  static bool drop(const void* operation) noexcept {
    for (starting_operation* starting = innermost(); starting != nullptr; starting = starting->outer_) {
      if (starting->operation_ == operation) return starting->is_dropped_ = true;
    }
    return false;
  }
  bool is_dropped() const noexcept { return is_dropped_; }

 private:
  static starting_operation*& innermost() noexcept {
    static constinit thread_local starting_operation* pointer = nullptr;
    return pointer;
  }

  const void* operation_;
  starting_operation* outer_;
  bool is_dropped_ = false;
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
    if (frame_) frame_.destroy();
  }

  /// co_await calls this and the next two functions.
  bool await_ready() const noexcept { return false; }
  /// Starts the coroutine, which continues `awaiting` at its end.
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> awaiting) const noexcept {
    frame_.promise().awaiting = awaiting;
    frame_.promise().outermost = root_of(awaiting);
    frame_.promise().background_awaiting = detail::background_of(awaiting);
    return frame_;
  }
  /// Returns the result, or throws what the coroutine has thrown.
  Result await_resume() const {
    if (frame_.promise().thrown) std::rethrow_exception(frame_.promise().thrown);
    return frame_.promise().take();
  }

 private:
  explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

/// A coroutine that starts at once, and whose end nobody awaits. Its exceptions leave the call that resumes it, mostly
/// io_context::run(). If it is suspended in a wait() when the io_context ends, it is destroyed then, with the tasks
/// that it awaits: its sockets close, and the locks that it holds are released. So the memory() that it came from must
/// outlive the io_context, and so must what the destructors of its variables use. A coroutine that waits for a lock is
/// in the list of that lock instead: cancel such a wait before the io_context ends. Threads: the one that calls it
/// until it suspends, then the one that resumes it. Cost: one allocation for its frame.
struct background {
  /// The compiler keeps it in the frame.
  struct promise_type : detail::background_promise {
    /// The compiler calls it first.
    background get_return_object() const noexcept { return {}; }
  };
};

/// co_await wait(memory, [&](auto then) { socket.async_connect(peer, std::move(then)); }) returns the error code and
/// stores the number of bytes. What Asio allocates for the wait comes from `memory`. Threads: the coroutine's; it is
/// resumed by the thread that completes the operation. Errors: the error code; what `start` throws leaves the co_await.
/// A handler that is destroyed without being called, as by the end of its io_context, destroys the `background` that
/// waits. Cost: that of the operation, and what Asio allocates for it.
template <class Start>
class wait {
 public:
  /// `start(handler)` begins the operation. The handler can be moved, and not copied. The number of bytes that it
  /// reports is stored in `bytes`, unless that is null.
  wait(std::pmr::memory_resource& memory, Start start, std::size_t* bytes = nullptr)
      : memory_(memory), start_(std::move(start)), bytes_(bytes) {}

  /// co_await calls this and the next two functions.
  bool await_ready() const noexcept { return false; }
  /// Begins the operation. It is not inlined, because Clang 16 would put its variables into the coroutine's frame.
  template <class Promise>
  [[gnu::noinline]] void await_suspend(std::coroutine_handle<Promise> waiting) {
    const std::coroutine_handle<> background = detail::background_of(waiting);
    const detail::starting_operation starting(this);
    start_(handler(*this, waiting, background));
    if (starting.is_dropped()) {
      background.destroy();  // with this object
    }
  }
  /// Returns the error of the operation.
  error_code await_resume() const noexcept { return error_; }

 private:
  class handler {
   public:
    using allocator_type = std::pmr::polymorphic_allocator<std::byte>;

    handler(wait& operation, std::coroutine_handle<> waiting, std::coroutine_handle<> background) noexcept
        : operation_(&operation), memory_(&operation.memory_), waiting_(waiting), background_(background) {}
    handler(handler&& source) noexcept
        : operation_(source.operation_),
          memory_(source.memory_),
          waiting_(std::exchange(source.waiting_, nullptr)),
          background_(source.background_) {}
    ~handler() {
      if (waiting_ && background_ && !detail::starting_operation::drop(operation_)) background_.destroy();
    }

    allocator_type get_allocator() const noexcept { return memory_; }
    void operator()(const error_code& error, std::size_t bytes = 0) {
      operation_->error_ = error;
      if (operation_->bytes_ != nullptr) *operation_->bytes_ = bytes;
      const std::coroutine_handle<> waiting = std::exchange(waiting_, nullptr);
      if (background_) {
        resume_background(waiting);
      } else {
        waiting.resume();
      }
    }

   private:
    // An exception that leaves the coroutine suspends it at its end, and it never resumes.
    void resume_background(std::coroutine_handle<> waiting) const {
      try {
        waiting.resume();
      } catch (...) {
        background_.destroy();
        throw;
      }
    }

    wait* operation_;
    std::pmr::memory_resource* memory_;
    std::coroutine_handle<> waiting_;
    std::coroutine_handle<> background_;
  };

  std::pmr::memory_resource& memory_;
  Start start_;
  std::size_t* bytes_;
  error_code error_;
};

}  // namespace tarn::asio
