#include "platform/mapping.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.hpp"
#include "platform/platform.hpp"
#include "platform/random.hpp"

namespace tarn::platform::mapping {
namespace {

/// Reserved addresses lie at most so many bytes below the kernel's other mappings. A larger distance could leave the
/// part of the address space that sanitizers know.
constexpr std::size_t max_distance = std::size_t{64} << 30;

/// A process may have 65,530 mappings by default (vm.max_map_count). A mapping between guards counts twice, because
/// neighbours share a guard. Beyond this number of mappings, guards are accessible, so that the kernel merges
/// neighbours, and half of the limit is left for the program.
constexpr std::size_t max_guarded = 16'384;

constexpr int anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

char* map_inaccessible(call_counters& counters, std::size_t bytes, void* wish) noexcept {
  call_counters::count(counters.mmap);
  void* const start = mmap(wish, bytes, PROT_NONE, anonymous, -1, 0);
  return start == MAP_FAILED ? nullptr : static_cast<char*>(start);
}

void unmap_range(call_counters& counters, char* start, char* end) noexcept {
  if (start != end) {
    call_counters::count(counters.munmap);
    munmap(start, static_cast<std::size_t>(end - start));
  }
}

bool protect(call_counters& counters, void* start, std::size_t bytes) noexcept {
  call_counters::count(counters.mprotect);
  return mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
}

// Returns false if the system refuses `bytes` of memory, which a limit on data (RLIMIT_DATA) does only once the memory
// is accessible. This finds it out with one call instead of four.
bool may_access_more(call_counters& counters, std::size_t bytes) noexcept {
  call_counters::count(counters.mmap);
  void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, anonymous, -1, 0);
  if (start == MAP_FAILED) return false;
  unmap_range(counters, static_cast<char*>(start), static_cast<char*>(start) + bytes);
  return true;
}

// The last mapping was refused because it could not be made accessible.
constinit std::atomic<bool> was_access_refused{false};

// Maps inaccessible address space for `bytes` at `alignment` and its guards. Returns the start of the lower guard.
char* map_with_guards(call_counters& counters, std::size_t bytes, std::size_t alignment, void* wish) noexcept {
  const std::size_t slack = alignment - page_bytes();
  if (bytes > SIZE_MAX / 2 || slack > SIZE_MAX / 4) return nullptr;
  const std::size_t whole = bytes + 2 * guard_bytes;
  if (alignment <= guard_bytes) {  // mappings of such sizes keep each other aligned
    char* const start = map_inaccessible(counters, whole, wish);
    if (start == nullptr || base::is_aligned(start + guard_bytes, alignment)) return start;
    unmap_range(counters, start, start + whole);
  }
  char* const start = map_inaccessible(counters, whole + slack, wish);
  if (start == nullptr) return nullptr;
  char* const aligned_start = base::align_up(start + guard_bytes, alignment) - guard_bytes;
  unmap_range(counters, start, aligned_start);
  unmap_range(counters, aligned_start + whole, start + whole + slack);
  return aligned_start;
}

// relaxed: a count that is a little too high or low changes nothing.
void mapping_is_gone(call_counters& counters) noexcept { counters.mappings.fetch_sub(1, std::memory_order_relaxed); }

// Unmaps the two guards of a mapping that is gone already. They are unmapped separately, because another thread may
// have mapped something between them.
void unmap_guards(call_counters& counters, char* start, std::size_t bytes) noexcept {
  unmap_range(counters, start - guard_bytes, start);
  unmap_range(counters, start + bytes, start + bytes + guard_bytes);
}

}  // namespace

void* make(call_counters& counters, std::size_t bytes, std::size_t alignment, void* wish) noexcept {
  // relaxed: a call too many or too few changes nothing.
  if (was_access_refused.load(std::memory_order_relaxed)) {
    if (!may_access_more(counters, bytes)) return nullptr;
    was_access_refused.store(false, std::memory_order_relaxed);
  }
  char* const outer = map_with_guards(counters, bytes, alignment, wish);
  if (outer == nullptr) return nullptr;
  // If the process has as many mappings as the kernel allows, a mapping cannot be split into three, but one without
  // guards can still be made.
  const bool is_guarded = counters.mappings.fetch_add(1, std::memory_order_relaxed) < max_guarded;
  if ((is_guarded && protect(counters, outer + guard_bytes, bytes)) ||
      protect(counters, outer, bytes + 2 * guard_bytes)) {
    return outer + guard_bytes;
  }
  was_access_refused.store(true, std::memory_order_relaxed);
  mapping_is_gone(counters);
  unmap_range(counters, outer, outer + bytes + 2 * guard_bytes);
  return nullptr;
}

void destroy(call_counters& counters, void* start, std::size_t bytes) noexcept {
  char* const first = static_cast<char*>(start);
  mapping_is_gone(counters);
  unmap_range(counters, first - guard_bytes, first + bytes + guard_bytes);
}

namespace {

// Gives up the target of a move that failed. If mappings ran out (ENOMEM), the kernel has not unmapped the target yet,
// and this does. In any other case it has, and another thread may have mapped something there.
void give_up_target(call_counters& counters, void* target, std::size_t bytes, int error) noexcept {
  if (error == ENOMEM) {
    destroy(counters, target, bytes);
  } else {
    unmap_guards(counters, static_cast<char*>(target), bytes);
    mapping_is_gone(counters);
  }
}

// Returns whether the addresses that pages leave by MREMAP_DONTUNMAP stay mapped. Kernels before 5.7 refuse the flag.
// QEMU's emulation of a process accepts it, but then treats the addresses as unused, and maps other memory there. A
// system call that writes to them then fails (EFAULT), which one page finds out, once.
bool keeps_addresses_of_moved_pages(call_counters& counters) noexcept {
  enum answer : unsigned char { unknown, yes, no };
  static constinit std::atomic<answer> known_answer{unknown};
  // relaxed: each thread that still reads `unknown` finds the same answer.
  const answer earlier = known_answer.load(std::memory_order_relaxed);
  if (earlier != unknown) return earlier == yes;
  // The page lies between inaccessible ones, so that it does not join a mapping of the program.
  const std::size_t bytes = page_bytes();
  char* const outer = map_inaccessible(counters, 3 * bytes, nullptr);
  if (outer == nullptr) return false;
  char* const page = outer + bytes;
  void* moved = MAP_FAILED;
  if (protect(counters, page, bytes)) {
    call_counters::count(counters.mremap);
    moved = mremap(page, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr);
  }
  if (moved == MAP_FAILED) {
    unmap_range(counters, outer, outer + 3 * bytes);
    return false;
  }
  unmap_range(counters, static_cast<char*>(moved), static_cast<char*>(moved) + bytes);
  // The engine makes this call anyway, so a filter of system calls that lets the engine work knows it.
  const bool is_lost = syscall(SYS_getrandom, page, std::size_t{1}, GRND_NONBLOCK) < 0 && errno == EFAULT;
  known_answer.store(is_lost ? no : yes, std::memory_order_relaxed);
  // Another thread may have mapped something at a lost page.
  unmap_range(counters, outer, is_lost ? page : page + bytes);
  unmap_range(counters, page + bytes, page + 2 * bytes);
  return !is_lost;
}

}  // namespace

bool resize(call_counters& counters, void* start, std::size_t old_bytes, std::size_t new_bytes) noexcept {
  char* const old_end = static_cast<char*>(start) + old_bytes;
  char* const new_end = static_cast<char*>(start) + new_bytes;
  if (new_bytes > old_bytes) {
    // The guard grows, and then its lower part becomes usable. So the addresses are never free, and no other thread can
    // map something there.
    call_counters::count(counters.mremap);
    const std::size_t growth = new_bytes - old_bytes;
    if (mremap(old_end, guard_bytes, guard_bytes + growth, 0) == MAP_FAILED) return false;
    if (!protect(counters, old_end, growth)) {
      unmap_range(counters, old_end + guard_bytes, new_end + guard_bytes);
      return false;
    }
    return true;
  }
  // Maps a new guard over the first bytes that are cut off, which also drops their pages.
  call_counters::count(counters.mmap);
  if (mmap(new_end, guard_bytes, PROT_NONE, anonymous | MAP_FIXED, -1, 0) == MAP_FAILED) return false;
  if (new_end + guard_bytes < old_end + guard_bytes) {
    unmap_range(counters, new_end + guard_bytes, old_end + guard_bytes);
  }
  return true;
}

bool move(call_counters& counters, void* start, std::size_t bytes, void* target, std::size_t target_bytes) noexcept {
  call_counters::count(counters.mremap);
  if (mremap(start, bytes, target_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target) == MAP_FAILED) {
    give_up_target(counters, target, target_bytes, errno);
    return false;
  }
  unmap_guards(counters, static_cast<char*>(start), bytes);
  mapping_is_gone(counters);
  return true;
}

// Moves pages to `target` in two steps. MREMAP_DONTUNMAP cannot grow a mapping, and moved pages would not merge with
// the rest of `target`; but only a single mapping can be moved again. If the kernel refuses the first step, nothing has
// changed.
bool move_part(call_counters& counters, void* start, std::size_t bytes, void* target,
               std::size_t target_bytes) noexcept {
  // MREMAP_DONTUNMAP would unlock the whole mapping to which a locked part belongs. The kernel refuses this advice for
  // locked memory.
  void* temporary = MAP_FAILED;
  call_counters::count(counters.madvise);
  if (madvise(start, page_bytes(), MADV_COLD) == 0 && keeps_addresses_of_moved_pages(counters)) {
    call_counters::count(counters.mremap);
    temporary = mremap(start, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr);
  }
  if (temporary == MAP_FAILED) {
    destroy(counters, target, target_bytes);
    return false;
  }
  call_counters::count(counters.mremap);
  if (mremap(temporary, bytes, target_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target) != MAP_FAILED) return true;
  const int error = errno;
  std::memcpy(start, temporary, bytes);
  unmap_range(counters, static_cast<char*>(temporary), static_cast<char*>(temporary) + bytes);
  give_up_target(counters, target, target_bytes, error);
  return false;
}

void* reserve(call_counters& counters, std::size_t bytes) noexcept {
  char* const usual = map_inaccessible(counters, bytes, nullptr);
  if (usual == nullptr) return nullptr;
  const std::uintptr_t distance = (1 + random_number() % (max_distance / page_bytes())) * page_bytes();
  const auto address = reinterpret_cast<std::uintptr_t>(usual);
  if (distance >= address) return usual;
  char* const distant = map_inaccessible(counters, bytes, reinterpret_cast<void*>(address - distance));
  if (distant == nullptr) {
    return usual;  // a limit on address space
  }
  unmap_range(counters, usual, usual + bytes);
  return distant;
}

bool open(call_counters& counters, void* start, std::size_t bytes) noexcept { return protect(counters, start, bytes); }

bool close(call_counters& counters, void* start, std::size_t bytes) noexcept {
  call_counters::count(counters.mmap);
  return mmap(start, bytes, PROT_NONE, anonymous | MAP_FIXED, -1, 0) != MAP_FAILED;
}

}  // namespace tarn::platform::mapping
