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
    if (owner_ != nullptr) {
      owner_->remove(entry_);
    }
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

/// `Value` has a version() that grows with each change. Any number of threads may use it.
template <class Value>
class listeners {
 public:
  struct entry {
    std::function<void(const Value&)> function;
    std::recursive_mutex calling;  // recursive, because the function may publish, or end its subscription
    std::uint64_t seen = 0;        // newest version that the function was called with
    bool is_ended = false;
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

  void remove(const std::shared_ptr<entry>& ended) noexcept {
    {
      const std::lock_guard hold(mutex_);
      auto next = std::make_shared<list>(*entries_);
      std::erase(*next, ended);
      count_.store(next->size(), std::memory_order_release);
      entries_ = std::move(next);
    }
    const std::lock_guard hold(ended->calling);
    ended->is_ended = true;
  }

  /// Calls each function with `current()`, unless it has seen that version. When several threads publish, one of the
  /// calls comes after the newest version was published, because each takes the current version under `calling`: no
  /// function misses the last version. Passes on the first exception, after all calls.
  template <class Current>
  void notify(Current current) {
    // acquire: pairs with the release in add(). Whoever added before the publish is seen here.
    if (count_.load(std::memory_order_acquire) == 0) {
      return;
    }
    std::shared_ptr<const list> all_entries;
    {
      const std::lock_guard hold(mutex_);
      all_entries = entries_;
    }
    std::exception_ptr failure;
    for (const std::shared_ptr<entry>& listener : *all_entries) {
      const std::lock_guard hold(listener->calling);
      const Value value = current();
      if (!listener->is_ended && value.version() > listener->seen) {
        listener->seen = value.version();
        call_or([&] { listener->function(value); }, [&] { failure = failure ? failure : std::current_exception(); });
      }
    }
    if (failure) {
      std::rethrow_exception(failure);
    }
  }

 private:
  using list = std::vector<std::shared_ptr<entry>>;
  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::shared_ptr<const list> entries_;  // replaced as a whole, so that notify() needs no memory
};

}  // namespace detail

}  // namespace tarn
