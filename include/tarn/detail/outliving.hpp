// The result of outlives().
#pragma once

#include <tarn/detail/language.hpp>

#include <type_traits>
#include <utility>

namespace tarn {

/// A pointer, view or iterator for which the program vouches: see outlives(). Threads: as the pointer itself. Errors:
/// none. Cost: none.
template <class T>
class outliving {
 public:
  /// Wraps the pointer.
  constexpr explicit outliving(T pointer) noexcept(std::is_nothrow_move_constructible_v<T>)
      : pointer_(std::move(pointer)) {}

  /// Returns the pointer.
  constexpr const T& get() const noexcept { return pointer_; }
  /// Converts to the pointer, so that `node* found = it.with(…)` compiles.
  constexpr operator const T&() const noexcept { return pointer_; }
  /// Accesses the object.
  constexpr decltype(auto) operator*() const
    requires requires(const T& pointer) { *pointer; }
  {
    return *pointer_;
  }
  /// Accesses a member of the object.
  constexpr const T& operator->() const noexcept
    requires requires(const T& pointer) { *pointer; }
  {
    return pointer_;
  }

 private:
  T pointer_;
};

}  // namespace tarn
