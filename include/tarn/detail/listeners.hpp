// Functions that are called after a change, in the thread that made it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <tarn/detail/exceptions.hpp>

namespace tarn {

namespace detail {
template <class Value>
class listeners;
}

/// A subscription to the changes of a reloadable, which ends with this object. Once the destructor has returned, the
/// function is not called any more; it waits for a call in another thread. It may be destroyed in the function
/// itself. It must end before the reloadable.
template <class Value>
class [[nodiscard("the subscription ends with this object: give it a name")]] change_listener {
 public:
  /// Leaves the other one without a subscription.
  change_listener(change_listener&& source) noexcept
      : owner_(std::exchange(source.owner_, nullptr)), entry_(std::move(source.entry_)) {}
  change_listener& operator=(change_listener&& source) noexcept {
    std::swap(owner_, source.owner_);
    std::swap(entry_, source.entry_);
    return *this;
  }
  ~change_listener() {
    if (owner_ != nullptr) owner_->remove(entry_);
  }

 private:
  friend class detail::listeners<Value>;
  using entry = typename detail::listeners<Value>::entry;
  change_listener(detail::listeners<Value>& owner, std::shared_ptr<entry> added) noexcept
      : owner_(&owner), entry_(std::move(added)) {}

  detail::listeners<Value>* owner_;
  std::shared_ptr<entry> entry_;
};

namespace detail {

/// `Value` has a version() that grows with each change. Any number of threads may use it. A change that a function
/// makes is passed on when it has returned: so no thread waits for a function while it is inside of another one.
template <class Value>
class listeners {
 public:
  struct entry {
    std::function<void(const Value&)> function;
    // Relaxed, because a thread looks only for its own number, which no other one writes.
    std::atomic<std::thread::id> caller{};  // the thread that is inside of the function
    std::mutex calling;                     // it protects the members from here on
    std::uint64_t last_version = 0;         // newest version that the function was called with
    bool has_published = false;             // the function, since it was called
    bool is_ended = false;

    bool is_called_here() const noexcept {
      return caller.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }
  };

  change_listener<Value> add(std::function<void(const Value&)> function) {
    auto added = std::make_shared<entry>();
    added->function = std::move(function);
    const std::lock_guard hold(mutex_);
    auto next = entries_ ? std::make_shared<list>(*entries_) : std::make_shared<list>();
    next->push_back(added);
    count_.store(next->size(), std::memory_order_release);
    entries_ = std::move(next);
    return change_listener<Value>(*this, std::move(added));
  }

  void remove(const std::shared_ptr<entry>& listener) noexcept {
    {
      const std::lock_guard hold(mutex_);
      auto next = std::make_shared<list>(*entries_);
      std::erase(*next, listener);
      count_.store(next->size(), std::memory_order_release);
      entries_ = std::move(next);
    }
    const auto hold = listener->is_called_here() ? std::unique_lock<std::mutex>() : std::unique_lock(listener->calling);
    listener->is_ended = true;
  }

  /// Calls each function with `current()`, unless it has seen that version. When several threads publish, one of the
  /// calls comes after the newest version was published, because each takes the current version under `calling`: no
  /// function misses the last version. Passes on the first exception, after all calls. Inside of a function it only
  /// leaves a note for the call around it, which then begins anew.
  template <class Current>
  void notify(Current current) {
    // acquire: pairs with the release in add(). Whoever added before the publish is seen here.
    if (count_.load(std::memory_order_acquire) == 0) return;
    std::exception_ptr failure;
    for (bool is_newest = false; !is_newest;) {
      const std::shared_ptr<const list> all_entries = entries_now();
      const auto outer =
          std::find_if(all_entries->begin(), all_entries->end(),
                       [](const std::shared_ptr<entry>& listener) { return listener->is_called_here(); });
      if (outer != all_entries->end()) {
        (*outer)->has_published = true;
        return;
      }
      is_newest = true;
      for (const std::shared_ptr<entry>& listener : *all_entries) {
        is_newest = call(*listener, current, failure) && is_newest;
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  using list = std::vector<std::shared_ptr<entry>>;

  std::shared_ptr<const list> entries_now() {
    const std::lock_guard hold(mutex_);
    return entries_;
  }

  // Returns false if the function has published meanwhile.
  template <class Current>
  static bool call(entry& listener, Current current, std::exception_ptr& failure) {
    const std::lock_guard hold(listener.calling);
    const Value value = current();
    if (listener.is_ended || value.version() <= listener.last_version) return true;
    listener.last_version = value.version();
    listener.has_published = false;
    listener.caller.store(std::this_thread::get_id(), std::memory_order_relaxed);
    call_or([&] { listener.function(value); }, [&] { failure = failure ? failure : std::current_exception(); });
    listener.caller.store(std::thread::id(), std::memory_order_relaxed);
    return !listener.has_published;
  }

  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::shared_ptr<const list> entries_;  // replaced as a whole, so that notify() needs no memory
};

}  // namespace detail

}  // namespace tarn
