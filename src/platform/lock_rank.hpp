// The order in which a thread takes the engine's locks.
//
// Two threads that take two locks in different orders may wait for each other forever. That is rare, and less rare
// around a fork, where all locks are taken. So each lock has a rank, and a thread takes locks by rising rank only.
// Builds with TARN_CHECKS verify this at each lock.
#pragma once

#include <cstdint>

#include "base/check.hpp"

namespace tarn::platform {

/// The ranks, from the first lock that a thread may take to the last.
enum class lock_rank : std::uint8_t {
  isolated,  ///< no other lock is taken under it, nor it under another; around a fork it may have any position
  user,      ///< the program's allocator may be called under it
  heap,      ///< a shared heap, also the process's
  registry,  ///< the registry of heaps
  spaces,    ///< the list of segment allocators
  space,     ///< one segment allocator; around a fork all of them
  page_map,
  records,  ///< the records of large blocks
  magazines,
  metadata,
};

/// The locks that the calling thread holds. The functions are empty except in builds with TARN_CHECKS.
class held_locks {
 public:
#if TARN_CHECKS
  static void note_acquired(lock_rank rank) noexcept {
    if (locks_for_fork_ != 0) {
      return;  // a thread that holds all of them meets nobody
    }
    const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(rank);
    TARN_CHECK(ranks_ < bit && "locks are taken by rising rank");
    TARN_CHECK((ranks_ & 1U) == 0 && "under this lock no other is taken");
    ranks_ |= bit;
  }
  static void note_released(lock_rank rank) noexcept {
    if (locks_for_fork_ == 0) {
      ranks_ &= ~(std::uint32_t{1} << static_cast<unsigned>(rank));
    }
  }
  static void acquired_for_fork(lock_rank rank) noexcept {
    TARN_CHECK(ranks_ == 0 && "no lock is held when the process forks");
    if (rank != lock_rank::isolated) {
      TARN_CHECK(last_for_fork_ <= rank && "around a fork, too, locks are taken by rising rank");
      last_for_fork_ = rank;
    }
    ++locks_for_fork_;
  }
  static void note_released_after_fork() noexcept {
    if (--locks_for_fork_ == 0) last_for_fork_ = lock_rank::isolated;
  }
  /// The calling thread's, for platform/helper.cpp; null where there is none.
  static const void* storage() noexcept { return &ranks_; }

 private:
  static inline constinit thread_local std::uint32_t ranks_ = 0;  ///< one bit for each rank
  static inline constinit thread_local std::uint32_t locks_for_fork_ = 0;
  static inline constinit thread_local lock_rank last_for_fork_ = lock_rank::isolated;
#else
  static void note_acquired(lock_rank) noexcept {}
  static void note_released(lock_rank) noexcept {}
  static void acquired_for_fork(lock_rank) noexcept {}
  static void note_released_after_fork() noexcept {}
  static const void* storage() noexcept { return nullptr; }
#endif
};

}  // namespace tarn::platform
