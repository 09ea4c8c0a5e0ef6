#include "profiler/preload/base/memory.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/base/raw_call.hpp"

namespace tarn::preload {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constexpr std::size_t large_bytes = std::size_t{2} << 20;  // most pages of such a mapping are never touched
constinit lock taking;
constinit char* left = nullptr;
constinit std::size_t left_bytes = 0;

// Reserves addresses only; the kernel provides a page when it is touched.
constexpr std::size_t reserve_bytes = std::size_t{64} << 20, page = 4096;
constinit char* reserve = nullptr;
constinit std::atomic<std::size_t> reserve_used = 0;

void* map_from_reserve(std::size_t bytes) noexcept {
  bytes = (bytes + page - 1) / page * page;
  const std::size_t offset = reserve_used.fetch_add(bytes, std::memory_order_relaxed);
  return reserve == nullptr || bytes > reserve_bytes || offset > reserve_bytes - bytes ? nullptr : reserve + offset;
}

// Holds the few ranges that exist before the region is mapped.
constexpr std::size_t few_ranges = 16;
constinit format::own_range early_ranges[few_ranges] = {};
constinit format::own_range* ranges = early_ranges;
constinit std::size_t max_ranges = few_ranges;
constinit lock noting;

// Each entry is changed under the lock. `tarn record` may read one that is half changed: then it takes some pages of
// this moment for the program's.
void set(format::own_range& range, std::uint64_t start, std::uint64_t bytes) noexcept {
  range.start.store(start, std::memory_order_relaxed);
  range.bytes.store(bytes, std::memory_order_relaxed);
}

// A signal's handler maps memory too, and may have interrupted this thread here. It does not wait for the lock: the
// range is then not told apart from the program's.
class noting_if_free {
 public:
  noting_if_free() noexcept : is_held_(noting.try_acquire()) {}
  noting_if_free(const noting_if_free&) = delete;
  noting_if_free& operator=(const noting_if_free&) = delete;
  ~noting_if_free() {
    if (is_held_) noting.release();
  }
  explicit operator bool() const noexcept { return is_held_; }

 private:
  bool is_held_;
};

void note_range(std::uint64_t start, std::uint64_t bytes) noexcept {
  const noting_if_free guard;
  if (!guard) return;
  format::own_range* unused = nullptr;
  for (std::size_t index = 0; index < max_ranges; ++index) {
    format::own_range& range = ranges[index];
    const std::uint64_t range_start = range.start.load(std::memory_order_relaxed);
    const std::uint64_t range_bytes = range.bytes.load(std::memory_order_relaxed);
    if (range_bytes == 0) {
      if (unused == nullptr) unused = &range;
    } else if (start + bytes == range_start) {  // the kernel mostly maps below what it mapped last
      return set(range, start, range_bytes + bytes);
    } else if (range_start + range_bytes == start) {
      return set(range, range_start, range_bytes + bytes);
    }
  }
  if (unused != nullptr) set(*unused, start, bytes);
}

// Forgets addresses that are a range, or one end of it. Those in the middle of a range stay.
void forget_range(std::uint64_t start, std::uint64_t bytes) noexcept {
  const noting_if_free guard;
  if (!guard) return;
  for (std::size_t index = 0; index < max_ranges; ++index) {
    format::own_range& range = ranges[index];
    const std::uint64_t range_start = range.start.load(std::memory_order_relaxed);
    const std::uint64_t range_bytes = range.bytes.load(std::memory_order_relaxed);
    if (range_bytes < bytes) continue;
    if (range_start == start) return set(range, start + bytes, range_bytes - bytes);
    if (range_start + range_bytes == start + bytes) return set(range, range_start, range_bytes - bytes);
  }
}

// Returns true after mlockall(MCL_FUTURE): the kernel locks each new mapping, and refuses this call for locked pages.
bool locks_new_mappings() noexcept {
  const long probe = raw_call(SYS_mmap, nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (is_error(probe)) return true;  // perhaps for the limit of locked memory
  const bool is_locked = raw_call(SYS_madvise, probe, page, MADV_DONTNEED) == -EINVAL;
  raw_call(SYS_munmap, probe, page);
  return is_locked;
}

}  // namespace

long map_sparsely(std::size_t bytes, int flags, long file) noexcept {
  constexpr int access = PROT_READ | PROT_WRITE;
  const bool is_locked = locks_new_mappings();
  long start = raw_call(SYS_mmap, nullptr, is_locked ? page : bytes, access, flags | MAP_NORESERVE, file, 0);
  if (is_locked && !is_error(start)) {  // a mapping that is not locked grows by pages that are not
    raw_call(SYS_munlock, start, page);
    const long small = std::exchange(start, raw_call(SYS_mremap, start, page, bytes, MREMAP_MAYMOVE));
    if (is_error(start)) raw_call(SYS_munmap, small, page);
  }
  // The kernel would write all pages into a core file, also those that were never touched.
  if (!is_error(start)) own_call(SYS_madvise, start, bytes, MADV_DONTDUMP);
  return start;
}

constinit std::atomic<bool> process_is_restricted = false;

void note_ranges_in(format::own_range* list) noexcept {
  if (list == ranges) return;
  const holding guard(noting);
  for (std::size_t index = 0; index < format::max_own_ranges; ++index) {
    const bool is_early = index < few_ranges;
    const std::uint64_t bytes = is_early ? early_ranges[index].bytes.load(std::memory_order_relaxed) : 0;
    // A page of the list that holds nothing is not touched.
    if (bytes == 0 && list[index].bytes.load(std::memory_order_relaxed) == 0) continue;
    set(list[index], is_early ? early_ranges[index].start.load(std::memory_order_relaxed) : 0, bytes);
  }
  ranges = list;
  max_ranges = format::max_own_ranges;
}

void* map(std::size_t bytes) noexcept {
  if (is_restricted()) return map_from_reserve(bytes);
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const long address = bytes >= large_bytes ? map_sparsely(bytes, flags, -1)
                                            : raw_call(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (is_error(address)) return nullptr;
  note_range(static_cast<std::uint64_t>(address), bytes);
  return reinterpret_cast<void*>(address);
}

void unmap(void* start, std::size_t bytes) noexcept {
  if (start == nullptr) return;
  forget_range(reinterpret_cast<std::uintptr_t>(start), bytes);
  own_call(SYS_munmap, start, bytes);
}

void set_memory_aside() noexcept {
  if (reserve == nullptr) reserve = static_cast<char*>(map(reserve_bytes));
}

void* take(std::size_t bytes) noexcept {
  bytes = (bytes + 15) / 16 * 16;
  if (bytes > piece_bytes / 4) return map(bytes);
  const holding guard(taking);
  if (left_bytes < bytes) {
    left = static_cast<char*>(map(piece_bytes));
    left_bytes = left == nullptr ? 0 : piece_bytes;
    if (left == nullptr) return nullptr;
  }
  void* const block = left;
  left += bytes;
  left_bytes -= bytes;
  return block;
}

void begin_memory_anew() noexcept {
  taking.begin_anew();
  noting.begin_anew();
  left = nullptr;
  left_bytes = 0;
  ranges = early_ranges;  // the others are in the region of the parent
  max_ranges = few_ranges;
}

}  // namespace tarn::preload
