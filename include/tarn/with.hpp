// Locks several objects at once, without deadlock.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <ranges>
#include <source_location>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tarn/detail/durations.hpp>
#include <tarn/detail/escape.hpp>
#include <tarn/detail/lock_watch.hpp>
#include <tarn/shared.hpp>

namespace tarn {
namespace detail {

/// Reports that one object was given twice to tarn::with.
[[noreturn]] void fault_same_twice(const void* object, const std::source_location& location) noexcept;

/// The calls of a lock of some kind.
struct lock_calls {
  void (*lock)(const void*);
  bool (*lock_for)(const void*, std::chrono::steady_clock::duration);  // null: the mutex waits without a deadline
  bool (*try_lock)(const void*);
  void (*unlock)(const void*) noexcept;
};

/// A lock of any kind, as a value that can be sorted.
struct any_lock {
  const void* object;
  const lock_calls* calls;

  void lock() const { calls->lock(object); }
  bool lock_for(std::chrono::steady_clock::duration longest) const { return calls->lock_for(object, longest); }
  bool try_lock() const { return calls->try_lock(object); }
  void unlock() const noexcept { calls->unlock(object); }
};

/// Gives access to the private parts of a shared, for functions that lock several. Const objects are locked for
/// reading.
struct shared_access {
  template <class Shared>
  static any_lock lock_of(Shared& target) noexcept {
    if constexpr (std::is_const_v<Shared> && shared_lockable<typename Shared::mutex_type>) {
      static constexpr lock_calls calls{
          [](const void* object) { mutex<Shared>(object).lock_shared(); }, timed_lock_of<Shared>(),
          [](const void* object) -> bool { return mutex<Shared>(object).try_lock_shared(); },
          [](const void* object) noexcept { mutex<Shared>(object).unlock_shared(); }};
      return {&target, &calls};
    } else {
      static constexpr lock_calls calls{[](const void* object) { mutex<Shared>(object).lock(); },
                                        timed_lock_of<Shared>(),
                                        [](const void* object) -> bool { return mutex<Shared>(object).try_lock(); },
                                        [](const void* object) noexcept { mutex<Shared>(object).unlock(); }};
      return {&target, &calls};
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
  using duration = std::chrono::steady_clock::duration;

  template <class Shared>
  static constexpr auto timed_lock_of() noexcept -> bool (*)(const void*, duration) {
    using mutex_type = typename Shared::mutex_type;
    if constexpr (std::is_const_v<Shared> && timed_shared_lockable<mutex_type>) {
      return [](const void* object, duration longest) -> bool {
        return mutex<Shared>(object).try_lock_shared_for(longest);
      };
    } else if constexpr (timed_lockable<mutex_type>) {
      return [](const void* object, duration longest) -> bool { return mutex<Shared>(object).try_lock_for(longest); };
    } else {
      return nullptr;
    }
  }
  template <class Shared>
  static auto& mutex(const void* object) noexcept {
    return static_cast<const Shared*>(object)->mutex_;
  }
};

struct no_deadline {};

/// Takes all the locks: it waits for one while holding none and tries the others. When one is not free, it releases
/// all and waits for that one. It begins in the order of addresses, so that threads that want the same locks meet at
/// the first. Returns false, and holds nothing, when it does not have all of them at the deadline. A Deadline of
/// no_deadline costs nothing.
template <class Deadline>
bool lock_together(std::span<any_lock> locks, const std::source_location& location, Deadline deadline) {
  constexpr bool is_timed = !std::is_same_v<Deadline, no_deadline>;
  const std::size_t count = locks.size();
  if (count == 0) return true;
  // Most calls have two or three locks, for which the general sort takes longer than the locks' own checks.
  const auto is_before = [](const any_lock& a, const any_lock& b) { return std::less<>()(a.object, b.object); };
  if (count > 4) {
    std::sort(locks.begin(), locks.end(), is_before);
  } else {
    for (std::size_t index = 1; index < count; ++index) {
      for (std::size_t slot = index; slot > 0 && is_before(locks[slot], locks[slot - 1]); --slot) {
        std::swap(locks[slot], locks[slot - 1]);
      }
    }
  }
  for (std::size_t index = 1; index < count; ++index) {
    if (locks[index - 1].object == locks[index].object) fault_same_twice(locks[index].object, location);
  }
  for (std::size_t first = 0;;) {
    if constexpr (is_timed) {
      if (!locks[first].lock_for(deadline - std::chrono::steady_clock::now())) return false;
    } else {
      locks[first].lock();
    }
    std::size_t tried = 1;
    while (tried < count && locks[(first + tried) % count].try_lock()) ++tried;
    if (tried == count) return true;
    const std::size_t missing = (first + tried) % count;
    for (std::size_t offset = 0; offset < tried; ++offset) locks[(first + offset) % count].unlock();
    if constexpr (is_timed) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
    }
    first = missing;
  }
}

/// Releases the locks of several objects at the end of its scope.
template <class... Shared>
struct unlock_all {
  std::tuple<Shared&...> locked_objects;
  ~unlock_all() {
    std::apply([](auto&... object) { (shared_access::end(object), ...); }, locked_objects);
  }
};

template <class Function, class... Shared>
decltype(auto) with_all(const std::source_location& location, Function&& function,
                        Shared&... objects) TARN_NO_THREAD_SAFETY_ANALYSIS {
  result_stays_inside<Function, decltype(shared_access::value(objects))...>();
  std::array<any_lock, sizeof...(Shared)> locks{shared_access::lock_of(objects)...};
  (shared_access::watch(objects).note_attempt(&objects, location), ...);
  lock_together(locks, location, no_deadline());
  (shared_access::watch(objects).note_acquired(&objects, location), ...);
  const unlock_all<Shared...> until_the_end{{objects...}};
  return std::invoke(std::forward<Function>(function), shared_access::value(objects)...);
}

/// Does the same until a deadline. As after try_lock_for(), only the order of the locks that are taken later is
/// watched.
template <class Function, class... Shared>
auto with_all_for(std::chrono::steady_clock::duration longest, const std::source_location& location,
                  Function&& function, Shared&... objects) TARN_NO_THREAD_SAFETY_ANALYSIS {
  result_stays_inside<Function, decltype(shared_access::value(objects))...>();
  std::array<any_lock, sizeof...(Shared)> locks{shared_access::lock_of(objects)...};
  const auto deadline = std::chrono::steady_clock::now() + longest;
  if (!lock_together(locks, location, deadline)) {
    return call_if(false, std::forward<Function>(function), shared_access::value(objects)...);
  }
  (shared_access::watch(objects).note_acquired_at_once(&objects, location), ...);
  const unlock_all<Shared...> until_the_end{{objects...}};
  return call_if(true, std::forward<Function>(function), shared_access::value(objects)...);
}

template <class T>
inline constexpr bool is_shared = false;
template <class T, class Mutex>
inline constexpr bool is_shared<shared<T, Mutex>> = true;
template <class T, class Mutex>
inline constexpr bool is_shared<const shared<T, Mutex>> = true;
template <class T>
concept some_shared = is_shared<T>;
template <class T>
concept timed_shared = some_shared<T> && (timed_lockable<typename T::mutex_type> &&
                                          (!std::is_const_v<T> || !shared_lockable<typename T::mutex_type> ||
                                           timed_shared_lockable<typename T::mutex_type>));
template <class Range>
concept range_of_shared =
    std::ranges::forward_range<Range> && some_shared<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;
template <class Range>
concept range_of_timed_shared =
    range_of_shared<Range> && timed_shared<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

/// The locks of a range, which it releases when it ends.
template <class Object>
class locked_range {
 public:
  using value = std::remove_reference_t<decltype(shared_access::value(std::declval<Object&>()))>;

  /// Throws std::bad_alloc.
  template <class Range>
  explicit locked_range(Range& objects) {
    for (Object& element : objects) {
      locks_.push_back(shared_access::lock_of(element));
      values_.push_back(&shared_access::value(element));
      objects_.push_back(&element);
    }
  }
  locked_range(const locked_range&) = delete;
  locked_range& operator=(const locked_range&) = delete;
  ~locked_range() {
    if (is_locked_) {
      for (Object* const element : objects_) shared_access::end(*element);
    }
  }

  void lock(const std::source_location& location) {
    for (Object* const element : objects_) shared_access::watch(*element).note_attempt(element, location);
    is_locked_ = lock_together(locks_, location, no_deadline());
    for (Object* const element : objects_) shared_access::watch(*element).note_acquired(element, location);
  }
  bool try_lock_for(std::chrono::steady_clock::duration longest, const std::source_location& location) {
    const auto deadline = std::chrono::steady_clock::now() + longest;
    is_locked_ = lock_together(locks_, location, deadline);
    if (is_locked_) {
      for (Object* const element : objects_) shared_access::watch(*element).note_acquired_at_once(element, location);
    }
    return is_locked_;
  }
  std::span<value* const> values() const noexcept { return values_; }

 private:
  std::vector<any_lock> locks_;
  std::vector<value*> values_;
  std::vector<Object*> objects_;
  bool is_locked_ = false;
};

}  // namespace detail

/// Calls `function` with the values of two to five `shared` objects while all of them are locked, and returns its
/// result, under the same rules as shared::with:
///
/// tarn::with(a, b, [](auto& x, const auto& y) { … });
///
/// A const object (std::as_const) is locked for reading. It cannot deadlock, whatever the order of the arguments here
/// and elsewhere: it never waits for a lock while it holds another one. An object given twice is a named fault. Any
/// thread may call it. Cost: a few ns more than taking the locks one after another.
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

/// if (!tarn::with_for(50ms, a, b, [](auto& x, const auto& y) { … })) { … }  // the locks were not free in time
///
/// Does what tarn::with does, but waits for at most this time. Returns what `function` returns, in a std::optional that
/// is empty when the locks were not free in time; for a function without a result, a bool. Every Mutex needs
/// try_lock_for(): std::timed_mutex, or std::shared_timed_mutex. As after try_lock_for(), builds with checks watch the
/// order of the locks that are taken later. Any thread may call it. Throws only what `function` throws; an object given
/// twice is a named fault. Cost: that of tarn::with, and a reading of the clock for each wait.
template <class Rep, class Period, detail::timed_shared A, detail::timed_shared B, class Function>
[[nodiscard]] auto with_for(std::chrono::duration<Rep, Period> longest, A& a, B& b, Function&& function,
                            std::source_location location = std::source_location::current()) {
  return detail::with_all_for(detail::clamp_duration(longest), location, std::forward<Function>(function), a, b);
}
template <class Rep, class Period, detail::timed_shared A, detail::timed_shared B, detail::timed_shared C,
          class Function>
[[nodiscard]] auto with_for(std::chrono::duration<Rep, Period> longest, A& a, B& b, C& c, Function&& function,
                            std::source_location location = std::source_location::current()) {
  return detail::with_all_for(detail::clamp_duration(longest), location, std::forward<Function>(function), a, b, c);
}
template <class Rep, class Period, detail::timed_shared A, detail::timed_shared B, detail::timed_shared C,
          detail::timed_shared D, class Function>
[[nodiscard]] auto with_for(std::chrono::duration<Rep, Period> longest, A& a, B& b, C& c, D& d, Function&& function,
                            std::source_location location = std::source_location::current()) {
  return detail::with_all_for(detail::clamp_duration(longest), location, std::forward<Function>(function), a, b, c, d);
}
template <class Rep, class Period, detail::timed_shared A, detail::timed_shared B, detail::timed_shared C,
          detail::timed_shared D, detail::timed_shared E, class Function>
[[nodiscard]] auto with_for(std::chrono::duration<Rep, Period> longest, A& a, B& b, C& c, D& d, E& e,
                            Function&& function, std::source_location location = std::source_location::current()) {
  return detail::with_all_for(detail::clamp_duration(longest), location, std::forward<Function>(function), a, b, c, d,
                              e);
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
  detail::locked_range<std::remove_reference_t<std::ranges::range_reference_t<Range>>> range(objects);
  detail::result_stays_inside<Function, decltype(range.values())>();
  range.lock(location);
  return std::invoke(std::forward<Function>(function), range.values());
}
/// Does the same, but waits for at most this time. The result is that of with_for(), and so is what it asks of every
/// Mutex. Any thread may call it. Throws std::bad_alloc before it locks anything, and what `function` throws.
template <class Rep, class Period, detail::range_of_timed_shared Range, class Function>
[[nodiscard]] auto with_range_for(std::chrono::duration<Rep, Period> longest, Range&& objects, Function&& function,
                                  std::source_location location = std::source_location::current())
    TARN_NO_THREAD_SAFETY_ANALYSIS {
  detail::locked_range<std::remove_reference_t<std::ranges::range_reference_t<Range>>> range(objects);
  detail::result_stays_inside<Function, decltype(range.values())>();
  const auto values = range.values();
  return detail::call_if(range.try_lock_for(detail::clamp_duration(longest), location),
                         std::forward<Function>(function), values);
}

}  // namespace tarn
