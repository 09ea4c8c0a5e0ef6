// Tests whether a const object of a type gives only const access to everything that it reaches, as far as a compiler
// can see.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace tarn {

/// Specialise this as std::true_type for a deeply const class of yours that the compiler cannot inspect, such as one
/// with private members.
template <class T>
struct deeply_const : std::false_type {};

/// Wraps a pointer or smart pointer member so that it gives only const access when it is const itself:
/// `tarn::deep<std::unique_ptr<node>> next;`. It works like std::experimental::propagate_const.
template <class Pointer>
class deep {
 public:
  /// The type that the pointer points to.
  using element = std::remove_reference_t<decltype(*std::declval<const Pointer&>())>;

  constexpr deep() = default;
  /// Takes over the pointer.
  constexpr deep(Pointer pointer) noexcept : pointer_(std::move(pointer)) {}

  constexpr element& operator*() noexcept { return *pointer_; }
  constexpr const element& operator*() const noexcept { return *pointer_; }
  constexpr element* operator->() noexcept { return std::to_address(pointer_); }
  constexpr const element* operator->() const noexcept { return std::to_address(pointer_); }
  constexpr explicit operator bool() const noexcept { return static_cast<bool>(pointer_); }

 private:
  Pointer pointer_{};
};

namespace detail {

/// Returns the number of members of an aggregate, up to 17: the most pairs of braces that initialise it. 0: unknown.
template <class T>
constexpr std::size_t count_members() {
  if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return 17;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return 16;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return 15;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return 14;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return 13;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return 12;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return 11;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return 10;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return 9;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}}; }) {
    return 8;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}}; }) {
    return 7;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}, {}}; }) {
    return 6;
  } else if constexpr (requires { T{{}, {}, {}, {}, {}}; }) {
    return 5;
  } else if constexpr (requires { T{{}, {}, {}, {}}; }) {
    return 4;
  } else if constexpr (requires { T{{}, {}, {}}; }) {
    return 3;
  } else if constexpr (requires { T{{}, {}}; }) {
    return 2;
  } else if constexpr (requires { T{{}}; }) {
    return 1;
  } else {
    return 0;
  }
}

/// `Seen` holds the types on the path to T: a type that leads back to itself adds nothing.
template <class T, class... Seen>
struct deep_check;

template <class T, class... Seen>
inline constexpr bool is_deep = std::disjunction_v<std::is_same<T, Seen>..., deep_check<T, Seen...>>;

template <class Whole, class... Seen>
struct member_check {
  /// Checks the members of a const `Whole`: a member that is not const is mutable, or a reference.
  template <class... Members>
  static auto members() {
    return std::bool_constant<(
        std::conjunction_v<std::is_const<Members>,
                           std::bool_constant<is_deep<std::remove_const_t<Members>, Whole, Seen...>>> &&
        ...)>();
  }
  /// Is never called: its result type is the answer.
  static auto check_members(const Whole& whole) {
    constexpr std::size_t count = count_members<Whole>();
    if constexpr (count == 1) {
      const auto& [m0] = whole;
      return members<decltype(m0)>();
    } else if constexpr (count == 2) {
      const auto& [m0, m1] = whole;
      return members<decltype(m0), decltype(m1)>();
    } else if constexpr (count == 3) {
      const auto& [m0, m1, m2] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2)>();
    } else if constexpr (count == 4) {
      const auto& [m0, m1, m2, m3] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3)>();
    } else if constexpr (count == 5) {
      const auto& [m0, m1, m2, m3, m4] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4)>();
    } else if constexpr (count == 6) {
      const auto& [m0, m1, m2, m3, m4, m5] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4), decltype(m5)>();
    } else if constexpr (count == 7) {
      const auto& [m0, m1, m2, m3, m4, m5, m6] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4), decltype(m5),
                     decltype(m6)>();
    } else if constexpr (count == 8) {
      const auto& [m0, m1, m2, m3, m4, m5, m6, m7] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4), decltype(m5), decltype(m6),
                     decltype(m7)>();
    } else if constexpr (count == 9) {
      const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4), decltype(m5), decltype(m6),
                     decltype(m7), decltype(m8)>();
    } else if constexpr (count == 10) {
      const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4), decltype(m5), decltype(m6),
                     decltype(m7), decltype(m8), decltype(m9)>();
    } else if constexpr (count == 11) {
      const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4), decltype(m5), decltype(m6),
                     decltype(m7), decltype(m8), decltype(m9), decltype(m10)>();
    } else if constexpr (count == 12) {
      const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4), decltype(m5), decltype(m6),
                     decltype(m7), decltype(m8), decltype(m9), decltype(m10), decltype(m11)>();
    } else if constexpr (count == 13) {
      const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4), decltype(m5), decltype(m6),
                     decltype(m7), decltype(m8), decltype(m9), decltype(m10), decltype(m11), decltype(m12)>();
    } else if constexpr (count == 14) {
      const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4), decltype(m5), decltype(m6),
                     decltype(m7), decltype(m8), decltype(m9), decltype(m10), decltype(m11), decltype(m12),
                     decltype(m13)>();
    } else if constexpr (count == 15) {
      const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4), decltype(m5), decltype(m6),
                     decltype(m7), decltype(m8), decltype(m9), decltype(m10), decltype(m11), decltype(m12),
                     decltype(m13), decltype(m14)>();
    } else if constexpr (count == 16) {
      const auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = whole;
      return members<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4), decltype(m5), decltype(m6),
                     decltype(m7), decltype(m8), decltype(m9), decltype(m10), decltype(m11), decltype(m12),
                     decltype(m13), decltype(m14), decltype(m15)>();
    } else {
      static_cast<void>(whole);
      return std::false_type();
    }
  }
};

template <class T, class... Seen>
constexpr bool check_deep() {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_null_pointer_v<T> || std::is_empty_v<T> ||
                deeply_const<T>::value) {
    return true;
  } else if constexpr (std::is_pointer_v<T>) {
    using to = std::remove_pointer_t<T>;
    return std::is_function_v<to> || (std::is_const_v<to> && is_deep<std::remove_const_t<to>, T, Seen...>);
  } else if constexpr (std::is_array_v<T>) {
    return is_deep<std::remove_cv_t<std::remove_extent_t<T>>, Seen...>;
  } else if constexpr (std::ranges::range<const T>) {  // a container, if its elements are const through it
    using reference = std::ranges::range_reference_t<const T>;
    return (
        !std::is_reference_v<reference> ||
        std::is_const_v<std::remove_reference_t<reference>>)&&is_deep<std::ranges::range_value_t<const T>, T, Seen...>;
  } else if constexpr (std::is_aggregate_v<T>) {
    return decltype(member_check<T, Seen...>::check_members(std::declval<const T&>()))::value;
  } else {
    return false;
  }
}

template <class T, class... Seen>
struct deep_check : std::bool_constant<check_deep<T, Seen...>()> {};

// Types of the standard library: owners are deeply const only when their target is const itself.
template <class T, class Deleter, class... Seen>
struct deep_check<std::unique_ptr<T, Deleter>, Seen...> : deep_check<T*, Seen...> {};
template <class T, class... Seen>
struct deep_check<std::shared_ptr<T>, Seen...> : deep_check<T*, Seen...> {};
template <class Pointer, class... Seen>
struct deep_check<deep<Pointer>, Seen...>
    : std::bool_constant<is_deep<std::remove_cv_t<typename deep<Pointer>::element>, deep<Pointer>, Seen...>> {};
template <class T, class... Seen>
struct deep_check<std::optional<T>, Seen...> : deep_check<T, Seen...> {};
template <class First, class Second, class... Seen>
struct deep_check<std::pair<First, Second>, Seen...>
    : std::bool_constant<is_deep<std::remove_const_t<First>, Seen...> && is_deep<Second, Seen...>> {};
template <class... Parts, class... Seen>
struct deep_check<std::tuple<Parts...>, Seen...> : std::bool_constant<(is_deep<Parts, Seen...> && ...)> {};
template <class... Parts, class... Seen>
struct deep_check<std::variant<Parts...>, Seen...> : std::bool_constant<(is_deep<Parts, Seen...> && ...)> {};
template <class Number, class Period, class... Seen>
struct deep_check<std::chrono::duration<Number, Period>, Seen...> : std::true_type {};
template <class Clock, class Duration, class... Seen>
struct deep_check<std::chrono::time_point<Clock, Duration>, Seen...> : std::true_type {};
template <class... Seen>
struct deep_check<std::monostate, Seen...> : std::true_type {};

}  // namespace detail

/// True for numbers, enumerations, text, pointers to const, standard containers and owners of such types, deep<…>,
/// and aggregates of up to 16 such members, none of them mutable. deeply_const declares what a compiler cannot see.
template <class T>
inline constexpr bool is_deeply_const = detail::is_deep<std::remove_cv_t<T>>;

}  // namespace tarn
