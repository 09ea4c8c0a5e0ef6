// The free arrays of the process, of which heaps make magazines and remote-free batches.
#pragma once

#include <cstddef>

#include "memory/heap/magazine.hpp"
#include "platform/mutex.hpp"

namespace tarn::heaps {

/// A list of arrays through their first entries.
struct array_list {
  magazine* first = nullptr;
  magazine* last = nullptr;
  std::size_t count = 0;

  void push_back(magazine* added) noexcept {
    added->next() = nullptr;
    (last != nullptr ? last->next() : first) = added;
    last = added;
    ++count;
  }
  magazine* pop_front() noexcept {
    magazine* const popped = first;
    first = popped->next();  // NOLINT(clang-analyzer-core.CallAndMessage) callers check that the list is not empty
    last = first == nullptr ? nullptr : last;
    --count;
    return popped;
  }
};

/// Keeps the free arrays of the process, which lie side by side. Pages of arrays that were not needed for a while go
/// back to the system, so records outside of these pages remember them. Any thread may call any function.
class array_pool {
 public:
  constexpr array_pool() noexcept = default;
  array_pool(const array_pool&) = delete;
  array_pool& operator=(const array_pool&) = delete;

  /// Returns memory for an array, which may still hold an old one; null without memory.
  void* allocate() noexcept;
  void deallocate(magazine* array) noexcept;

  /// Gives pages of free arrays back to the system: of the arrays that were not needed since the last call, or of all
  /// free arrays (`must_empty`). Returns the bytes.
  std::size_t purge(bool must_empty) noexcept;
  /// Gives back the pages of all free arrays if they are many. Cost: most calls only count.
  void purge_excess() noexcept;
  /// Returns true if purge(false) should be called again.
  bool may_purge_later() noexcept;

  /// Returns the lock, which is held around a fork.
  platform::mutex& lock() noexcept { return mutex_; }

 private:
  struct page_run {
    page_run* next;
    char* start;
    std::size_t bytes;
  };

  bool take_purged_page() noexcept;
  void* take_new() noexcept;
  page_run* new_run() noexcept;
  bool purge_pages(char* start, std::size_t bytes) noexcept;

  platform::mutex mutex_{platform::lock_rank::magazines};
  char* next_new_ = nullptr;  ///< memory for arrays that was never used, up to `new_end_`
  char* new_end_ = nullptr;
  array_list free_;
  std::size_t min_free_ = 0;   ///< the least free_.count since the last purge: this many were not needed
  std::size_t scattered_ = 0;  ///< arrays that the last purge left, because their pages hold others, too
  page_run* purged_ = nullptr;
  page_run* spare_runs_ = nullptr;
};

extern constinit array_pool arrays;

}  // namespace tarn::heaps
