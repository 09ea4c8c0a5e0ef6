// What a user of the locking categories can get wrong: each is one function with a name, as in base/fault.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

namespace tarn::sync {

/// A lock, and where a thread took it or wants to.
struct lock_site {
  const void* object = nullptr;
  const char* name = "";
  int level = 0;
  std::source_location where;
};

/// `second` was taken, or wanted, by a thread that held `first`.
struct lock_pair {
  lock_site first;
  lock_site second;
};

/// `now` closes a circle with the pairs that were seen `before`, of which the first begins with now.second.
[[noreturn]] void fault_lock_order(const lock_pair& now, const lock_pair* before, std::size_t count) noexcept;
/// The level of now.second is not above that of now.first.
[[noreturn]] void fault_lock_rank(const lock_pair& now) noexcept;
/// The holder of a lock wants it again.
[[noreturn]] void fault_lock_twice(const lock_pair& now) noexcept;
/// A thread ends and holds a lock.
[[noreturn]] void fault_held_for_ever(const lock_site& held) noexcept;
/// A lock is opened by a thread that does not hold it.
[[noreturn]] void fault_not_the_holder(const void* object, const char* name) noexcept;

/// What belongs to one thread was used in another, the calling one.
[[noreturn]] void fault_foreign_thread(const char* category, const void* object, std::uint32_t owner,
                                       const char* owner_name) noexcept;
/// A reloadable ends while a thread reads it.
[[noreturn]] void fault_still_read(const void* object, const char* name, std::uint64_t version,
                                   std::uint32_t thread) noexcept;

/// A read-only object is built again; or while workers run; or read, and was never built.
[[noreturn]] void fault_built_twice(const void* object, const std::source_location& where,
                                    const std::source_location& before) noexcept;
[[noreturn]] void fault_built_late(const void* object, const std::source_location& where,
                                   const std::source_location& workers_since) noexcept;
[[noreturn]] void fault_not_built(const void* object) noexcept;
[[noreturn]] void fault_already_working(const std::source_location& where, const std::source_location& since) noexcept;

}  // namespace tarn::sync
