// Rejects coroutines where a function must have finished when it returns: a coroutine returns early, and its body
// runs later.
#pragma once

#include <tarn/detail/language.hpp>

#include <functional>
#include <type_traits>
#include <utility>

#if defined(__cpp_impl_coroutine)
#include <coroutine>
#endif

namespace tarn::detail {

#if defined(__cpp_impl_coroutine)
/// True when a function with these arguments that returns a Result can be a coroutine.
template <class Result, class... Arguments>
concept has_promise = requires { typename std::coroutine_traits<Result, Arguments...>::promise_type; };
#else
template <class, class...>
concept has_promise = false;
#endif

/// True when the call is a coroutine. A lambda or another object with an operator() passes itself as the first
/// argument. A function that returns the result of a coroutine counts as one, because that body runs later, too.
template <class Function, class... Arguments>
inline constexpr bool is_coroutine = [] {
  if constexpr (std::is_invocable_v<Function, Arguments...>) {
    using result = std::invoke_result_t<Function, Arguments...>;
    return has_promise<result, Arguments...> || has_promise<result, std::remove_reference_t<Function>&, Arguments...> ||
           has_promise<result, const std::remove_reference_t<Function>&, Arguments...>;
  } else {
    return false;
  }
}();

/// Fails to compile for a coroutine.
template <class Function, class... Arguments>
constexpr void runs_before_it_returns() {
  static_assert(!is_coroutine<Function, Arguments...>,
                "this function is a coroutine, or returns one: its body would run after the call has returned, without "
                "the lock, the snapshot or the object that it was given; pass a plain function, and co_await outside "
                "of it");
}

/// A parameter type for a std::function that must not be a coroutine.
template <class Signature>
class callback;
template <class Result, class... Arguments>
class callback<Result(Arguments...)> {
 public:
  callback() = default;
  template <class Function>
    requires std::is_constructible_v<std::function<Result(Arguments...)>, Function>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload) a callback is not callable, so copies do not come here
  callback(Function&& function) : function_(std::forward<Function>(function)) {
    runs_before_it_returns<Function, Arguments...>();
  }
  std::function<Result(Arguments...)> take() && { return std::move(function_); }

 private:
  std::function<Result(Arguments...)> function_;
};

}  // namespace tarn::detail
