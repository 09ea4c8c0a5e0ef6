// Implements platform.hpp on Linux.
//
// errno belongs to the caller: free() must not change it, and a failing malloc sets it once, in memory/api/. So every
// call here restores it.
#include "platform/platform.hpp"

#include <pthread.h>
#include <cerrno>

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <ctime>

#include "base/bits.hpp"
#include "base/errno_kept.hpp"
#include "platform/counters.hpp"
#include "platform/mapping.hpp"

namespace tarn::platform {
namespace {

constinit call_counters counters;

timespec time_of(std::uint32_t milliseconds) noexcept {
  return {static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds % 1000) * 1'000'000};
}

}  // namespace

std::size_t page_bytes() noexcept {
  // This is not a guarded static, which would need the C++ runtime.
  static constinit std::atomic<std::size_t> cached{0};
  std::size_t bytes = cached.load(std::memory_order_relaxed);
  if (bytes == 0) {
    bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    cached.store(bytes, std::memory_order_relaxed);
  }
  return bytes;
}

void* map(std::size_t bytes, std::size_t alignment) noexcept {
  const base::errno_kept keep;
  void* const start = mapping::make(counters, bytes, alignment, nullptr);
  if (start != nullptr) counters.mapped(bytes);
  return start;
}

void unmap(void* start, std::size_t bytes) noexcept {
  const base::errno_kept keep;
  mapping::destroy(counters, start, bytes);
  counters.unmapped(bytes);
}

bool keep_addresses(void* start, std::size_t bytes) noexcept { return make_inaccessible(start, bytes); }

void give_addresses(void* start, std::size_t bytes) noexcept {
  const base::errno_kept keep;
  mapping::destroy(counters, start, bytes);
}

bool resize(void* start, std::size_t old_bytes, std::size_t new_bytes) noexcept {
  const base::errno_kept keep;
  if (!mapping::resize(counters, start, old_bytes, new_bytes)) return false;
  counters.mapped(new_bytes);
  counters.unmapped(old_bytes);
  return true;
}

bool move(void* start, std::size_t bytes, void* target, std::size_t target_bytes) noexcept {
  const base::errno_kept keep;
  const bool was_moved = mapping::move(counters, start, bytes, target, target_bytes);
  counters.unmapped(was_moved ? bytes : target_bytes);
  return was_moved;
}

bool move_part(void* start, std::size_t bytes, void* target, std::size_t target_bytes) noexcept {
  const base::errno_kept keep;
  const bool was_moved = mapping::move_part(counters, start, bytes, target, target_bytes);
  if (!was_moved) counters.unmapped(target_bytes);
  return was_moved;
}

void* reserve(std::size_t bytes) noexcept {
  const base::errno_kept keep;
  return mapping::reserve(counters, bytes);
}

bool make_writable(void* start, std::size_t bytes) noexcept {
  const base::errno_kept keep;
  if (!mapping::open(counters, start, bytes)) return false;
  counters.mapped(bytes);
  return true;
}

bool make_inaccessible(void* start, std::size_t bytes) noexcept {
  const base::errno_kept keep;
  if (!mapping::close(counters, start, bytes)) return false;
  counters.unmapped(bytes);
  return true;
}

bool purge(void* start, std::size_t bytes) noexcept {
  const base::errno_kept keep;
  call_counters::count(counters.madvise);
  // MADV_FREE is not used: its pages stay in the resident set until the machine is short of memory, and tools show the
  // resident set as the memory of the process.
  if (madvise(start, bytes, MADV_DONTNEED) != 0) {
    return false;  // locked memory (mlockall) cannot be given back
  }
  call_counters::count(counters.purge_runs);
  call_counters::count(counters.purge_bytes, bytes);
  return true;
}

bool prefault(void* start, std::size_t bytes) noexcept {
  const base::errno_kept keep;
#ifdef MADV_POPULATE_WRITE
  call_counters::count(counters.madvise);
  if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno == ENOMEM) return false;
#endif
  // Kernels before 5.14 lack MADV_POPULATE_WRITE. Writing back the byte that was read keeps the content.
  volatile char* const bytes_of = static_cast<volatile char*>(start);
  for (std::size_t offset = 0; offset < bytes; offset += page_bytes()) bytes_of[offset] = bytes_of[offset];
  return true;
}

void advise_huge(void* start, std::size_t bytes, bool is_enabled) noexcept {
  const base::errno_kept keep;
  call_counters::count(counters.madvise);
  madvise(start, bytes, is_enabled ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

std::uint64_t now_ms() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000 + static_cast<std::uint64_t>(time.tv_nsec) / 1'000'000;
}

std::size_t address_space_limit() noexcept {
  const base::errno_kept keep;
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : 0;
}

std::uint32_t thread_number() noexcept { return static_cast<std::uint32_t>(gettid()); }

std::uintptr_t thread_token() noexcept { return static_cast<std::uintptr_t>(pthread_self()); }

void wait(const std::uint32_t* word, std::uint32_t expected) noexcept {
  const base::errno_kept keep;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void wake_one(const std::uint32_t* word) noexcept {
  const base::errno_kept keep;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void sleep_ms(std::uint32_t milliseconds) noexcept {
  const base::errno_kept keep;
  const timespec time = time_of(milliseconds);
  nanosleep(&time, nullptr);
}

void sleep_while(const std::uint32_t* word, std::uint32_t expected, std::uint32_t wanted_ms) noexcept {
  const base::errno_kept keep;
  const timespec time = time_of(wanted_ms);
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &time, nullptr, 0);
}

system_call_counts system_calls() noexcept { return counters.calls(); }
purge_counts purge_totals() noexcept { return counters.purges(); }
std::size_t mapped_bytes() noexcept { return counters.mapped_now(); }

}  // namespace tarn::platform
