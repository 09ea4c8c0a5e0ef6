// Threads that wait for a condition on data that a lock protects.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <type_traits>

#include <tarn/detail/exceptions.hpp>

namespace tarn::detail {

/// A list of waiting threads, each with its condition. The thread that ends a change evaluates the conditions, under
/// the lock, and wakes exactly those whose condition holds: no notification can be forgotten, and no thread wakes in
/// vain. The caller of every function here holds the lock.
template <class T, class Mutex>
class waiters {
 public:
  using clock = std::chrono::steady_clock;

  /// Returns true as soon as `holds(value)`; at the deadline, returns whether it holds at that moment. The lock is
  /// released while the thread waits. Throws what `holds` throws.
  template <class Predicate>
  bool wait(Mutex& mutex, const T& value, Predicate& holds, const clock::time_point* deadline) {
    std::unique_lock<Mutex> lock(mutex, std::adopt_lock);
    const still_held keep{lock};
    while (!holds(value)) {
      const auto check = [&holds](const T& current) { return static_cast<bool>(holds(current)); };
      waiter new_waiter{&check, [](const void* condition, const T& current) noexcept {
                          return call_or([&] { return (*static_cast<decltype(&check)>(condition))(current); },
                                         [] { return true; });  // the waiting thread calls it again; it throws there
                        }};
      new_waiter.next = first_;
      first_ = &new_waiter;
      const listed until_woken{*this, new_waiter};
      const auto is_woken = [&] { return new_waiter.is_woken; };
      if (deadline == nullptr) {
        new_waiter.changed.wait(lock, is_woken);
      } else if (!new_waiter.changed.wait_until(lock, *deadline, is_woken)) {
        return static_cast<bool>(holds(value));
      }
    }
    return true;
  }

  /// Called at the end of a change, before the lock is released. Costs one load when nobody waits.
  void wake(const T& value) noexcept {
    if (first_ != nullptr) [[unlikely]] {
      wake_some(value);
    }
  }

 private:
  struct waiter {
    const void* condition;
    bool (*holds)(const void*, const T&) noexcept;
    bool is_woken = false;
    waiter* next = nullptr;
    std::conditional_t<std::is_same_v<Mutex, std::mutex>, std::condition_variable, std::condition_variable_any>
        changed{};
  };

  /// Takes the waiter off the list, unless the thread that woke it did, also when pthread_cancel ends the wait: its
  /// frame is about to be used for something else.
  struct listed {
    waiters& list;
    waiter& member;
    ~listed() {
      if (!member.is_woken) list.remove(member);
    }
  };

  /// The caller keeps holding the lock, however the wait ends.
  struct still_held {
    std::unique_lock<Mutex>& lock;
    ~still_held() { lock.release(); }
  };

  void wake_some(const T& value) noexcept {
    for (waiter** link = &first_; *link != nullptr;) {
      waiter& candidate = **link;
      if (candidate.holds(candidate.condition, value)) {
        *link = candidate.next;  // it leaves the list here, and its thread cannot continue before the lock is released
        candidate.is_woken = true;
        candidate.changed.notify_one();
      } else {
        link = &candidate.next;
      }
    }
  }

  void remove(waiter& target) noexcept {
    for (waiter** link = &first_; *link != nullptr; link = &(*link)->next) {
      if (*link == &target) {
        *link = target.next;
        return;
      }
    }
  }

  waiter* first_ = nullptr;
};

}  // namespace tarn::detail
