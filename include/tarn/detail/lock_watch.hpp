// What a build with TARN_CHECKS knows of a lock; an empty class elsewhere.
#pragma once

#include <cstdint>
#include <source_location>

namespace tarn::detail {

#if TARN_CHECKS

/// Part of a lock. Finds orders that can deadlock the first time that they differ, whether or not anybody waits: a
/// level that does not rise, a lock taken twice by its holder, and A before B after B before A, by way of other locks,
/// too. Any number of threads; a global lock for each acquisition while another lock is held.
class lock_watch {
 public:
  lock_watch(int level, const char* name) noexcept : level_(level), name_(name) {}
  ~lock_watch();
  lock_watch(const lock_watch&) = delete;
  lock_watch& operator=(const lock_watch&) = delete;

  /// Before the lock is waited for. Does not return when its order is wrong.
  void before(const void* object, const std::source_location& where);
  void taken(const void* object, const std::source_location& where) noexcept;
  void released(const void* object) noexcept;

 private:
  friend class lock_order;
  int level_;  ///< of the declared hierarchy; 0: outside of it
  const char* name_;
  std::uint64_t id_ = 0;  ///< in the graph of orders; 0: not there
};

#else

class lock_watch {
 public:
  constexpr lock_watch(int, const char*) noexcept {}
  void before(const void*, const std::source_location&) noexcept {}
  void taken(const void*, const std::source_location&) noexcept {}
  void released(const void*) noexcept {}
};

#endif

}  // namespace tarn::detail
