// Memory for our own records (heaps, magazines, descriptors of mappings). It is
// never given back, so a stale pointer to a record always meets a record.
#pragma once

#include <cstddef>

#include "platform/mutex.hpp"

namespace tarn::pages {

class metadata {
 public:
  /// Zeroed memory at a multiple of `alignment` (a power of two up to a page);
  /// null when the system has none. Any thread.
  static void* allocate(std::size_t bytes, std::size_t alignment) noexcept;

  /// Held around a fork.
  static platform::mutex& lock() noexcept;
};

/// Records of one type, reused through a list of free ones. Any thread.
template <class Record>
class record_pool {
 public:
  constexpr explicit record_pool(platform::lock_rank rank) noexcept : mutex_(rank) {}

  /// Memory for a Record, not constructed; null when the system has none.
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
    static void* operator new(std::size_t, void* at) noexcept { return at; }
  };
  static_assert(sizeof(Record) >= sizeof(link));

  platform::mutex mutex_;
  link* free_ = nullptr;
};

}  // namespace tarn::pages
