// Locks several objects at once, without deadlock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <ranges>
#include <source_location>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tarn/detail/escape.hpp>
#include <tarn/detail/lock_watch.hpp>
#include <tarn/shared.hpp>

namespace tarn {
namespace detail {

/// Reports that one object was given twice to tarn::with.
[[noreturn]] void fault_same_twice(const void* object, const std::source_location& location) noexcept;

/// A lock of any kind, as a value that can be sorted.
struct any_lock {
  const void* object;
  void (*lock)(const void*);
  bool (*try_lock)(const void*);
  void (*unlock)(const void*) noexcept;
};

/// Gives access to the private parts of a shared, for functions that lock several. Const objects are locked for
/// reading.
struct shared_access {
  template <class Shared>
  static any_lock lock_of(Shared& target) noexcept {
    if constexpr (std::is_const_v<Shared> && shared_lockable<typename Shared::mutex_type>) {
      return {&target, [](const void* object) { mutex<Shared>(object).lock_shared(); },
              [](const void* object) -> bool { return mutex<Shared>(object).try_lock_shared(); },
              [](const void* object) noexcept { mutex<Shared>(object).unlock_shared(); }};
    } else {
      return {&target, [](const void* object) { mutex<Shared>(object).lock(); },
              [](const void* object) -> bool { return mutex<Shared>(object).try_lock(); },
              [](const void* object) noexcept { mutex<Shared>(object).unlock(); }};
    }
  }
  template <class Shared>
  static auto& watch(Shared& object) noexcept {
    return object.watch_;
  }
  template <class Shared>
  static auto& value(Shared& object) noexcept {
    return object.value_;
  }
  template <class Shared>
  static void end(Shared& object) noexcept {
    if constexpr (std::is_const_v<Shared>) {
      object.end_reading();
    } else {
      object.end_change();
    }
  }

 private:
  template <class Shared>
  static auto& mutex(const void* object) noexcept {
    return static_cast<const Shared*>(object)->mutex_;
  }
};

/// Takes all the locks: it waits for one while holding none and tries the others. When one is not free, it releases
/// all and waits for that one. It begins in the order of addresses, so that threads that want the same locks meet at
/// the first.
inline void lock_together(std::span<any_lock> locks, const std::source_location& location) {
  const std::size_t count = locks.size();
  if (count == 0) {
    return;
  }
  std::sort(locks.begin(), locks.end(),
            [](const any_lock& a, const any_lock& b) { return std::less<>()(a.object, b.object); });
  for (std::size_t index = 1; index < count; ++index) {
    if (locks[index - 1].object == locks[index].object) {
      fault_same_twice(locks[index].object, location);
    }
  }
  for (std::size_t first = 0;;) {
    locks[first].lock(locks[first].object);
    std::size_t tried = 1;
    while (tried < count && locks[(first + tried) % count].try_lock(locks[(first + tried) % count].object)) {
      ++tried;
    }
    if (tried == count) {
      return;
    }
    const std::size_t missing = (first + tried) % count;
    for (std::size_t offset = 0; offset < tried; ++offset) {
      const any_lock& next_lock = locks[(first + offset) % count];
      next_lock.unlock(next_lock.object);
    }
    first = missing;
  }
}

template <class Function, class... Shared>
decltype(auto) with_all(const std::source_location& location, Function&& function,
                        Shared&... objects) TARN_NO_THREAD_SAFETY_ANALYSIS {
  result_stays_inside<Function, decltype(shared_access::value(objects))...>();
  std::array<any_lock, sizeof...(Shared)> locks{shared_access::lock_of(objects)...};
  (shared_access::watch(objects).before(&objects, location), ...);
  lock_together(locks, location);
  struct unlocker {
    std::tuple<Shared&...> locked_objects;
    ~unlocker() {
      std::apply([](auto&... object) { (shared_access::end(object), ...); }, locked_objects);
    }
  };
  (shared_access::watch(objects).acquired(&objects, location), ...);
  const unlocker until_the_end{{objects...}};
  return std::invoke(std::forward<Function>(function), shared_access::value(objects)...);
}

template <class T>
inline constexpr bool is_shared = false;
template <class T, class Mutex>
inline constexpr bool is_shared<shared<T, Mutex>> = true;
template <class T, class Mutex>
inline constexpr bool is_shared<const shared<T, Mutex>> = true;
template <class T>
concept some_shared = is_shared<T>;
template <class Range>
concept range_of_shared =
    std::ranges::forward_range<Range> && some_shared<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

}  // namespace detail

/// tarn::with(a, b, [](auto& x, const auto& y) { … });
///
/// Calls `function` with the values of two to five `shared` objects while all of them are locked, and returns its
/// result, under the same rules as shared::with. A const object (std::as_const) is locked for reading. It cannot
/// deadlock, whatever the order of the arguments here and elsewhere: it never waits for a lock while it holds another
/// one. An object given twice is a named fault. Any thread may call it. Cost: a few ns more than taking the locks one
/// after another.
template <detail::some_shared A, detail::some_shared B, class Function>
decltype(auto) with(A& a, B& b, Function&& function, std::source_location location = std::source_location::current()) {
  return detail::with_all(location, std::forward<Function>(function), a, b);
}
template <detail::some_shared A, detail::some_shared B, detail::some_shared C, class Function>
decltype(auto) with(A& a, B& b, C& c, Function&& function,
                    std::source_location location = std::source_location::current()) {
  return detail::with_all(location, std::forward<Function>(function), a, b, c);
}
template <detail::some_shared A, detail::some_shared B, detail::some_shared C, detail::some_shared D, class Function>
decltype(auto) with(A& a, B& b, C& c, D& d, Function&& function,
                    std::source_location location = std::source_location::current()) {
  return detail::with_all(location, std::forward<Function>(function), a, b, c, d);
}
template <detail::some_shared A, detail::some_shared B, detail::some_shared C, detail::some_shared D,
          detail::some_shared E, class Function>
decltype(auto) with(A& a, B& b, C& c, D& d, E& e, Function&& function,
                    std::source_location location = std::source_location::current()) {
  return detail::with_all(location, std::forward<Function>(function), a, b, c, d, e);
}

/// std::deque<tarn::shared<account>> accounts;
/// tarn::with_range(accounts, [](std::span<account* const> each) { … });
///
/// Calls `function` with pointers to the values of all `shared` objects in the range, in its order, while all of them
/// are locked, and returns its result, under the same rules and with the same freedom from deadlock as tarn::with.
/// Const objects are locked for reading, and the pointers are then const. The pointers must not outlive the call. Any
/// thread may call it. Throws std::bad_alloc before it locks anything; an object given twice is a named fault. Cost:
/// that of tarn::with, three allocations that grow with the range, and a sort by address.
template <detail::range_of_shared Range, class Function>
decltype(auto) with_range(Range&& objects, Function&& function,
                          std::source_location location = std::source_location::current())
    TARN_NO_THREAD_SAFETY_ANALYSIS {
  using object = std::remove_reference_t<std::ranges::range_reference_t<Range>>;
  using value = std::remove_reference_t<decltype(detail::shared_access::value(std::declval<object&>()))>;
  detail::result_stays_inside<Function, std::span<value* const>>();
  std::vector<detail::any_lock> locks;
  std::vector<value*> values;
  std::vector<object*> held_objects;
  for (object& element : objects) {
    locks.push_back(detail::shared_access::lock_of(element));
    values.push_back(&detail::shared_access::value(element));
    held_objects.push_back(&element);
  }
  for (object* const element : held_objects) {
    detail::shared_access::watch(*element).before(element, location);
  }
  detail::lock_together(locks, location);
  struct release {
    std::vector<object*>& held_objects;
    ~release() {
      for (object* const element : held_objects) {
        detail::shared_access::end(*element);
      }
    }
  };
  for (object* const element : held_objects) {
    detail::shared_access::watch(*element).acquired(element, location);
  }
  const release at_the_end{held_objects};
  return std::invoke(std::forward<Function>(function), std::span<value* const>(values));
}

}  // namespace tarn
