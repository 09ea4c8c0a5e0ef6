// The locking category "reloadable" by key: each value is replaced on its own.
#pragma once

#include <tarn/outlives.hpp>
#include <tarn/reloadable.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tarn {

/// tarn::reloadable_map<std::string, limits> tenants({{"alpha", limits{10}}, {"beta", limits{20}}});
/// if (const auto now = tenants.find("alpha")) { use(**now); }  // one version while `now` lives
/// tenants.with("beta", [](const limits& l) { … });
/// tenants.publish("alpha", limits{30});                        // replaces this one value, or adds the key
/// tenants.update("beta", [](limits& l) { l.requests += 5; });  // no change is lost
/// tenants.erase("alpha");
///
/// Threads: any number read and change at once; construction and destruction belong to one thread. Readers take no lock
/// and write nothing that another thread waits for. A version of a value is destroyed when it was replaced or erased
/// and nobody reads it, by the next change of any key or by collect(); the rules of reloadable hold for it, for a
/// process that forks and for what a snapshot may do. Nobody may read at destruction: that is a named fault. Errors: a
/// change that throws changes nothing. Cost: a look-up takes two snapshots and the look-up in a hash table. Replacing
/// a value takes microseconds, as for a reloadable. Adding or erasing a key copies the table of keys: give the keys
/// that are known to the constructor.
template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class reloadable_map {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "reloadable_map<Key, T> holds the data itself, which is const to all");

 public:
  /// The type of the keys.
  using key_type = Key;
  /// The type of the values.
  using mapped_type = T;

  reloadable_map() : reloadable_map(reload_options{}) {}
  /// Limits the replaced and erased versions of all keys together that are still read.
  explicit reloadable_map(const reload_options& options, std::initializer_list<std::pair<const Key, T>> values = {})
      : reloadable_map(options, values.begin(), values.end()) {}
  reloadable_map(std::initializer_list<std::pair<const Key, T>> values)
      : reloadable_map(reload_options{}, values.begin(), values.end()) {}
  /// Begins with these pairs of keys and values; of equal keys the first one counts.
  template <std::input_iterator Iterator, std::sentinel_for<Iterator> End>
  reloadable_map(const reload_options& options, Iterator first, End last)
      : index_(reload_options{.name = options.name, .max_retired = options.max_retired}, index_of(first, last)),
        values_("reloadable_map", options.name, options.max_retired, new no_value, nullptr, last_number(index_)) {}
  reloadable_map(const reloadable_map&) = delete;
  reloadable_map& operator=(const reloadable_map&) = delete;
  ~reloadable_map() {
    const auto keys = index_.snapshot();
    for (const auto& [key, source] : *keys) values_.retire(source->current);
  }

  /// Returns a snapshot of the key's value; nothing if there is none. See reloadable::snapshot().
  std::optional<tarn::snapshot<T>> find(const Key& key) const {
    const auto keys = index_.snapshot();
    const auto position = keys->find(key);
    if (position == keys->end()) return std::nullopt;
    return value_of(*position->second);
  }
  /// Calls `function(value)`, with a const T&, if the key has a value. Returns what the function returns, in a
  /// std::optional that is empty without a value; for a function without a result, a bool. The rules of shared::with
  /// hold for the function.
  template <class Function>
  auto with(const Key& key, Function&& function) const {
    detail::result_stays_inside<Function, const T&>();
    using result = std::invoke_result_t<Function, const T&>;
    const std::optional<tarn::snapshot<T>> now = find(key);
    if constexpr (std::is_void_v<result>) {
      if (now) std::invoke(std::forward<Function>(function), **now);
      return now.has_value();
    } else {
      return now ? std::optional<result>(std::invoke(std::forward<Function>(function), **now)) : std::nullopt;
    }
  }
  /// Calls `function(key, value)` for each key that there was when the call began, in no order. A value that is
  /// replaced meanwhile may be seen before or after. Returns how many calls were made.
  template <std::invocable<const Key&, const T&> Function>
  std::size_t for_each(Function&& function) const {
    detail::runs_before_it_returns<Function&, const Key&, const T&>();
    std::size_t count = 0;
    const auto keys = index_.snapshot();
    for (const auto& [key, source] : *keys) {
      if (const std::optional<tarn::snapshot<T>> now = value_of(*source)) {
        std::invoke(function, key, **now);
        ++count;
      }
    }
    return count;
  }
  /// Returns true if the key has a value.
  bool contains(const Key& key) const { return find(key).has_value(); }
  /// Returns the number of keys.
  std::size_t size() const {
    return index_.with([](const index& keys) { return keys.size(); });
  }

  /// Makes a new T of these arguments the value of the key before it returns; adds the key if it has none. Throws what
  /// T and Key throw, or publish_refused.
  template <class... Arguments>
    requires std::constructible_from<T, Arguments...>
  void publish(const Key& key, Arguments&&... arguments) {
    auto next = std::make_unique<version>(std::forward<Arguments>(arguments)...);
    for (;;) {
      if (const auto existing = holder_of(key)) {
        if (replace(*existing, next, 0)) return;
        continue;  // it was erased at this moment
      }
      auto added = std::make_shared<holder>();
      values_.assign_number(*next);
      added->current.store(next.get(), std::memory_order_relaxed);
      static_cast<void>(next.release());
      bool is_added = false;
      index_.update([&](index& keys) { is_added = keys.try_emplace(key, added).second; });
      if (is_added) return;
      next.reset(static_cast<version*>(added->current.exchange(nullptr, std::memory_order_relaxed)));
    }
  }
  /// Copies the key's value, calls `change(copy)`, with a T&, and publishes the copy, as reloadable::update() does.
  /// `change` may be called several times. Returns false if the key has no value. Throws what T and `change` throw, or
  /// publish_refused; nothing is published then.
  template <std::invocable<T&> Change>
    requires std::copy_constructible<T>
  bool update(const Key& key, Change&& change) {
    detail::runs_before_it_returns<Change&, T&>();
    for (;;) {
      const auto existing = holder_of(key);
      std::unique_ptr<version> next;
      std::uint64_t before = 0;
      if (existing != nullptr) {
        if (const std::optional<tarn::snapshot<T>> now = value_of(*existing)) {
          before = now->version();
          next = std::make_unique<version>(**now);
        }
      }
      if (next == nullptr) return false;
      std::invoke(change, next->value);
      if (replace(*existing, next, before)) return true;
    }
  }
  /// Removes the key and its value. Returns false if there was none. Throws std::bad_alloc or publish_refused.
  bool erase(const Key& key) {
    std::shared_ptr<holder> removed_holder;
    if (holder_of(key) == nullptr) return false;
    index_.update([&](index& keys) {
      const auto position = keys.find(key);
      removed_holder = position == keys.end() ? nullptr : position->second;
      if (removed_holder != nullptr) keys.erase(position);
    });
    if (removed_holder == nullptr) return false;
    // From here on, a reader that found the key in the previous table finds no value.
    values_.retire(removed_holder->current);
    values_.collect();
    return true;
  }

  /// Destroys the versions that nobody reads; returns how many replaced and erased ones are left.
  std::size_t collect() noexcept {
    index_.collect();
    return values_.collect();
  }
  /// Waits until nobody reads a replaced or erased version and returns true; returns false when somebody still does
  /// after `longest`.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for_readers(std::chrono::duration<Rep, Period> longest) noexcept {
    return values_.wait_for_readers(std::chrono::steady_clock::now() + detail::clamp_duration(longest));
  }
  /// Returns the threads that read replaced or erased versions, oldest version first.
  std::vector<parked_reader> parked_readers() const { return values_.parked_readers(); }

 private:
  using version = detail::value_version<T>;
  // Without a value: null. Readers of an old table may still reach it.
  struct holder {
    holder() = default;
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;
    ~holder() {  // a value that never became visible
      if (detail::version_base* const unused = current.load(std::memory_order_relaxed)) unused->destroy(unused);
    }
    detail::current_version current{nullptr};
  };
  using index = std::unordered_map<Key, std::shared_ptr<holder>, Hash, Equal>;
  // Stands where a reloadable has its current version.
  struct no_value : detail::version_base {
    no_value() noexcept {
      destroy = [](detail::version_base* old_version) noexcept { delete static_cast<no_value*>(old_version); };
    }
  };

  template <class Iterator, class End>
  static index index_of(Iterator first, End last) {
    index keys;
    for (std::uint64_t number = 1; first != last; ++first) {
      if (const auto [entry, is_new] = keys.try_emplace(first->first); is_new) {
        entry->second = std::make_shared<holder>();
        auto value = std::make_unique<version>(first->second);
        value->number = number++;
        entry->second->current.store(value.release(), std::memory_order_relaxed);
      }
    }
    return keys;
  }
  static std::uint64_t last_number(const reloadable<index>& keys) {
    return keys.with([](const index& table) { return std::uint64_t{table.size()}; });
  }

  std::shared_ptr<holder> holder_of(const Key& key) const {
    const auto keys = index_.snapshot();
    const auto position = keys->find(key);
    return position == keys->end() ? nullptr : position->second;
  }
  // Returns nothing if the value was erased at this moment; the reader's slot is empty then.
  static std::optional<tarn::snapshot<T>> value_of(const holder& source) {
    const detail::pinned_version pinned = detail::pin(source.current);
    return pinned.version == nullptr ? std::nullopt : std::optional(tarn::snapshot<T>(pinned));
  }
  // Returns false if there is no value, or another one than the version `expected`. Throws publish_refused.
  bool replace(holder& target, std::unique_ptr<version>& next, std::uint64_t expected) {
    switch (values_.replace(target.current, next.get(), expected)) {
      case detail::versions::outcome::published: static_cast<void>(next.release()); return true;
      case detail::versions::outcome::refused: values_.refuse();
      case detail::versions::outcome::changed: break;
    }
    return false;
  }

  reloadable<index> index_;
  detail::versions values_;  // the last member, so that a reader at destruction is named before anything ends
};

}  // namespace tarn
