// The locking category "transient": objects that only one thread uses.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

#include <tarn/detail/escape.hpp>
#include <tarn/detail/thread_mark.hpp>

namespace tarn {

/// tarn::transient<std::pmr::string> reply(&request);   // a local variable
/// reply->append("...");
///
/// An object of the thread that made it. It cannot be copied, moved, allocated by new, or have its address taken: a
/// variable stays in its scope, and a member lives as long as its object. When another thread uses it through a
/// reference, that is a named fault in builds with TARN_CHECKS, and the message names both threads. Cost: a load and a
/// comparison in these builds; in others it is exactly a T, at no cost. Errors: construction throws what T throws.
template <class T>
class transient {
 public:
  using value_type = T;

  /// Constructs the value from these arguments.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  explicit(sizeof...(Arguments) == 1) transient(Arguments&&... arguments)
      : value_(std::forward<Arguments>(arguments)...) {}
  ~transient() { check(); }
  transient(const transient&) = delete;
  transient& operator=(const transient&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;

  template <class Never = void>
  void operator&() const {
    static_assert(detail::is_reached<Never>,
                  "a transient object stays with its thread: pass *it by reference to functions, and a copy, or what "
                  "tarn::shared holds, to other threads");
  }

  T& operator*() noexcept { return check(), value_; }
  const T& operator*() const noexcept { return check(), value_; }
  T* operator->() noexcept { return check(), std::addressof(value_); }
  const T* operator->() const noexcept { return check(), std::addressof(value_); }

 private:
  void check() const noexcept { mark_.check("transient object", std::addressof(value_)); }

  T value_;
  [[no_unique_address]] detail::thread_mark mark_;
};

}  // namespace tarn
