// Counts what the program's threads do with its locks. Each function is called beside the C library's, from any
// thread, where records(lock_kind).
#pragma once

#include <atomic>
#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/stacks/stack.hpp"
#include "profiler/preload/threads.hpp"

namespace tarn::preload {

// Empties the table of locks in a child of fork.
void begin_locks_anew() noexcept;

// The entry of the lock at an address.
struct alignas(64) lock_entry {
  std::atomic<const void*> address;
  std::atomic<std::uint32_t> number;  // in the region; 0 when the lock has ended or is beyond the limit
  std::uint32_t last_number, first_site;
  format::lock_type type;
  std::atomic<std::uint64_t> holder;  // the last to acquire it: (site << 32 | thread) + 1; 0: nobody
};

// Counts one acquisition from its beginning. It looks up the lock and the site before the lock is taken, so that the
// lock is not held longer than without the recorder.
class acquisition {
 public:
  // `for_ever` means that the acquisition does not give up, so it can be part of a deadlock.
  acquisition(const void* lock, format::lock_type type, const caller& caller, bool for_ever = false) noexcept;

  // Notes that it has to wait, and who holds the lock.
  void waits() noexcept;
  // Notes that it has the lock; `shared` means as one of several readers.
  void succeeded(bool shared) noexcept;
  // Notes that it gave up.
  void failed() noexcept;
  // Notes the end of a wait for a condition, which nobody holds; `in_time` is false after a timeout.
  void waited(bool in_time) noexcept;

 private:
  void count_wait(thread& self) noexcept;
  void count_orders(thread& self, format::order_counter which, std::uint64_t amount) noexcept;

  const void* address_;
  lock_entry* entry_ = nullptr;  // null when it is not counted
  format::lock_cell* cell_ = nullptr;
  std::uint32_t site_ = 0;
  bool blocks_;
  std::uint64_t waiting_since_ = 0, holder_ = 0;
};

// Notes that the calling thread is about to release the lock.
void releases(const void* lock) noexcept;

// Notes that the lock ends. A lock that begins at its address later is another one, unless it is first used at the
// same site.
void ends(const void* lock) noexcept;

// Counts a wait for a condition. The mutex is not held meanwhile.
class condition_wait {
 public:
  condition_wait(const void* condition, const void* mutex, const caller& caller) noexcept;
  void finish(bool in_time) noexcept;

 private:
  acquisition waits_;
  const void* mutex_;
};

}  // namespace tarn::preload
