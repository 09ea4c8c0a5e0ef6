#include "profiler/preload/records/lock_table.hpp"

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/records/region.hpp"

namespace tarn::preload {
namespace {

// A table with open addressing. An address is never removed, because a lock that ends is mostly followed by another
// one at the same address. An entry is written under `table_lock` and published by its address.
constexpr std::size_t entry_count = std::size_t{format::max_locks} * 2;
constinit lock table_lock;
constinit std::atomic<lock_entry*> table = nullptr;
constinit std::size_t used_entries = 0;
constinit std::atomic<bool> is_full = false;  // no further address gets an entry with a number
constinit lock_entry excess_entry = {};       // shared by the locks beyond the limit

std::size_t home_of(const void* address) noexcept {
  return (reinterpret_cast<std::uintptr_t>(address) >> 3) * 0x9e3779b97f4a7c15ULL >> 47;
}
static_assert(std::size_t{1} << (64 - 47) == entry_count);

lock_entry* make_entries() noexcept {
  lock_entry* table_entries = table.load(std::memory_order_acquire);
  if (table_entries != nullptr) return table_entries;
  const holding guard(table_lock);
  table_entries = table.load(std::memory_order_relaxed);
  if (table_entries == nullptr) table_entries = static_cast<lock_entry*>(map(entry_count * sizeof(lock_entry)));
  table.store(table_entries, std::memory_order_release);  // release: a thread that sees the table sees it empty
  return table_entries;
}

// Returns the entry of the address, or the free entry where it belongs.
lock_entry& slot_of(lock_entry* table_entries, const void* address) noexcept {
  std::size_t index = home_of(address);
  for (;; index = (index + 1) % entry_count) {
    const void* const stored = table_entries[index].address.load(std::memory_order_acquire);
    if (stored == address || stored == nullptr) return table_entries[index];
  }
}

// Returns true for a lock that its program has declared to be one of several processes.
bool is_process_shared(const void* address, format::lock_type type) noexcept {
  constexpr int shared_mutex = 128;  // the C library's flag in the kind of a mutex
  struct semaphore {                 // as the C library has it
    std::uint64_t value;
    int is_shared;
  };
  switch (type) {
    case format::lock_type::mutex:
      return (static_cast<const pthread_mutex_t*>(address)->__data.__kind & shared_mutex) != 0;
    case format::lock_type::reader_writer: return static_cast<const pthread_rwlock_t*>(address)->__data.__shared != 0;
    case format::lock_type::semaphore: return static_cast<const semaphore*>(address)->is_shared != 0;
    default: return false;
  }
}

// The record for all locks of a type and a first site has an entry at an address that no lock can have: the processor
// allows none that begins with a bit 1 in the program.
constexpr std::uintptr_t sum_mark = std::uintptr_t{1} << 63;
const void* sum_address(format::lock_type type, std::uint32_t site) noexcept {
  return reinterpret_cast<const void*>(sum_mark | std::uintptr_t{site} << 6 | static_cast<std::uintptr_t>(type) << 3);
}
bool is_sum(const void* address) noexcept { return (reinterpret_cast<std::uintptr_t>(address) & sum_mark) != 0; }

format::lock_record& record_of(std::uint32_t number) noexcept {
  return *record_at<format::lock_record>(header().lock_at[number].load(std::memory_order_acquire));
}

// Returns the number of an earlier lock at the address that was first used at the same site; 0 when there is none.
// Where libraries or objects take turns at an address, their locks do so, too.
std::uint32_t former_number(std::uint32_t newest_number, format::lock_type type, std::uint32_t site) noexcept {
  constexpr int max_looks = 8;
  std::uint32_t number = newest_number;
  for (int looks = 0; number != 0 && looks < max_looks; ++looks) {
    const format::lock_record& record = record_of(number);
    if (record.site == site && record.type == static_cast<std::uint32_t>(type)) return number;
    number = record.predecessor;
  }
  return 0;
}

// Gives the lock a number and a record in the region. The caller holds `table_lock`. Returns 0 when there is no room.
std::uint32_t note(const void* address, format::lock_type type, std::uint32_t site,
                   std::uint32_t predecessor) noexcept {
  std::uint32_t number = header().locks.load(std::memory_order_relaxed);
  if (number == 0) number = 1;  // 0 is no lock's number
  if (number >= format::max_locks) return 0;
  const format::offset offset = hand_out(sizeof(format::lock_record));
  if (offset == 0) return 0;
  auto& record = *record_at<format::lock_record>(offset);
  record.image = image();
  record.type = static_cast<std::uint32_t>(type);
  record.site = site;
  record.predecessor = predecessor;
  if (!is_sum(address)) {
    record.is_process_shared = is_process_shared(address, type) ? 1 : 0;
    record.address = reinterpret_cast<std::uintptr_t>(address);
  }
  header().lock_at[number].store(offset, std::memory_order_release);
  header().locks.store(number + 1, std::memory_order_release);
  return number;
}

// The caller holds `table_lock`.
lock_entry& begin(lock_entry* table_entries, const void* address, format::lock_type type, std::uint32_t site) noexcept {
  lock_entry& entry = slot_of(table_entries, address);
  const bool is_new = entry.address.load(std::memory_order_relaxed) == nullptr;
  const bool has_type = entry.type.load(std::memory_order_relaxed) == type;
  if (!is_new && has_type && entry.number.load(std::memory_order_relaxed) != 0) return entry;
  if (is_new && used_entries >= entry_count / 4 * 3) is_full.store(true, std::memory_order_relaxed);
  if (is_new && is_full.load(std::memory_order_relaxed)) return excess_entry;
  const std::uint32_t newest_number = is_new ? 0 : entry.newest_number;
  std::uint32_t number = former_number(newest_number, type, site);
  const bool is_noted = number != 0;
  if (!is_noted) number = note(address, type, site, newest_number);
  if (number == 0) {
    is_full.store(true, std::memory_order_relaxed);
    return excess_entry;
  }
  if (!is_noted) entry.newest_number = number;
  entry.has_places.store(false, std::memory_order_relaxed);
  entry.first_site = site;
  entry.sum_number.store(0, std::memory_order_relaxed);
  entry.type.store(type, std::memory_order_relaxed);
  if (is_new) ++used_entries;
  entry.number.store(number, std::memory_order_relaxed);
  entry.address.store(address, std::memory_order_release);  // release: a thread that finds the entry finds its number
  return entry;
}

[[gnu::noinline]] lock_entry& begin_alone(lock_entry* table_entries, const void* address, format::lock_type type,
                                          std::uint32_t site) noexcept {
  const holding guard(table_lock);
  return begin(table_entries, address, type, site);
}

}  // namespace

lock_entry* entry_of(const void* address, format::lock_type type, std::uint32_t site) noexcept {
  lock_entry* const table_entries = make_entries();
  if (table_entries == nullptr) return nullptr;
  lock_entry& entry = slot_of(table_entries, address);
  // A lock of another type has followed one whose end was not seen, as that of a `std::mutex`.
  if (entry.number.load(std::memory_order_relaxed) != 0 && entry.type.load(std::memory_order_relaxed) == type)
      [[likely]]
    return &entry;
  const bool is_new = entry.address.load(std::memory_order_relaxed) == nullptr;
  if (is_new && is_full.load(std::memory_order_relaxed)) return &excess_entry;  // without the lock of the table
  return &begin_alone(table_entries, address, type, site);
}

bool is_excess(const lock_entry& entry) noexcept { return &entry == &excess_entry; }

std::uint32_t sum_number_of(lock_entry& entry) noexcept {
  if (is_excess(entry)) return 0;
  std::uint32_t number = entry.sum_number.load(std::memory_order_relaxed);
  if (number != 0 || is_full.load(std::memory_order_relaxed)) return number;
  const holding guard(table_lock);
  const format::lock_type type = entry.type.load(std::memory_order_relaxed);
  lock_entry& sum =
      begin(table.load(std::memory_order_relaxed), sum_address(type, entry.first_site), type, entry.first_site);
  number = sum.number.load(std::memory_order_relaxed);
  entry.sum_number.store(number, std::memory_order_relaxed);
  return number;
}

bool is_of_several(std::uint32_t number) noexcept { return number == 0 || record_of(number).address == 0; }

lock_entry* known_entry(const void* address) noexcept {
  lock_entry* const table_entries = table.load(std::memory_order_acquire);
  if (table_entries == nullptr) return nullptr;
  lock_entry& entry = slot_of(table_entries, address);
  return entry.address.load(std::memory_order_relaxed) == address ? &entry : nullptr;
}

void end_locks_in(std::uintptr_t start, std::uintptr_t end) noexcept {
  const std::uint32_t count = header().locks.load(std::memory_order_acquire);
  for (std::uint32_t number = 1; number < count; ++number) {
    const format::lock_record& record = record_of(number);
    if (record.image != image() || record.address < start || record.address >= end) continue;
    if (lock_entry* const entry = known_entry(reinterpret_cast<const void*>(record.address)))
      entry->number.store(0, std::memory_order_relaxed);
  }
}

release_log* log_of(lock_entry& entry) noexcept {
  release_log* log = entry.log.load(std::memory_order_acquire);
  if (log != nullptr) return log;
  const holding guard(table_lock);
  log = entry.log.load(std::memory_order_relaxed);
  if (log == nullptr) log = static_cast<release_log*>(take(sizeof(release_log)));
  entry.log.store(log, std::memory_order_release);  // release: a thread that sees the log sees it empty
  return log;
}

void begin_lock_table_anew() noexcept {
  table_lock.begin_anew();
  unmap(table.exchange(nullptr, std::memory_order_relaxed), entry_count * sizeof(lock_entry));
  used_entries = 0;
  is_full.store(false, std::memory_order_relaxed);
}

}  // namespace tarn::preload
