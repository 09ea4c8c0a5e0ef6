// A pointer that only one thread may use.
#pragma once

#include <memory>
#include <utility>

#include <tarn/detail/thread_mark.hpp>

namespace tarn {

/// Wraps any pointer or smart pointer, so that only one thread may use it.
///
/// tarn::thread_checked<connection*> peer(&mine);
/// peer->send();                                    // by the thread that made the handle, or a copy of it
///
/// Threads: any thread may copy and move it, but only the thread that made the first one may use it. Errors: use by
/// another thread is a named fault in builds with TARN_CHECKS, and the message names both threads. Cost: a load and
/// a comparison in these builds; in others it is exactly the pointer.
template <class Pointer>
class thread_checked {
 public:
  /// The type that the pointer points to.
  using element = std::remove_reference_t<decltype(*std::declval<const Pointer&>())>;

  /// Takes over the pointer, and binds it to the calling thread.
  explicit thread_checked(Pointer pointer) noexcept : pointer_(std::move(pointer)) {}

  element& operator*() const noexcept { return check(), *pointer_; }
  element* operator->() const noexcept { return check(), std::to_address(pointer_); }
  /// Returns the pointer.
  const Pointer& get() const noexcept { return check(), pointer_; }

 private:
  void check() const noexcept { mark_.check("handle", std::to_address(pointer_)); }

  Pointer pointer_;
  [[no_unique_address]] detail::thread_mark mark_;
};

}  // namespace tarn
