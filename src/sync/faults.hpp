// The faults that a user of the locking categories can cause: each is a named function, as in base/fault.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace tarn::sync {

/// A lock and the source location where a thread, or a coroutine, took it or tries to take it.
struct lock_site {
  const void* object = nullptr;
  const char* name = "";
  int level = 0;
  std::source_location location;
  bool is_of_coroutines = false;
};

/// Two locks: a thread that held `first` took `second`, or tried to.
struct lock_pair {
  lock_site first;
  lock_site second;
};

/// Reports that `now` closes a cycle with the pairs seen `before`, the first of which begins with now.second.
[[noreturn]] void fault_lock_order(const lock_pair& now, const lock_pair* before, std::size_t count) noexcept;
/// Reports that the level of now.second is not above that of now.first.
[[noreturn]] void fault_lock_rank(const lock_pair& now) noexcept;
/// Reports that the holder of a lock takes it again.
[[noreturn]] void fault_lock_twice(const lock_pair& now) noexcept;
/// Reports that a thread ends while it holds a lock.
[[noreturn]] void fault_held_for_ever(const lock_site& lock) noexcept;
/// Reports that a thread releases a lock that it does not hold.
[[noreturn]] void fault_not_the_holder(const void* object, const char* name) noexcept;
/// Reports that a shared is destroyed while a handle of it lives.
[[noreturn]] void fault_destroyed_while_held(const void* object, const char* name) noexcept;
/// Reports that a shared is destroyed while a thread waits for it, or for a change of it.
[[noreturn]] void fault_destroyed_while_awaited(const void* object, const char* name) noexcept;
/// Reports that a coroutine may suspend for an async_shared in a thread that holds a lock.
[[noreturn]] void fault_suspended_while_held(const lock_site& lock, const void* object,
                                             const std::source_location& location) noexcept;
/// Reports that an async_shared is destroyed while a handle of it lives.
[[noreturn]] void fault_async_destroyed(const void* object) noexcept;

/// Reports that the calling thread used an object that belongs to another thread.
[[noreturn]] void fault_foreign_thread(const char* category, const void* object, std::uint32_t owner,
                                       const char* owner_name) noexcept;

/// These report that a read-only object is built a second time, is built while workers run, or is read before it was
/// built.
[[noreturn]] void fault_built_twice(const void* object, const std::source_location& location,
                                    const std::source_location& before) noexcept;
[[noreturn]] void fault_built_late(const void* object, const std::source_location& location,
                                   const std::source_location& workers_since) noexcept;
[[noreturn]] void fault_not_built(const void* object) noexcept;
[[noreturn]] void fault_already_working(const std::source_location& location,
                                        const std::source_location& since) noexcept;

}  // namespace tarn::sync
