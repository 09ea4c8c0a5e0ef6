// The locking category "reloadable": data that is read at every moment and replaced while it is.
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

#include <tarn/detail/escape.hpp>
#include <tarn/detail/versions.hpp>

namespace tarn {

template <class T>
class reloadable;

struct reload_options {
  const char* name = "";          ///< for messages; must outlive the object
  std::size_t most_retired = 16;  ///< replaced versions that are still read, before a publish() is refused
};

/// As many versions as may be are still read. The text names the reader of the oldest.
class publish_refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One version of a reloadable, for as long as this lives: all of a request sees the same. A thread may have any number
/// of them, of one object, too (up to 16 at a time without a lock); it may end in another thread, after its own. Holds
/// up nobody: a version that is read for long is memory in use, and bounded.
template <class T>
class [[nodiscard("the version may end with the snapshot: give it a name")]] snapshot {
 public:
  ~snapshot() {
    if (place_ != nullptr) {
      detail::unpin(place_);
    }
  }
  /// The other one is then good for nothing but its end.
  snapshot(snapshot&& other) noexcept
      : version_(other.version_), value_(other.value_), place_(std::exchange(other.place_, nullptr)) {}
  snapshot& operator=(snapshot&& other) noexcept {
    std::swap(version_, other.version_);
    std::swap(value_, other.value_);
    std::swap(place_, other.place_);
    return *this;
  }

  const T& operator*() const& noexcept { return *value_; }
  const T* operator->() const& noexcept { return value_; }
  template <class Never = void>
  const T& operator*() && {
    static_assert(detail::never<Never>,
                  "this snapshot ends with the statement, and its version may, too: give it a name (const auto now = "
                  "it.snapshot();) or use it.with(function)");
    return *value_;
  }
  template <class Never = void>
  const T* operator->() && {
    static_assert(detail::never<Never>,
                  "this snapshot ends with the statement, and its version may, too: give it a name (const auto now = "
                  "it.snapshot();) or use it.with(function)");
    return value_;
  }
  /// 1 for the first version of an object, 2 for the one after it.
  std::uint64_t version() const noexcept { return version_->number; }

 private:
  friend class reloadable<T>;
  [[gnu::always_inline]] explicit snapshot(detail::pinned_version pinned) noexcept;

  const detail::version_base* version_;
  const T* value_;
  detail::reader_place* place_;
};

/// tarn::reloadable<routes> table(load_routes());
/// const auto now = table.snapshot();                    // one version for the whole request
/// table.with([](const routes& r) { return r.size(); });
/// table.publish(load_routes());                         // readers never wait, and never see half of it
///
/// Threads: any number read and publish at once; construction and destruction are one thread's. publish() and collect()
/// destroy the versions that nobody reads any more, in the thread that calls them, without a lock: readers never pay
/// for that. A version that is still read then stays until the next of these calls, or the end. At the end nobody may
/// read: that is a named fault. Fork: in the child the snapshots of other threads are gone, and it may publish. Errors:
/// a publish whose T throws, or that is refused because too many old versions are still read, leaves everything as it
/// is. Reading throws std::bad_alloc when there is no memory for a thread's first snapshot, or for its 17th. Cost: a
/// snapshot is below 1 ns on x86-64, without a fence and without a write that another core waits for; a publish some
/// microseconds and a system call. Where membarrier(2) is refused, a snapshot takes about 7 ns.
template <class T>
class reloadable {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "reloadable<T> holds the data itself, which is const to all");

 public:
  using value_type = T;

  /// The arguments are those of the first version.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  explicit(sizeof...(Arguments) == 1) reloadable(Arguments&&... arguments)
      : reloadable(reload_options{}, std::forward<Arguments>(arguments)...) {}
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  explicit reloadable(const reload_options& options, Arguments&&... arguments)
      : versions_(options.name, options.most_retired, new version(std::forward<Arguments>(arguments)...)) {}

  /// The current version.
  [[gnu::always_inline]] tarn::snapshot<T> snapshot() const {
    return tarn::snapshot<T>(detail::pin(versions_.current()));
  }
  /// Calls `function(value)` with it, a const T&, and gives what it returns; under the same rules as shared::with.
  template <class Function>
  [[gnu::always_inline]] decltype(auto) with(Function&& function) const {
    detail::result_stays_inside<Function, const T&>();
    const tarn::snapshot<T> now = snapshot();
    return std::invoke(std::forward<Function>(function), *now);
  }

  /// A new T of these arguments is the current version when this returns. Throws what T's constructor throws, or
  /// publish_refused.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  void publish(Arguments&&... arguments) {
    if (!try_publish(std::forward<Arguments>(arguments)...)) {
      versions_.refuse();
    }
  }
  /// The same; false when it is refused.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  [[nodiscard]] bool try_publish(Arguments&&... arguments) {
    auto next = std::make_unique<version>(std::forward<Arguments>(arguments)...);
    return versions_.publish(next.get()) && (static_cast<void>(next.release()), true);
  }

  /// The number of the current version.
  std::uint64_t version_number() const noexcept { return versions_.number(); }
  /// Destroys the versions that nobody reads; how many are left.
  std::size_t collect() noexcept { return versions_.collect(); }
  /// Returns when nobody reads a version that was replaced; false when somebody still does after that time.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for_readers(std::chrono::duration<Rep, Period> most) noexcept {
    return versions_.wait_for_readers(std::chrono::steady_clock::now() +
                                      std::chrono::ceil<std::chrono::steady_clock::duration>(most));
  }
  /// Who reads versions that were replaced, oldest first. Takes the lock of all writers, for as long as it looks.
  std::vector<parked_reader> parked() const { return versions_.parked(); }

 private:
  friend class tarn::snapshot<T>;
  struct version : detail::version_base {
    template <class... Arguments>
    explicit version(Arguments&&... arguments) : value(std::forward<Arguments>(arguments)...) {
      number = 1;
      destroy = [](detail::version_base* of) noexcept { delete static_cast<version*>(of); };
    }
    const T value;
  };

  detail::versions versions_;
};

template <class T>
inline snapshot<T>::snapshot(detail::pinned_version pinned) noexcept
    : version_(pinned.version),
      value_(&static_cast<const typename reloadable<T>::version*>(pinned.version)->value),
      place_(pinned.place) {}

}  // namespace tarn
