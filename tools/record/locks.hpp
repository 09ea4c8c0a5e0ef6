// Locks of the program, and what its threads do with them, counted. Each function is called beside the C library's,
// from any thread, where records(lock_kind).
#pragma once

#include <atomic>
#include <cstdint>

#include "format/region.hpp"
#include "record/stack.hpp"
#include "record/threads.hpp"

namespace tarn::record {

// In a child of fork: nothing is known of any lock.
void begin_locks_anew() noexcept;

// What is known of the lock at an address.
struct alignas(64) lock_entry {
  std::atomic<const void*> address;
  std::atomic<std::uint32_t> number;  // in the region; 0 when it has ended, or is one too many
  std::uint32_t last_number, first_site;
  format::lock_type type;
  std::atomic<std::uint64_t> holder;  // who acquired it last: site << 32 | thread, and one more; 0: nobody
};

// An acquisition from its beginning on: the lock and the site are looked up before the lock is taken, so that it is not
// held longer than it would be.
class acquisition {
 public:
  // `for_ever`: it does not give up; then it can be part of a deadlock.
  acquisition(const void* lock, format::lock_type type, const caller& from, bool for_ever = false) noexcept;

  // It has to wait. Looks at who holds the lock.
  void waits() noexcept;
  // It has the lock. `shared`: as one of several readers.
  void succeeded(bool shared) noexcept;
  // It gave up.
  void failed() noexcept;
  // The same for a condition, which nobody holds.
  void waited(bool in_time) noexcept;

 private:
  void count_wait(thread& self) noexcept;
  void count_orders(thread& self, format::order_counter which, std::uint64_t amount) noexcept;

  const void* address_;
  lock_entry* entry_ = nullptr;  // null where it is not counted
  format::lock_cell* cell_ = nullptr;
  std::uint32_t site_ = 0;
  bool for_ever_;
  std::uint64_t waiting_since_ = 0, holder_ = 0;
};

// The calling thread is about to release the lock.
void releases(const void* lock) noexcept;

// The lock ends: what begins at its address later is another one, unless it is first used at the same site.
void ends(const void* lock) noexcept;

// A wait for a condition, whose mutex is not held meanwhile.
class condition_wait {
 public:
  condition_wait(const void* condition, const void* mutex, const caller& from) noexcept;
  void over(bool in_time) noexcept;

 private:
  acquisition waits_;
  const void* mutex_;
};

}  // namespace tarn::record
