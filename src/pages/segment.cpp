#include "pages/segment.hpp"

#include <new>

#include "platform/platform.hpp"

namespace tarn::pages {

segment* segment::create(std::size_t units, std::size_t alignment) noexcept {
  TARN_CHECK(units <= most_units && record_units(units) < units);
  void* const mapping = page_map::map(units * unit_bytes, alignment);
  if (mapping == nullptr) {
    return nullptr;
  }
  segment* const made = ::new (mapping) segment{};
  made->start = static_cast<char*>(mapping);
  made->units = units;
  made->first_unit = record_units(units);
  made->free_units = units - made->first_unit;
  made->free.insert(made->first_unit, made->free_units);
  return made;
}

void segment::destroy() noexcept {
  detail::mark_allocated(start, bytes());  // for AddressSanitizer: whoever maps here next
  page_map::clear(address(first_unit), units - first_unit);
  platform::unmap(start, bytes());
}

// The units are in neither set of dirty ones any more; returns how many were.
std::size_t segment::clean_up(std::size_t unit, std::size_t count) noexcept {
  const std::size_t were = fresh.count(unit, count) + stale.count(unit, count);
  fresh.erase(unit, count);
  stale.erase(unit, count);
  dirty_units -= were;
  return were;
}

slab* segment::take(std::size_t count, std::size_t alignment) noexcept {
  if (count > free_units) {
    return nullptr;
  }
  std::size_t unit = free.next_member(first_unit);
  while (unit < units) {
    if (alignment > unit_bytes) {
      unit = unit_of(base::align_up(address(unit), alignment));
      if (unit >= units) {
        break;
      }
    }
    const std::size_t gap = free.next_gap(unit);
    if (gap < unit + count) {
      unit = free.next_member(gap);
      continue;
    }
    free.erase(unit, count);
    slab* const run = description(unit);
    run->zeroed = clean_up(unit, count) == 0;
    free_units -= count;
    run->start = address(unit);
    run->home = this;
    run->units = static_cast<std::uint32_t>(count);
    run->previous = run->next = nullptr;
    return run;
  }
  return nullptr;
}

bool segment::extend(slab& run, std::size_t count) noexcept {
  const std::size_t unit = unit_of(run.start) + run.units;
  if (unit + count > units || !free.contains_all(unit, count)) {
    return false;
  }
  free.erase(unit, count);
  clean_up(unit, count);
  free_units -= count;
  run.units += static_cast<std::uint32_t>(count);
  return true;
}

void segment::give(slab& run, std::size_t from, bool clean) noexcept {
  const std::size_t unit = unit_of(run.start) + from;
  const std::size_t count = run.units - from;
  TARN_CHECK(!free.contains_any(unit, count));
  page_map::retire(address(unit), count);
  detail::mark_allocated(address(unit), count * unit_bytes);
  run.units = static_cast<std::uint32_t>(from);
  free.insert(unit, count);
  if (!clean) {
    fresh.insert(unit, count);
    dirty_units += count;
  }
  free_units += count;
}

void segment::reset() noexcept {
  page_map::retire(address(first_unit), units - first_unit);
  detail::mark_allocated(address(first_unit), (units - first_unit) * unit_bytes);
  std::size_t unit = first_unit;
  while (unit < units) {  // what was in use is now fresh
    const std::size_t used = free.next_gap(unit);
    if (used >= units) {
      break;
    }
    const std::size_t end = free.next_member(used);
    fresh.insert(used, (end < units ? end : units) - used);
    dirty_units += (end < units ? end : units) - used;
    unit = end;
  }
  free_units = units - first_unit;
  free.insert(first_unit, free_units);
}

bool segment::is_valid() const noexcept {
  if (free.size() != free_units || free_units > units - first_unit) {
    return false;
  }
  if (fresh.size() + stale.size() != dirty_units) {
    return false;
  }
  for (std::size_t unit = 0; unit < most_units; ++unit) {
    const bool is_free = free.contains_any(unit, 1);
    if (!is_free && (fresh.contains_any(unit, 1) || stale.contains_any(unit, 1))) {
      return false;
    }
    if (is_free && (unit < first_unit || unit >= units)) {
      return false;
    }
    if (is_free && detail::key_of(address(unit)) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace tarn::pages
