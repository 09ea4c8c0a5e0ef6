// The locking category "reloadable": data that threads read while another thread replaces it.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <tarn/detail/durations.hpp>
#include <tarn/detail/escape.hpp>
#include <tarn/detail/listeners.hpp>
#include <tarn/detail/versions.hpp>
#include <tarn/outlives.hpp>

namespace tarn {

template <class T>
class reloadable;
template <class Key, class T, class Hash, class Equal>
class reloadable_map;

namespace detail {

/// A version with its value.
template <class T>
struct value_version : version_base {
  template <class... Arguments>
  explicit value_version(Arguments&&... arguments) : value(std::forward<Arguments>(arguments)...) {
    number = 1;
    destroy = [](version_base* old_version) noexcept { delete static_cast<value_version*>(old_version); };
  }
  T value;
};

}  // namespace detail

/// Options of a reloadable.
struct reload_options {
  const char* name = "";  ///< for messages; must outlive the object
  /// The most replaced versions that are still read; beyond it publish() is refused. 0: one for each thread that reads,
  /// and 16.
  std::size_t max_retired = 0;
};

/// Thrown when the maximum number of replaced versions is still being read. The text names the reader of the oldest.
class publish_refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Keeps one version of a reloadable while it lives, so that a whole request sees the same data. A thread may have
/// any number of snapshots, also of one object. A thread's first snapshot, and each one beside 16 others, takes the
/// writers' lock for a moment. A snapshot may be destroyed in another thread, also after its own thread has ended. It
/// blocks nobody: a version that is read for long only occupies memory, and the number of such versions is bounded.
template <class T>
class [[nodiscard("the version may end with the snapshot: give it a name")]] snapshot {
 public:
  ~snapshot() {
    if (slot_ != nullptr) detail::unpin(slot_);
  }
  /// Leaves the other one fit only for destruction.
  snapshot(snapshot&& source) noexcept
      : version_(source.version_), value_(source.value_), slot_(std::exchange(source.slot_, nullptr)) {}
  snapshot& operator=(snapshot&& source) noexcept {
    std::swap(version_, source.version_);
    std::swap(value_, source.value_);
    std::swap(slot_, source.slot_);
    return *this;
  }

  const T& operator*() const& noexcept { return *value_; }
  const T* operator->() const& noexcept { return value_; }
  template <class Never = void>
  const T& operator*() && {
    static_assert(detail::is_reached<Never>,
                  "this snapshot ends with the statement, and its version may, too: give it a name (const auto now = "
                  "it.snapshot();) or use it.with(function)");
    return *value_;
  }
  template <class Never = void>
  const T* operator->() && {
    static_assert(detail::is_reached<Never>,
                  "this snapshot ends with the statement, and its version may, too: give it a name (const auto now = "
                  "it.snapshot();) or use it.with(function)");
    return value_;
  }
  /// Returns 1 for the first version of an object, 2 for the next one, and so on.
  std::uint64_t version() const noexcept { return version_->number; }

 private:
  friend class reloadable<T>;
  template <class Key, class Value, class Hash, class Equal>
  friend class reloadable_map;
  [[gnu::always_inline]] explicit snapshot(detail::pinned_version pinned) noexcept;

  const detail::version_base* version_;
  const T* value_;
  detail::reader_slot* slot_;
};

/// Holds data that is read without a lock, and replaced as a whole at any time.
///
/// tarn::reloadable<routes> table(load_routes());
/// const auto now = table.snapshot();                    // one version for the whole request
/// table.with([](const routes& r) { return r.size(); });
/// table.publish(load_routes());                         // readers never wait for it, and never see half of it
///
/// Threads: any number read and publish at once; construction and destruction belong to one thread. publish() and
/// collect() destroy the versions that nobody reads any more, in the thread that calls them, without a lock: readers
/// never pay for that. Writers of all objects share one lock. A version that is still read at that time stays until the
/// next of these calls, or until the object is destroyed. Nobody may read at destruction: that is a named fault. Fork:
/// the child may publish. Versions that other threads were reading are kept there, because a snapshot may have been
/// moved to the forking thread; they delay and refuse nothing, and mostly nobody frees them. Errors: a publish whose T
/// throws, or that is refused because too many old versions are still read, changes nothing. Reading throws
/// std::bad_alloc when there is no memory for a thread's first snapshot, or for its 17th. Cost: a snapshot takes less
/// than 1 ns on x86-64, without a fence and without a write that another core waits for; a publish takes some
/// microseconds and a system call. Where membarrier(2) is refused, a snapshot takes about 7 ns. Where it is refused
/// only after the first read, by a filter that the program sets for itself, replaced versions are kept until the object
/// is destroyed.
template <class T>
class reloadable {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "reloadable<T> holds the data itself, which is const to all");

 public:
  using value_type = T;

  /// Constructs the first version from these arguments.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  explicit(sizeof...(Arguments) == 1) reloadable(Arguments&&... arguments)
      : reloadable(reload_options{}, std::forward<Arguments>(arguments)...) {}
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  explicit reloadable(const reload_options& options, Arguments&&... arguments)
      : versions_("reloadable", options.name, options.max_retired, new version(std::forward<Arguments>(arguments)...)) {
  }

  /// Returns a snapshot of the current version.
  [[gnu::always_inline]] tarn::snapshot<T> snapshot() const {
    return tarn::snapshot<T>(detail::pin(versions_.current()));
  }
  /// Calls `function(value)`, with a const T& of the current version, and returns its result, under the same rules as
  /// shared::with.
  template <class Function>
  [[gnu::always_inline]] decltype(auto) with(Function&& function) const {
    detail::result_stays_inside<Function, const T&>();
    const tarn::snapshot<T> now = snapshot();
    return std::invoke(std::forward<Function>(function), *now);
  }

  /// Makes a new T of these arguments the current version before it returns. Throws what T's constructor throws, or
  /// publish_refused.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  void publish(Arguments&&... arguments) {
    if (!try_publish(std::forward<Arguments>(arguments)...)) versions_.refuse();
  }
  /// Does the same, but returns false when the publish is refused.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  [[nodiscard]] bool try_publish(Arguments&&... arguments) {
    auto next = std::make_unique<version>(std::forward<Arguments>(arguments)...);
    if (versions_.publish(next.get()) != detail::versions::outcome::published) return false;
    static_cast<void>(next.release());
    listeners_.notify([this] { return snapshot(); });
    return true;
  }
  /// Copies the current value, calls `change(copy)`, with a T&, and publishes the copy. The published version is
  /// always the changed copy of the version directly before it, whatever other writers do: when another version was
  /// published meanwhile, it begins again with that one, so that no change is lost. `change` may therefore be called
  /// several times. Returns the number of the new version. Throws what T and `change` throw, or publish_refused;
  /// nothing is published then.
  template <std::invocable<T&> Change>
    requires std::copy_constructible<T>
  std::uint64_t update(Change&& change) {
    detail::runs_before_it_returns<Change&, T&>();
    for (;;) {
      auto [next, before] = copy();
      std::invoke(change, next);
      auto new_version = std::make_unique<version>(std::move(next));
      switch (versions_.publish(new_version.get(), before)) {
        case detail::versions::outcome::published:
          static_cast<void>(new_version.release());
          listeners_.notify([this] { return snapshot(); });
          return before + 1;
        case detail::versions::outcome::refused: versions_.refuse();
        case detail::versions::outcome::changed: break;
      }
    }
  }

  /// Calls `function(snapshot)` after each change from now on, until the returned object ends. The call is made by the
  /// thread that publishes, before publish() returns, and holds no lock of this object. The function may publish: the
  /// calls for that change follow when it has returned. Calls of one function do not overlap. When several threads
  /// publish at once, a version may be left out, but never the newest. publish() passes on what the function throws,
  /// after the change and the other calls.
  template <std::invocable<const tarn::snapshot<T>&> Function>
  change_listener<tarn::snapshot<T>> on_change(Function&& function) {
    detail::runs_before_it_returns<Function&, const tarn::snapshot<T>&>();
    return listeners_.add(std::forward<Function>(function));
  }

  /// Returns the number of the current version.
  std::uint64_t version_number() const noexcept { return versions_.number(); }
  /// Destroys the versions that nobody reads; returns how many replaced versions are left.
  std::size_t collect() noexcept { return versions_.collect(); }
  /// Waits until nobody reads a replaced version and returns true; returns false when somebody still does after
  /// `longest`.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for_readers(std::chrono::duration<Rep, Period> longest) noexcept {
    return versions_.wait_for_readers(std::chrono::steady_clock::now() + detail::clamp_duration(longest));
  }
  /// Returns the threads that read replaced versions, oldest version first. Holds the lock of all writers meanwhile.
  std::vector<parked_reader> parked_readers() const { return versions_.parked_readers(); }

 private:
  using version = detail::value_version<T>;

  // Returns the copy without the snapshot: the version may be destroyed as soon as it is replaced.
  std::pair<T, std::uint64_t> copy() const {
    const tarn::snapshot<T> now = snapshot();
    return {*now, now.version()};
  }

  detail::versions versions_;
  detail::listeners<tarn::snapshot<T>> listeners_;
};

template <class T>
inline snapshot<T>::snapshot(detail::pinned_version pinned) noexcept
    : version_(pinned.version),
      value_(&static_cast<const detail::value_version<T>*>(pinned.version)->value),
      slot_(pinned.slot) {}

}  // namespace tarn
