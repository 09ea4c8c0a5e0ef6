// Objects of one type, from a pool of blocks.
#pragma once

#include <memory>
#include <mutex>
#include <type_traits>

#include <tarn/detail/synchronous.hpp>
#include <tarn/fixed_pool.hpp>

namespace tarn {

/// The lock of a pool that one thread uses at a time. It does nothing.
struct no_mutex {
  void lock() noexcept {}
  bool try_lock() noexcept { return true; }
  void unlock() noexcept {}
};

/// Creates and destroys objects of one type.
///
///   tarn::pool<node> nodes;
///   node* first = nodes.create(7);
///   nodes.destroy(first);
///   auto second = nodes.make_unique(8);       // a std::unique_ptr that returns the object
///   tarn::pool<node, std::mutex> locked;      // any Lockable: std::mutex, tarn::spin_mutex
///
/// Threads: one at a time without a Mutex, any number with one. The lock covers the pool's own work, never a
/// constructor or destructor. Live objects end with the pool, without their destructors, unless destroy_all was
/// called. Errors and cost are those of fixed_pool.
template <class T, class Mutex = no_mutex>
class pool : public typed_pool<pool<T, Mutex>, T> {
 public:
  pool() noexcept : pool(pool_options{}) {}
  /// Takes no memory yet.
  explicit pool(const pool_options& options) noexcept : blocks_(sizeof(T), alignof(T), options) {}

  /// Allocates memory for a T without creating one.
  [[nodiscard, gnu::always_inline]] void* allocate() {
    const std::lock_guard<Mutex> hold(mutex_);
    return blocks_.allocate();
  }
  /// Like allocate, but returns null instead of throwing.
  [[nodiscard, gnu::always_inline]] void* try_allocate() noexcept {
    const std::lock_guard<Mutex> hold(mutex_);
    return blocks_.try_allocate();
  }
  /// Frees a block of this pool, which must not be null.
  [[gnu::always_inline]] void deallocate(void* block) noexcept {
    const std::lock_guard<Mutex> hold(mutex_);
    blocks_.deallocate(block);
  }

  /// Takes memory for `objects` objects in total, used or not. Throws like allocate.
  void reserve(std::size_t objects) {
    const std::lock_guard<Mutex> hold(mutex_);
    blocks_.reserve(objects);
  }
  /// Frees all blocks at once, and keeps the memory. Runs no destructors.
  void clear() noexcept {
    const std::lock_guard<Mutex> hold(mutex_);
    blocks_.clear();
  }
  /// Like clear(), and returns the memory to the upstream.
  void release() noexcept {
    const std::lock_guard<Mutex> hold(mutex_);
    blocks_.release();
  }
  /// Calls `visit(T&)` for every live object, in the order of addresses. The pool must hold objects only, no bare
  /// blocks. Neither another thread nor `visit` may use the pool meanwhile. Sorts the free blocks first, in O(n log n).
  /// Reports double frees and blocks of other pools as faults.
  template <class Visit>
  void for_each_live(Visit visit) {
    detail::runs_before_it_returns<Visit&, T&>();
    blocks_.for_each_live([&visit](void* block) { visit(*static_cast<T*>(block)); });
  }
  /// Runs the destructors of all live objects, in the way of for_each_live, and then calls clear(). A type without a
  /// destructor is not visited.
  void destroy_all() noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      for_each_live([](T& object) { std::destroy_at(&object); });
    }
    clear();
  }
  /// Returns a copy of the counters.
  pool_statistics statistics() noexcept {
    const std::lock_guard<Mutex> hold(mutex_);
    return blocks_.statistics();
  }
  /// Returns whether the pool's internal structures are consistent. It is slow and meant for tests.
  bool is_valid() noexcept {
    const std::lock_guard<Mutex> hold(mutex_);
    return blocks_.is_valid();
  }
  /// Returns the name from the options.
  const char* name() const noexcept { return blocks_.name(); }

 private:
  fixed_pool blocks_;
  [[no_unique_address]] Mutex mutex_;
};

}  // namespace tarn
