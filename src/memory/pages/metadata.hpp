// Allocates memory for the allocator's own records (heaps, magazines, segments, leaves of the page map). Its addresses
// stay for good, so a stale pointer to a record always meets a record. Pages of unused records may go back to the
// system, and then read as zero.
//
// The records lie in regions of their own, apart from everything that a program writes. A region is inaccessible
// address space between guards, at a random distance from all else; it becomes writable upwards as it is needed. The
// address of a block does not reveal where a region is.
#pragma once

#include <cstddef>

#include "platform/mutex.hpp"

namespace tarn::pages {

class metadata {
 public:
  /// The largest record has this many bytes.
  static constexpr std::size_t max_bytes = std::size_t{2} << 20;

  /// Returns zeroed memory at a multiple of `alignment` (a power of two up to a page); null if the system has none. Any
  /// thread may call it.
  static void* allocate(std::size_t bytes, std::size_t alignment) noexcept;

  /// Lets the next allocations of `bytes` together make no system call, if the region has so much left. Any thread may
  /// call it.
  static void prepare(std::size_t bytes) noexcept;

  /// Returns the bytes that are writable in all regions. They only grow, in steps. For tests.
  static std::size_t committed_bytes() noexcept;

  /// Returns the lock, which is held around a fork.
  static platform::mutex& lock() noexcept;
};

/// Keeps records of one type, and reuses them through a list of free ones. Any thread may use it.
template <class Record>
class record_pool {
 public:
  constexpr explicit record_pool(platform::lock_rank rank) noexcept : mutex_(rank) {}

  /// Returns memory for a Record, not constructed; null if the system has none.
  void* allocate() noexcept {
    {
      const platform::locked hold(mutex_);
      if (free_ != nullptr) {
        link* const first = free_;
        free_ = first->next;
        return first;
      }
    }
    return metadata::allocate(sizeof(Record), alignof(Record));
  }

  void deallocate(void* record) noexcept {
    const platform::locked hold(mutex_);
    free_ = new (record) link{free_};
  }

  platform::mutex& lock() noexcept { return mutex_; }

 private:
  struct link {
    link* next;
    static void* operator new(std::size_t, void* memory) noexcept { return memory; }
  };
  static_assert(sizeof(Record) >= sizeof(link));

  platform::mutex mutex_;
  link* free_ = nullptr;
};

}  // namespace tarn::pages
