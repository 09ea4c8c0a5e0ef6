// Rejects results that a function must not return out of a lock's scope.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <type_traits>

#include <tarn/detail/outliving.hpp>
#include <tarn/detail/synchronous.hpp>

namespace tarn::detail {

/// True for a reference to a single bit, such as that of std::vector<bool> or std::bitset.
template <class T>
concept bit_reference = std::is_class_v<T> && std::is_convertible_v<T, bool> && requires(T bit) { bit.flip(); };

/// True when a value of this type may refer to something that it does not own: references, also to a bit, pointers to
/// objects, views, iterators, std::reference_wrapper, std::initializer_list, and templates over such types
/// (std::optional<node*>, std::array<node*, 2>). The compiler cannot see the members of a class.
template <class T>
struct may_refer : std::bool_constant<std::is_reference_v<T> ||
                                      (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) ||
                                      std::ranges::enable_view<T> || std::ranges::enable_borrowed_range<T> ||
                                      std::input_or_output_iterator<T> || bit_reference<T>> {};
template <class T>
struct may_refer<const T> : may_refer<T> {};
template <class T>
struct may_refer<std::reference_wrapper<T>> : std::true_type {};
template <class T>
  requires(std::is_reference_v<T>)
struct may_refer<T> : std::true_type {};
template <template <class...> class Template, class... Arguments>
  requires(!std::input_or_output_iterator<Template<Arguments...>>)
struct may_refer<Template<Arguments...>>
    : std::bool_constant<std::ranges::enable_view<Template<Arguments...>> || (may_refer<Arguments>::value || ...)> {};
template <class Element>
struct may_refer<std::initializer_list<Element>> : std::true_type {};
template <template <class, std::size_t> class Template, class Element, std::size_t Count>
struct may_refer<Template<Element, Count>>
    : std::bool_constant<std::ranges::enable_view<Template<Element, Count>> || may_refer<Element>::value> {};
template <class T>
struct may_refer<outliving<T>> : std::false_type {};  // the program vouches for it
template <>
struct may_refer<void> : std::false_type {};

/// Makes a static_assert fail only where it is instantiated.
template <class...>
inline constexpr bool is_reached = false;

/// Fails to compile, with advice, when the result of the function could outlive the protection of its argument.
template <class Function, class... Arguments>
constexpr void result_stays_inside() {
  static_assert(std::is_invocable_v<Function, Arguments...>,
                "the function must accept the values as T&, or as const T& where they can only be read");
  runs_before_it_returns<Function, Arguments...>();
  if constexpr (std::is_invocable_v<Function, Arguments...> && !is_coroutine<Function, Arguments...>) {
    static_assert(!may_refer<std::invoke_result_t<Function, Arguments...>>::value,
                  "the function returns a reference, pointer, view or iterator, which would outlive the lock or "
                  "snapshot: return a value (a copy, a std::shared_ptr), or do the work inside; where the object lives "
                  "on by design, return tarn::outlives(pointer)");
  }
}

}  // namespace tarn::detail
