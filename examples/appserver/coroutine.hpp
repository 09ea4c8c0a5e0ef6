// Coroutines for one thread and one io_context. Asio has its own, whose frames come from a cache of two blocks for
// each thread and otherwise from the process heap. The frames of these, and each wait in them, come from the memory
// of the object that the coroutine belongs to.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory_resource>
#include <utility>

#include <boost/system/error_code.hpp>

namespace appserver {

/// Allocates a coroutine's frame from the memory() of the object whose member the coroutine is.
class framed {
 public:
  template <class Owner, class... Rest>
  static void* operator new(std::size_t size, Owner& owner, Rest&...) {
    std::pmr::memory_resource& memory = owner.memory();
    void* const place = memory.allocate(size + before);
    *static_cast<std::pmr::memory_resource**>(place) = &memory;
    return static_cast<std::byte*>(place) + before;
  }
  static void operator delete(void* frame, std::size_t size) noexcept {
    void* const place = static_cast<std::byte*>(frame) - before;
    (*static_cast<std::pmr::memory_resource**>(place))->deallocate(place, size + before);
  }

 private:
  static constexpr std::size_t before = alignof(std::max_align_t);
};

/// Starts when it is awaited and returns a bool: true if the caller should go on.
class [[nodiscard]] step {
 public:
  struct promise_type : framed {
    struct back {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) const noexcept {
        return ended.promise().awaiting;
      }
      void await_resume() const noexcept {}
    };
    step get_return_object() noexcept { return step(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    back final_suspend() const noexcept { return {}; }
    void return_value(bool value) noexcept { go_on = value; }
    void unhandled_exception() noexcept { thrown = std::current_exception(); }

    std::coroutine_handle<> awaiting;
    std::exception_ptr thrown;
    bool go_on = false;
  };

  step(step&& source) noexcept : frame_(std::exchange(source.frame_, nullptr)) {}
  ~step() {
    if (frame_) {
      frame_.destroy();
    }
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) const noexcept {
    frame_.promise().awaiting = awaiting;
    return frame_;
  }
  bool await_resume() const {
    if (frame_.promise().thrown) {
      std::rethrow_exception(frame_.promise().thrown);
    }
    return frame_.promise().go_on;
  }

 private:
  explicit step(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

/// Starts at once, and nobody waits for its end. Its exceptions come out of io_context::run().
struct background {
  struct promise_type : framed {
    background get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const { throw; }
  };
};

/// co_await wait(memory, [&](auto then) { socket.async_connect(peer, std::move(then)); }) returns the error code and
/// stores the number of bytes.
template <class Start>
class wait {
 public:
  wait(std::pmr::memory_resource& memory, Start start, std::size_t* bytes)
      : memory_(memory), start_(std::move(start)), bytes_(bytes) {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) { start_(handler{this, waiting}); }
  boost::system::error_code await_resume() const noexcept { return error_; }

 private:
  struct handler {
    using allocator_type = std::pmr::polymorphic_allocator<std::byte>;
    allocator_type get_allocator() const noexcept { return &operation->memory_; }
    void operator()(const boost::system::error_code& error, std::size_t bytes = 0) const {
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
  boost::system::error_code error_;
};

}  // namespace appserver
