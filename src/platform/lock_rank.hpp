// The one order in which a thread takes the engine's locks.
//
// Two threads that take two locks in different orders wait for each other for ever, once in a million runs; around a
// fork, where all are taken, sooner. So each lock has a rank, a thread takes them by rising rank only, and a build with
// TARN_CHECKS sees to it at each lock.
#pragma once

#include <cstdint>

#include "base/check.hpp"

namespace tarn::platform {

/// From the first that may be taken to the last.
enum class lock_rank : std::uint8_t {
  alone,     ///< with no other: neither is one taken under it, nor it under one. Around a fork it has any place
  user,      ///< under it the program's allocator may be called
  heap,      ///< a shared heap, the process's too
  registry,  ///< of heaps
  spaces,    ///< the list of them
  space,     ///< around a fork all of them
  page_map,
  records,  ///< of single slabs
  magazines,
  metadata,
  set_aside,
};

/// What the calling thread holds. Empty functions but for builds with TARN_CHECKS.
class held_locks {
 public:
#if TARN_CHECKS
  static void taken(lock_rank rank) noexcept {
    if (held_for_fork_ != 0) {
      return;  // whoever holds them all meets nobody
    }
    const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(rank);
    TARN_CHECK(held_ < bit && "locks are taken by rising rank");
    TARN_CHECK((held_ & 1U) == 0 && "under this lock no other is taken");
    held_ |= bit;
  }
  static void left(lock_rank rank) noexcept {
    if (held_for_fork_ == 0) {
      held_ &= ~(std::uint32_t{1} << static_cast<unsigned>(rank));
    }
  }
  static void taken_for_fork(lock_rank rank) noexcept {
    TARN_CHECK(held_ == 0 && "no lock is held when the process forks");
    if (rank != lock_rank::alone) {
      TARN_CHECK(last_for_fork_ <= rank && "around a fork, too, locks are taken by rising rank");
      last_for_fork_ = rank;
    }
    ++held_for_fork_;
  }
  static void left_after_fork() noexcept {
    if (--held_for_fork_ == 0) {
      last_for_fork_ = lock_rank::alone;
    }
  }

 private:
  static inline constinit thread_local std::uint32_t held_ = 0;  ///< a bit a rank
  static inline constinit thread_local std::uint32_t held_for_fork_ = 0;
  static inline constinit thread_local lock_rank last_for_fork_ = lock_rank::alone;
#else
  static void taken(lock_rank) noexcept {}
  static void left(lock_rank) noexcept {}
  static void taken_for_fork(lock_rank) noexcept {}
  static void left_after_fork() noexcept {}
#endif
};

}  // namespace tarn::platform
