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
/// need not be the thread that took it.
template <class T, class Policy = recycling<T>>
class recycled {
 public:
  recycled(recycled&& source) noexcept : used_(std::exchange(source.used_, nullptr)) {}
  recycled& operator=(recycled&& source) noexcept {
    recycled taken(std::move(source));
    std::swap(used_, taken.used_);
    return *this;
  }
  ~recycled() {
    if (used_ != nullptr) {
      recycler<T, Policy>::give(used_);
    }
  }

  /// Must not be called after a move from this handle.
  T& operator*() const noexcept { return *used_; }
  T* operator->() const noexcept { return used_; }
  /// Returns the object; null after a move.
  T* get() const noexcept { return used_; }
  explicit operator bool() const noexcept { return used_ != nullptr; }

 private:
  friend class recycler<T, Policy>;
  explicit recycled(T* used) noexcept : used_(used) {}

  T* used_;
};

/// The calling thread's cache. It is emptied at the end of the thread, among the thread_local destructors. Later uses,
/// by other such destructors, work but keep nothing.
template <class T, class Policy = recycling<T>>
class recycler {
  using warm = detail::warm_objects<T, Policy>;

 public:
  /// Takes a kept object of the calling thread, or makes one. Throws what the constructor of T throws.
  [[nodiscard, gnu::always_inline]] static recycled<T, Policy> take() {
    T* used = local_->take();
    if (used == nullptr) [[unlikely]] {
      used = warm::new_object();
    }
    return recycled<T, Policy>(used);
  }

  /// Returns the number of objects that this thread keeps.
  static std::size_t size() noexcept { return local_->count; }
  /// Destroys the objects that this thread keeps.
  static void clear() noexcept { local_->clear(); }

 private:
  friend class recycled<T, Policy>;

  /// Owns a thread's cache, once there is one.
  struct of_thread : detail::thread_end_task {
    warm objects;
  };

  [[gnu::always_inline]] static void give(T* used) noexcept {
    if (!warm::is_worth_keeping(*used) || !local_->keep(used)) [[unlikely]] {
      give_slow(used);
    }
  }

  /// Handles what the inline path cannot: the thread's first object, a full or emptied cache, an object too large.
  [[gnu::noinline]] static void give_slow(T* used) noexcept {
    if (local_ == &before_first_ && warm::is_worth_keeping(*used)) {
      if (auto* const cache = ::new (std::nothrow) of_thread) {
        cache->run = end;
        if (detail::at_thread_end(*cache)) {
          cache->objects.room = Policy::max_objects;
          local_ = &cache->objects;
          if (local_->keep(used)) {
            return;
          }
        } else {
          ::delete cache;
          local_ = &after_end_;
        }
      }
    }
    warm::delete_object(used);
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
/// creating a T throws. Do not use it for objects whose memory ends before the thread does, such as strings in the
/// current heap of a scope. Cost: inline, no lock; see docs/guide/pools.md.
/// Source: "Thread-local storage as an allocation cache", where the objects were the strings of a server.
template <class T>
[[nodiscard, gnu::always_inline]] inline recycled<T> recycle() {
  return recycler<T>::take();
}

}  // namespace tarn
