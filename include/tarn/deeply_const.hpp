// Tests whether a const object of a type gives only const access to everything that it reaches, as far as a compiler
// can see.
#pragma once

#include <tarn/detail/language.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <tarn/detail/members.hpp>

namespace tarn {

/// Specialise this as std::true_type for a class of yours that the compiler cannot inspect, for example because it has
/// private members, and whose const objects give only const access to everything that they reach.
template <class T>
struct deeply_const : std::false_type {};

/// Wraps a pointer or smart pointer member so that it gives only const access when it is const itself:
/// `tarn::propagate_const<std::unique_ptr<node>> next;`. It works like std::experimental::propagate_const. Threads,
/// errors and cost are those of the wrapped pointer, which is not checked for null.
template <class Pointer>
class propagate_const {
 public:
  /// The type that the pointer points to.
  using element = std::remove_reference_t<decltype(*std::declval<const Pointer&>())>;

  constexpr propagate_const() = default;
  /// Takes over the pointer.
  constexpr propagate_const(Pointer pointer) noexcept : pointer_(std::move(pointer)) {}

  constexpr element& operator*() noexcept { return *pointer_; }
  constexpr const element& operator*() const noexcept { return *pointer_; }
  constexpr element* operator->() noexcept { return std::to_address(pointer_); }
  constexpr const element* operator->() const noexcept { return std::to_address(pointer_); }
  constexpr explicit operator bool() const noexcept { return static_cast<bool>(pointer_); }

 private:
  Pointer pointer_{};
};

namespace detail {

/// Says whether a const object of a type gives only const access.
enum class depth {
  deep,     ///< const through and through
  shallow,  ///< a pointer, reference or mutable member gives access that is not const
  hidden,   ///< unknown: a class has private members, a base or a constructor
  crowded,  ///< unknown: an aggregate has more members than can be counted
};

/// Returns the first that is not deep.
template <std::same_as<depth>... Depth>
constexpr depth all_of(Depth... parts) {
  depth result = depth::deep;
  static_cast<void>(((result = parts, result == depth::deep) && ...));
  return result;
}

/// `Seen` holds the types on the path to T: a type that leads back to itself adds nothing.
template <class T, class... Seen>
struct deep_check;

template <class T, class... Seen>
constexpr depth depth_of() {
  if constexpr (std::disjunction_v<std::is_same<T, Seen>...>) {
    return depth::deep;
  } else {
    return deep_check<T, Seen...>::value;
  }
}

/// Reports the first member type that is not deeply const as the result for `Whole`. A member of a const object that
/// is not const itself is mutable, or a reference.
template <class Whole, class... Seen>
struct member_check {
  template <class Member>
  static constexpr depth member() {
    if constexpr (std::is_const_v<Member>) {
      return depth_of<std::remove_const_t<Member>, Whole, Seen...>();
    } else {
      return depth::shallow;
    }
  }
  template <class... Members>
  static auto members() {
    return std::integral_constant<depth, all_of(member<Members>()...)>();
  }
  /// Is never called: its result type is the answer.
  static auto check_members(const Whole& whole) {
    constexpr std::size_t count = count_members<Whole>();
    static_cast<void>(whole);
    if constexpr (count == 0 || count > max_members) {
      return std::integral_constant < depth, count == 0 ? depth::hidden : depth::crowded > ();
    }
// NOLINTBEGIN(bugprone-macro-parentheses): a number is pasted
#define TARN_DECOMPOSE(number)                 \
  else if constexpr (count == number) {        \
    const auto& [TARN_NAMES_##number] = whole; \
    return members<TARN_TYPES_##number>();     \
  }
    // NOLINTEND(bugprone-macro-parentheses)
    TARN_EACH_COUNT(TARN_DECOMPOSE)
#undef TARN_DECOMPOSE
  }
};

template <class T, class... Seen>
constexpr depth check_deep() {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_null_pointer_v<T> || std::is_empty_v<T> ||
                deeply_const<T>::value) {
    return depth::deep;
  } else if constexpr (std::is_pointer_v<T>) {
    using target = std::remove_pointer_t<T>;
    if constexpr (std::is_function_v<target>) {
      return depth::deep;
    } else if constexpr (std::is_const_v<target>) {
      return depth_of<std::remove_const_t<target>, T, Seen...>();
    } else {
      return depth::shallow;
    }
  } else if constexpr (std::is_array_v<T>) {
    return depth_of<std::remove_cv_t<std::remove_extent_t<T>>, Seen...>();
  } else if constexpr (std::ranges::range<const T>) {  // a container, if its elements are const through it
    using reference = std::ranges::range_reference_t<const T>;
    if constexpr (std::is_reference_v<reference> && !std::is_const_v<std::remove_reference_t<reference>>) {
      return depth::shallow;
    } else {
      return depth_of<std::ranges::range_value_t<const T>, T, Seen...>();
    }
  } else if constexpr (std::is_aggregate_v<T>) {
    return decltype(member_check<T, Seen...>::check_members(std::declval<const T&>()))::value;
  } else {
    return std::is_class_v<T> || std::is_union_v<T> ? depth::hidden : depth::shallow;
  }
}

template <class T, class... Seen>
struct deep_check : std::integral_constant<depth, check_deep<T, Seen...>()> {};

// Types of the standard library: owners are deeply const only when their target is const itself.
template <class T, class Deleter, class... Seen>
struct deep_check<std::unique_ptr<T, Deleter>, Seen...> : deep_check<T*, Seen...> {};
template <class T, class... Seen>
struct deep_check<std::shared_ptr<T>, Seen...> : deep_check<T*, Seen...> {};
template <class Pointer, class... Seen>
struct deep_check<propagate_const<Pointer>, Seen...>
    : std::integral_constant<depth, depth_of<std::remove_cv_t<typename propagate_const<Pointer>::element>,
                                             propagate_const<Pointer>, Seen...>()> {};
template <class T, class... Seen>
struct deep_check<std::optional<T>, Seen...> : deep_check<T, Seen...> {};
template <class First, class Second, class... Seen>
struct deep_check<std::pair<First, Second>, Seen...>
    : std::integral_constant<depth,
                             all_of(depth_of<std::remove_const_t<First>, Seen...>(), depth_of<Second, Seen...>())> {};
template <class... Parts, class... Seen>
struct deep_check<std::tuple<Parts...>, Seen...>
    : std::integral_constant<depth, all_of(depth_of<Parts, Seen...>()...)> {};
template <class... Parts, class... Seen>
struct deep_check<std::variant<Parts...>, Seen...>
    : std::integral_constant<depth, all_of(depth_of<Parts, Seen...>()...)> {};
template <class Number, class Period, class... Seen>
struct deep_check<std::chrono::duration<Number, Period>, Seen...> : std::integral_constant<depth, depth::deep> {};
template <class Clock, class Duration, class... Seen>
struct deep_check<std::chrono::time_point<Clock, Duration>, Seen...> : std::integral_constant<depth, depth::deep> {};
template <class... Seen>
struct deep_check<std::monostate, Seen...> : std::integral_constant<depth, depth::deep> {};

}  // namespace detail

/// True for numbers, enumerations, text, pointers to const, standard containers and owners of such types,
/// propagate_const<…>, and aggregates of up to 64 such members, none of them mutable. deeply_const declares what a
/// compiler cannot see.
template <class T>
inline constexpr bool is_deeply_const = detail::depth_of<std::remove_cv_t<T>>() == detail::depth::deep;

}  // namespace tarn
