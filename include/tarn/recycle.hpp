// A cache of reusable objects for each thread and type.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include <tarn/detail/thread_end.hpp>
#include <tarn/object_cache.hpp>

namespace tarn {

template <class T, class Policy>
class recycler;

/// Holds one object until the handle ends. The object then goes to the cache of the thread that ends the handle, which
/// need not be the thread that took it. Threads: one at a time. Errors: its functions throw nothing; after a move there
/// is no object, and nothing checks that. Cost: inline; ending the handle resets the object.
template <class T, class Policy = recycling<T>>
class recycled_object {
 public:
  recycled_object(recycled_object&& source) noexcept : object_(std::exchange(source.object_, nullptr)) {}
  recycled_object& operator=(recycled_object&& source) noexcept {
    recycled_object temporary(std::move(source));
    std::swap(object_, temporary.object_);
    return *this;
  }
  ~recycled_object() {
    if (object_ != nullptr) recycler<T, Policy>::give(object_);
  }

  /// Must not be called after a move from this handle.
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  /// Returns the object; null after a move.
  T* get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  friend class recycler<T, Policy>;
  explicit recycled_object(T* object) noexcept : object_(object) {}

  T* object_;
};

/// The calling thread's cache. It is emptied at the end of the thread, among the thread_local destructors. Later uses,
/// by other such destructors, work but keep nothing. Any thread may call its functions at any time: each sees its own
/// cache. Errors: take() throws what creating a T throws, and std::bad_alloc. Cost: inline, no lock; the first object
/// that a thread gives back allocates the thread's cache.
template <class T, class Policy = recycling<T>>
class recycler {
  using warm = detail::warm_objects<T, Policy>;

 public:
  /// Takes a kept object of the calling thread, or makes one.
  [[nodiscard, gnu::always_inline]] static recycled_object<T, Policy> take() {
    T* object = local_->take();
    if (object == nullptr) [[unlikely]] {
      object = warm::new_object();
    }
    return recycled_object<T, Policy>(object);
  }

  /// Returns the number of objects that this thread keeps.
  static std::size_t size() noexcept { return local_->count; }
  /// Destroys the objects that this thread keeps.
  static void clear() noexcept { local_->clear(); }

 private:
  friend class recycled_object<T, Policy>;

  /// Owns a thread's cache, once there is one.
  struct of_thread : detail::thread_end_task {
    warm objects;
  };

  [[gnu::always_inline]] static void give(T* object) noexcept {
    if (!warm::is_worth_keeping(*object) || !local_->keep(object)) [[unlikely]] {
      give_slow(object);
    }
  }

  /// Handles what the inline path cannot: the thread's first object, a full or emptied cache, an object too large.
  [[gnu::noinline]] static void give_slow(T* object) noexcept {
    if (local_ == &before_first_ && warm::is_worth_keeping(*object)) {
      if (auto* const cache = ::new (std::nothrow) of_thread) {
        cache->run = end;
        if (detail::at_thread_end(*cache)) {
          cache->objects.room = Policy::max_objects;
          local_ = &cache->objects;
          if (local_->keep(object)) return;
        } else {
          ::delete cache;
          local_ = &after_end_;
        }
      }
    }
    warm::delete_object(object);
  }

  static void end(detail::thread_end_task* task) noexcept {
    auto* const cache = static_cast<of_thread*>(task);
    local_ = &after_end_;  // This comes before the destructors, which may call into this cache again.
    cache->objects.clear();
    ::delete cache;
  }

  // These have neither constructor nor destructor, so a read is one load at any time in the thread's life. They are
  // hidden because each library with Tarn inside has its own heaps, and so its own objects.
  static constinit inline warm before_first_{};  ///< in use before the thread's first object
  static constinit inline warm after_end_{};     ///< in use after the thread's end emptied it
  static constinit inline thread_local warm* local_ = &before_first_;
};

/// Takes an object from the calling thread's cache, or creates one.
///
///   auto line = tarn::recycle<std::string>();   // empty, with the capacity of an earlier string
///   line->append(…);                            // cleared and kept at the end of the scope
///
/// A thread may hold any number of objects. A handle may move to another thread and end there. Errors: throws what
/// creating a T throws, and std::bad_alloc. Do not use it for objects whose memory ends before the thread does, such as
/// strings in the current heap of a scope. Cost: inline, no lock; see docs/guide/pools.md.
template <class T>
[[nodiscard, gnu::always_inline]] inline recycled_object<T> recycle() {
  return recycler<T>::take();
}

}  // namespace tarn
