// Threads that wait for a condition on what a lock protects.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <type_traits>

namespace tarn::detail {

/// A list of waiting threads, each with its condition. Whoever ends a change evaluates the conditions, under the lock,
/// and wakes exactly those whose condition holds: no notification can be forgotten, nobody wakes in vain. Everything
/// here is called with the lock held.
template <class T, class Mutex>
class waiters {
 public:
  using clock = std::chrono::steady_clock;

  /// Returns when `holds(value)`, then true, or at the deadline: then what it is at that moment. The lock is open while
  /// the thread waits. Throws what `holds` throws.
  template <class Predicate>
  bool wait(Mutex& mutex, const T& value, Predicate& holds, const clock::time_point* deadline) {
    std::unique_lock<Mutex> lock(mutex, std::adopt_lock);
    const still_held keep{lock};
    while (!holds(value)) {
      waiter mine{&holds, [](void* condition, const T& of) noexcept {
                    try {
                      return static_cast<bool>((*static_cast<Predicate*>(condition))(of));
                    } catch (...) {
                      return true;  // it throws again in the thread that waits
                    }
                  }};
      mine.next = first_;
      first_ = &mine;
      const auto woken = [&] { return mine.woken; };
      if (deadline == nullptr) {
        mine.changed.wait(lock, woken);
      } else if (!mine.changed.wait_until(lock, *deadline, woken)) {
        remove(mine);
        return static_cast<bool>(holds(value));
      }
    }
    return true;
  }

  /// At the end of a change, before the lock is opened. One load where nobody waits.
  void wake(const T& value) noexcept {
    if (first_ != nullptr) [[unlikely]] {
      wake_some(value);
    }
  }

 private:
  struct waiter {
    void* condition;
    bool (*holds)(void*, const T&) noexcept;
    bool woken = false;
    waiter* next = nullptr;
    std::conditional_t<std::is_same_v<Mutex, std::mutex>, std::condition_variable, std::condition_variable_any>
        changed{};
  };

  /// The caller goes on holding what it held, however the wait ends.
  struct still_held {
    std::unique_lock<Mutex>& lock;
    ~still_held() { lock.release(); }
  };

  void wake_some(const T& value) noexcept {
    for (waiter** at = &first_; *at != nullptr;) {
      waiter& each = **at;
      if (each.holds(each.condition, value)) {
        *at = each.next;  // it leaves the list here, and its thread cannot go on before the lock is open
        each.woken = true;
        each.changed.notify_one();
      } else {
        at = &each.next;
      }
    }
  }

  void remove(waiter& gone) noexcept {
    for (waiter** at = &first_; *at != nullptr; at = &(*at)->next) {
      if (*at == &gone) {
        *at = gone.next;
        return;
      }
    }
  }

  waiter* first_ = nullptr;
};

}  // namespace tarn::detail
