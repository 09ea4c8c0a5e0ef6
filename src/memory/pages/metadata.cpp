#include "memory/pages/metadata.hpp"

#include "base/bits.hpp"
#include "base/check.hpp"
#include "platform/platform.hpp"

namespace tarn::pages {
namespace {

using namespace base::units;

/// Each region is twice as large as the one before: a small process does not need much address space, and a large one
/// does not need many regions.
constexpr std::size_t first_region_bytes = 4_MiB;
constexpr std::size_t last_region_bytes = 1_GiB;
/// Under a limit on address space (ulimit -v) a region takes at most this part of the limit, but not less than this
/// size, and its guards are single pages, so that blocks get the rest.
constexpr std::size_t parts_of_limit = 256;
constexpr std::size_t min_region_bytes = 256_KiB;
/// The region becomes writable in steps of this size.
constexpr std::size_t step_bytes = 256_KiB;

constinit platform::mutex mutex{platform::lock_rank::metadata};
constinit char* next = nullptr;
constinit char* writable_end = nullptr;
constinit char* region_end = nullptr;  ///< the upper guard lies behind it

/// Small records lie in blocks of their own. Between records that begin with a page, each would take a page.
constexpr std::size_t max_small_bytes = 1_KiB;
constexpr std::size_t small_block_bytes = 16_KiB;
constinit char* next_small = nullptr;
constinit char* small_end = nullptr;

constinit std::size_t next_region_bytes = first_region_bytes;
constinit std::size_t committed = 0;

bool start_region(std::size_t min_bytes) noexcept {
  const std::size_t limit = platform::address_space_limit();
  const std::size_t guard = limit == 0 ? platform::guard_bytes : platform::page_bytes();
  const std::size_t needed = base::align_up(min_bytes, guard) + 2 * guard;
  std::size_t bytes = next_region_bytes;
  if (limit != 0 && limit / parts_of_limit < bytes) bytes = base::align_up(limit / parts_of_limit, min_region_bytes);
  bytes = bytes < needed ? needed : bytes;
  char* start = static_cast<char*>(platform::reserve(bytes));
  if (start == nullptr) {  // address space is short: reserve no more than needed
    bytes = needed;
    start = static_cast<char*>(platform::reserve(bytes));
    if (start == nullptr) return false;
  } else if (next_region_bytes < last_region_bytes) {
    next_region_bytes *= 2;
  }
  next = writable_end = start + guard;
  region_end = start + bytes - guard;
  return true;
}

// Makes the region writable up to `end` at least. Returns false when the system refuses.
bool open_until(const char* end) noexcept {
  if (end <= writable_end) return true;
  const auto missing = static_cast<std::size_t>(end - writable_end);
  const auto left = static_cast<std::size_t>(region_end - writable_end);
  const std::size_t step = base::align_up(missing, step_bytes);
  const std::size_t opened = step < left ? step : left;
  if (!platform::make_writable(writable_end, opened)) return false;
  writable_end += opened;
  committed += opened;
  return true;
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  char* start = base::align_up(next, alignment);
  if (next == nullptr || bytes > static_cast<std::size_t>(region_end - start)) {
    if (!start_region(bytes)) return nullptr;
    start = next;
  }
  if (!open_until(start + bytes)) return nullptr;
  next = start + bytes;
  return start;
}

// Without room for a block, the record may fit alone.
void* take_small(std::size_t bytes, std::size_t alignment) noexcept {
  char* start = base::align_up(next_small, alignment);
  if (next_small == nullptr || start > small_end || bytes > static_cast<std::size_t>(small_end - start)) {
    start = static_cast<char*>(take(small_block_bytes, platform::page_bytes()));
    if (start == nullptr) return take(bytes, alignment);
    small_end = start + small_block_bytes;
  }
  next_small = start + bytes;
  return start;
}

}  // namespace

void* metadata::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  TARN_CHECK(bytes <= max_bytes && base::is_power_of_two(alignment));
  const platform::locked hold(mutex);
  return bytes <= max_small_bytes && alignment <= bytes ? take_small(bytes, alignment) : take(bytes, alignment);
}

void metadata::prepare(std::size_t bytes) noexcept {
  const platform::locked hold(mutex);
  if (next != nullptr && bytes <= static_cast<std::size_t>(region_end - next)) {
    (void)open_until(next + bytes);  // allocate() reports a failure
  }
}

std::size_t metadata::committed_bytes() noexcept {
  const platform::locked hold(mutex);
  return committed;
}

platform::mutex& metadata::lock() noexcept { return mutex; }

}  // namespace tarn::pages
