// The locking category "read-only shared": the initialiser builds the object once, and all threads read it without
// locks.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>

#include <tarn/deeply_const.hpp>
#include <tarn/detail/synchronous.hpp>
#include <tarn/work_phase.hpp>

namespace tarn {

namespace detail {

/// Records whether a read-only object was built, and where.
class built_mark {
 public:
  bool is_built() const noexcept { return is_built_; }
  /// Reports a fault and does not return when the object was built before, or when workers run.
  void check_unbuilt(const void* object, const std::source_location& location) const noexcept;
  void note_built(const std::source_location& location) noexcept { is_built_ = true, location_ = location; }
  void check(const void* object) const noexcept {
    if (!is_built_) [[unlikely]] {
      fault_not_built(object);
    }
  }

 private:
  [[noreturn]] static void fault_not_built(const void* object) noexcept;

  bool is_built_ = false;
  std::source_location location_;
};

}  // namespace detail

/// Holds a T that the initialiser builds once, and that nobody can change afterwards.
///
/// tarn::read_only<config> settings;                       // a global, say
/// settings.build(load_config());                          // by the initialiser, once
/// const tarn::work_phase from_here_on;                       // and now the workers
/// settings->timeout;                                      // by any thread
///
/// T must be deeply const (<tarn/deeply_const.hpp>): everything that it reaches through pointers and containers is
/// const as well; the compiler checks that. Threads: only the initialiser's thread calls build(); any thread may call
/// everything else. Errors: building it twice, building it while workers run, and reading it before it is built are
/// named faults; an exception of T's constructor is passed on, and the object is then not built. Cost: a read costs a
/// const reference and a branch. Nothing is counted, so that forked workers keep sharing its pages.
template <class T>
class read_only {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>, "read_only<T> adds the const itself");
  static constexpr detail::depth depth = detail::depth_of<T>();
  static_assert(depth != detail::depth::shallow,
                "a member of T gives access that is not const, through a const T: make it a pointer to const "
                "(std::shared_ptr<const X>), tarn::propagate_const<std::unique_ptr<X>>, or a value");
  static_assert(depth != detail::depth::hidden,
                "T is, or has, a class whose members the compiler cannot inspect, because some are private, or it has "
                "a base or a constructor. If a const object of that class X gives only const access, write: template "
                "<> struct tarn::deeply_const<X> : std::true_type {};");
  static_assert(depth != detail::depth::crowded,
                "T is, or has, an aggregate X of more than 64 members, which the compiler cannot inspect. Divide it, "
                "or, if a const X gives only const access, write: template <> struct tarn::deeply_const<X> : "
                "std::true_type {};");

 public:
  using value_type = T;

  constexpr read_only() noexcept : nothing_() {}
  ~read_only() {
    if (mark_.is_built()) std::destroy_at(&value_);
  }
  read_only(const read_only&) = delete;
  read_only& operator=(const read_only&) = delete;

  /// Builds the object from `value`.
  void build(T value, std::source_location location = std::source_location::current()) {
    mark_.check_unbuilt(this, location);
    std::construct_at(&value_, std::move(value));
    mark_.note_built(location);
  }
  /// Builds the object from a default T that `fill(value)` completes.
  template <std::invocable<T&> Fill>
    requires std::default_initializable<T>
  void build_with(Fill&& fill, std::source_location location = std::source_location::current()) {
    detail::runs_before_it_returns<Fill, T&>();
    T value{};
    std::invoke(std::forward<Fill>(fill), value);
    build(std::move(value), location);
  }

  /// Returns true after build(). Any thread may call it.
  bool is_built() const noexcept { return mark_.is_built(); }
  const T& operator*() const noexcept {
    mark_.check(this);
    return value_;
  }
  const T* operator->() const noexcept {
    mark_.check(this);
    return &value_;
  }

 private:
  union {
    char nothing_;
    T value_;
  };
  detail::built_mark mark_;
};

}  // namespace tarn
