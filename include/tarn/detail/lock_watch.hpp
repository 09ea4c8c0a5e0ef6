// The record that a build with TARN_CHECKS keeps of a lock; an empty class in other builds.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>

#include <tarn/detail/config.hpp>

namespace tarn::detail {

#if TARN_CHECKS

/// Part of a lock. It detects orders that can deadlock the first time that they differ, even when nobody waits: a
/// level that does not rise, a lock that its holder takes again, and A before B after B before A, also through other
/// locks. Any number of threads may use it. It takes a global lock for each acquisition while another lock is held.
class lock_watch {
 public:
  lock_watch(int level, const char* name) noexcept : level_(level), name_(name) {}
  ~lock_watch();
  lock_watch(const lock_watch&) = delete;
  lock_watch& operator=(const lock_watch&) = delete;

  /// Called before the thread waits for the lock. Does not return when the order is wrong.
  void note_attempt(const void* object, const std::source_location& location);
  /// Called when the thread has the lock that it waited for.
  void note_acquired(const void* object, const std::source_location& location) noexcept;
  /// Called when the thread has the lock without a wait, and so without note_attempt().
  void note_acquired_at_once(const void* object, const std::source_location& location) noexcept;
  void note_released(const void* object) noexcept;

  /// These two serve locks that coroutines hold: the holder is a coroutine, whatever thread runs it. Coroutines that
  /// await each other are one holder, the outermost one, if their promises say so (root_of).
  void note_attempt_in_coroutine(const void* coroutine, const void* object, const std::source_location& location);
  void note_acquired_in_coroutine(const void* coroutine, const void* object,
                                  const std::source_location& location) noexcept;
  /// Forgets which coroutine holds the lock: it is released, or its handle was moved and may be anywhere.
  void forget_coroutine() noexcept;

 private:
  friend class lock_order;
  int level_;  ///< level in the declared hierarchy; 0: outside of it
  const char* name_;
  std::uint64_t id_ = 0;  ///< node in the graph of orders; 0: none
  std::atomic<unsigned> holders_{0};
  std::atomic<unsigned> waiting_{0};          ///< threads between note_attempt() and note_acquired()
  std::atomic<const void*> object_{nullptr};  ///< object of the newest holder, or who waits
  const void* coroutine_ = nullptr;           ///< that holds the lock; written by the holder of the lock only
};

#else

class lock_watch {
 public:
  constexpr lock_watch(int, const char*) noexcept {}
  void note_attempt(const void*, const std::source_location&) noexcept {}
  void note_acquired(const void*, const std::source_location&) noexcept {}
  void note_acquired_at_once(const void*, const std::source_location&) noexcept {}
  void note_released(const void*) noexcept {}
  void note_attempt_in_coroutine(const void*, const void*, const std::source_location&) noexcept {}
  void note_acquired_in_coroutine(const void*, const void*, const std::source_location&) noexcept {}
  void forget_coroutine() noexcept {}
};

#endif

}  // namespace tarn::detail
