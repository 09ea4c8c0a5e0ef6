// Finds the entries of the program's locks by their addresses.
#pragma once

#include <atomic>
#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/records/release_log.hpp"

namespace tarn::preload {

// The entry of the lock at an address.
struct alignas(64) lock_entry {
  std::atomic<const void*> address;
  std::atomic<std::uint32_t> number;        // in the region; 0 when the lock has ended or is beyond the limit
  std::uint32_t newest_number, first_site;  // the newest number at the address may be that of an earlier lock
  std::atomic<std::uint32_t> sum_number;    // of the record for all locks of its kind; 0 until it is looked up
  std::atomic<format::lock_type> type;
  std::atomic<bool> has_places;  // a semaphore that several threads had at once, so that none of them is the holder
  // The thread that is known to have acquired it and not to have released it: (site << 32 | thread) + 1, or 0 if there
  // is none.
  std::atomic<std::uint64_t> holder;
  std::atomic<release_log*> log;  // null until a thread waits for it
};

// Returns the entry of a lock that is used at that site, and numbers the lock if it is new. Locks beyond the limit
// share one, for which is_excess(). Returns null when there is no memory.
lock_entry* entry_of(const void* address, format::lock_type type, std::uint32_t site) noexcept;
bool is_excess(const lock_entry& entry) noexcept;
// Returns the number of the record that stands for all locks of the type and the first site of this one; 0 when there
// is no room for it.
std::uint32_t sum_number_of(lock_entry& entry) noexcept;
// Returns true if the number is that of no lock alone.
bool is_of_several(std::uint32_t number) noexcept;
// Returns the entry of a lock that has one of its own; null otherwise.
lock_entry* known_entry(const void* address) noexcept;
// Ends the locks at these addresses.
void end_locks_in(std::uintptr_t start, std::uintptr_t end) noexcept;
// Returns the entry's log of releases, which it makes where there is none; null when there is no memory.
release_log* log_of(lock_entry& entry) noexcept;

// Empties the table in a child of fork.
void begin_lock_table_anew() noexcept;

}  // namespace tarn::preload
