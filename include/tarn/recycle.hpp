// The calling thread's own cache of warm objects of a type.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include <tarn/detail/thread_end.hpp>
#include <tarn/object_cache.hpp>

namespace tarn {

template <class T, class Policy>
class recycler;

/// One object, the holder's until it ends; then it goes to the cache of the thread that ends it, which may be another
/// than the one that took it.
template <class T, class Policy = recycling<T>>
class recycled {
 public:
  recycled(recycled&& other) noexcept : used_(std::exchange(other.used_, nullptr)) {}
  recycled& operator=(recycled&& other) noexcept {
    recycled taken(std::move(other));
    std::swap(used_, taken.used_);
    return *this;
  }
  ~recycled() {
    if (used_ != nullptr) {
      recycler<T, Policy>::give(used_);
    }
  }

  /// Not after a move from this handle.
  T& operator*() const noexcept { return *used_; }
  T* operator->() const noexcept { return used_; }
  T* get() const noexcept { return used_; }
  explicit operator bool() const noexcept { return used_ != nullptr; }

 private:
  friend class recycler<T, Policy>;
  explicit recycled(T* used) noexcept : used_(used) {}

  T* used_;
};

/// The calling thread's cache. At the end of the thread it is emptied, among the thread_local destructors; a use after
/// that, by another such destructor, works without keeping anything.
template <class T, class Policy = recycling<T>>
class recycler {
  using warm = detail::warm_objects<T, Policy>;

 public:
  [[nodiscard, gnu::always_inline]] static recycled<T, Policy> take() {
    T* used = local_->take();
    if (used == nullptr) [[unlikely]] {
      used = warm::new_object();
    }
    return recycled<T, Policy>(used);
  }

  /// Objects that this thread keeps now.
  static std::size_t size() noexcept { return local_->count; }
  /// Destroys them.
  static void clear() noexcept { local_->clear(); }

 private:
  friend class recycled<T, Policy>;

  /// A thread's cache, once it has one.
  struct of_thread : detail::thread_end_task {
    warm objects;
  };

  [[gnu::always_inline]] static void give(T* used) noexcept {
    if (!warm::is_worth_keeping(*used) || !local_->keep(used)) [[unlikely]] {
      give_slow(used);
    }
  }

  /// The first object that a thread gives makes its cache; or the cache is full, or over, or the object too large.
  [[gnu::noinline]] static void give_slow(T* used) noexcept {
    if (local_ == &none_ && warm::is_worth_keeping(*used)) {
      if (auto* const made = ::new (std::nothrow) of_thread) {
        made->run = end;
        if (detail::at_thread_end(*made)) {
          made->objects.room = Policy::most_objects;
          local_ = &made->objects;
          if (local_->keep(used)) {
            return;
          }
        } else {
          ::delete made;
          local_ = &over_;
        }
      }
    }
    warm::delete_object(used);
  }

  static void end(detail::thread_end_task* task) noexcept {
    auto* const own = static_cast<of_thread*>(task);
    local_ = &over_;  // before the destructors, which may come back here
    own->objects.clear();
    ::delete own;
  }

  // Without constructor or destructor: a read is one load, at any time in the thread's life.
  static constinit inline warm none_{};  ///< before the first object is given
  static constinit inline warm over_{};  ///< when the cache has been emptied for good
  static constinit inline thread_local warm* local_ = &none_;
};

/// auto line = tarn::recycle<std::string>();   // empty, with the capacity that an earlier one had
/// line->append(…);                            // at the end of scope it is cleared and kept
///
/// Any number at a time. A handle may be moved to another thread and end there. Errors: throws what creating a T
/// throws, only when it creates one. Not for objects whose memory ends before the thread does, such as strings in the
/// current heap of a scope. Cost: inline, no lock; see docs/object-cache.md. (After "Thread-local storage as an
/// allocation cache", where the objects were the strings of a server.)
template <class T>
[[nodiscard, gnu::always_inline]] inline recycled<T> recycle() {
  return recycler<T>::take();
}

}  // namespace tarn
