#include "profiler/preload/quiet.hpp"

#include <array>
#include <cstring>

#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/windows.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

namespace tarn::preload {

constinit thread_local std::uint32_t current_region = 0;

namespace {

// Holds the value that region_now had outside each region that the thread is in. Violations in deeper regions count
// for the last of these.
struct nested {
  std::uint32_t depth = 0;
  std::array<std::uint32_t, 8> outer_regions = {};
};
constinit thread_local nested regions = {};

constexpr std::size_t longest_name = 200;

// Regions with the same name count as one. A number is looked up without the lock, because an entry is complete before
// the count includes it.
constinit lock adding;
constinit std::array<const format::quiet_record*, format::max_quiet_regions> region_records = {};

bool is_named(const format::quiet_record& region, const char* name, std::size_t bytes) noexcept {
  return region.name_bytes == bytes && region.image == image() && std::memcmp(&region + 1, name, bytes) == 0;
}

std::uint32_t find(const char* name, std::size_t bytes, std::uint32_t first, std::uint32_t last) noexcept {
  for (std::uint32_t index = first; index < last; ++index) {
    if (region_records[index] != nullptr && is_named(*region_records[index], name, bytes)) return index;
  }
  return last;
}

format::quiet_record* record_of(std::uint32_t number) noexcept {
  return record_at<format::quiet_record>(header().quiet_at[number].load(std::memory_order_relaxed));
}

// Returns `max_quiet_regions` when there is no room for another region.
std::uint32_t number_of(const char* name) noexcept {
  const std::size_t bytes = ::strnlen(name, longest_name);
  const std::uint32_t count = header().quiet_regions.load(std::memory_order_acquire);
  if (const std::uint32_t match = find(name, bytes, 0, count); match != count) return match;
  const holding guard(adding);
  const std::uint32_t now = header().quiet_regions.load(std::memory_order_relaxed);
  if (const std::uint32_t match = find(name, bytes, count, now); match != now) return match;
  if (now == format::max_quiet_regions) return now;
  const format::offset offset = hand_out(sizeof(format::quiet_record) + bytes);
  if (offset == 0) return format::max_quiet_regions;
  auto& record = *record_at<format::quiet_record>(offset);
  record.image = image();
  record.name_bytes = static_cast<std::uint32_t>(bytes);
  std::memcpy(reinterpret_cast<char*>(&record + 1), name, bytes);
  region_records[now] = &record;
  header().quiet_at[now].store(offset, std::memory_order_release);
  header().quiet_regions.store(now + 1, std::memory_order_release);  // release: a reader that counts it finds it
  return now;
}

}  // namespace

void count_violation(thread& self, format::violation_counter counter, std::uint32_t site) noexcept {
  if (format::violation_cell* const cell = self.violation_cell_of(site, current_region - 1)) {
    add(cell->value[counter], 1);
  } else {
    self.count_dropped();
  }
}

void count_heap_violation(const caller& caller) noexcept {
  if (!records()) return;
  entry guard;
  if (guard) count_violation(guard.self(), format::heap_calls, site_from(guard.self(), caller));
}

void leave_all_regions() noexcept {
  regions = {};
  current_region = 0;
}

void begin_regions_anew() noexcept {
  adding.begin_anew();
  region_records = {};
  leave_all_regions();
}

}  // namespace tarn::preload

using namespace tarn::preload;

extern "C" {

TARN_EXPORT void tarn_recorder_quiet_begin(const char* name) noexcept {
  if (!records_anything()) return;
  entry guard;
  if (!guard) return;
  const std::uint32_t depth = regions.depth++;
  if (depth >= regions.outer_regions.size()) return;
  regions.outer_regions[depth] = current_region;
  const std::uint32_t number = number_of(name);
  if (number == tarn::format::max_quiet_regions) return guard.self().count_dropped();
  record_of(number)->entered.fetch_add(1, std::memory_order_relaxed);
  if (current_region == 0) {
    enter_slow_path();
    hold_window();
  }
  current_region = number + 1;
}

TARN_EXPORT void tarn_recorder_quiet_end() noexcept {
  if (regions.depth == 0 || !records_anything()) return;
  const std::uint32_t depth = --regions.depth;
  if (depth >= regions.outer_regions.size()) return;
  if (current_region != 0 && regions.outer_regions[depth] == 0) {
    leave_slow_path();
    release_window();
  }
  current_region = regions.outer_regions[depth];
}

}  // extern "C"
