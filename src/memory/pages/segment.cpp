#include "memory/pages/segment.hpp"

#include <bit>
#include <new>

#include "memory/pages/metadata.hpp"
#include "platform/platform.hpp"

namespace tarn::pages {

namespace {

constexpr std::size_t min_record_units = 16;
/// The record of a destroyed segment keeps its pages if it has at most so many, otherwise the first one. If there are
/// many free records, it keeps none.
constexpr std::size_t max_cached_pages = 16;
constexpr std::size_t max_cached_records = 256;
constexpr std::size_t record_sizes = std::bit_width(max_units / min_record_units);

constexpr std::size_t units_of_size(std::size_t size) noexcept { return min_record_units << size; }
constexpr std::size_t size_for(std::size_t units) noexcept {
  std::size_t size = 0;
  while (units_of_size(size) < units) ++size;
  return size;
}
constexpr std::size_t record_bytes(std::size_t size) noexcept {
  return sizeof(segment) + units_of_size(size) * (sizeof(slab) + sizeof(remote_bits));
}
static_assert(record_bytes(record_sizes - 1) <= metadata::max_bytes);

constinit platform::mutex records_lock{platform::lock_rank::records};
constinit segment_record* free_records[record_sizes] = {};
constinit std::size_t free_record_count = 0;

}  // namespace

// The place of the bits depends on the record's size and not on the units, which may differ the next time.
remote_bits& segment::bits_of(std::size_t unit) noexcept {
  return reinterpret_cast<remote_bits*>(description(units_of_size(size_for(units))))[unit];
}

segment_record* segment_records::allocate(std::size_t units) noexcept {
  const std::size_t size = size_for(units);
  {
    const platform::locked hold(records_lock);
    if (segment_record* const first = free_records[size]) {
      free_records[size] = first->next_free;
      --free_record_count;
      return first;
    }
  }
  const std::size_t page = platform::page_bytes();
  void* const memory = metadata::allocate(base::align_up(record_bytes(size), page), page);
  void* const record =
      memory == nullptr ? nullptr : metadata::allocate(sizeof(segment_record), alignof(segment_record));
  return record == nullptr ? nullptr : ::new (record) segment_record{nullptr, memory};
}

void segment_records::deallocate(segment_record& record, std::size_t units) noexcept {
  const std::size_t size = size_for(units);
  const std::size_t page = platform::page_bytes();
  const std::size_t bytes = base::align_up(record_bytes(size), page);
  bool is_one_of_many = false;
  {
    const platform::locked hold(records_lock);
    is_one_of_many = free_record_count >= max_cached_records;
  }
  if (is_one_of_many) {
    platform::purge(record.memory, bytes);
  } else if (bytes > max_cached_pages * page) {  // the first page has the segment and some slabs, and is soon needed
    platform::purge(static_cast<char*>(record.memory) + page, bytes - page);
  }
  const platform::locked hold(records_lock);
  record.next_free = free_records[size];
  free_records[size] = &record;
  ++free_record_count;
}

platform::mutex& segment_records::lock() noexcept { return records_lock; }

// The mapping comes before the record. Where address space is short, larger mappings fail first, and each would leave
// a record of its size behind that the smaller segment cannot use.
segment* segment::create(std::size_t units, std::size_t alignment) noexcept {
  TARN_CHECK(units != 0 && units <= max_units);
  const std::size_t bytes = units * unit_bytes;
  void* const mapping = page_map::map(bytes, alignment, bytes);
  if (mapping == nullptr) return nullptr;
  segment_record* const record = segment_records::allocate(units);
  if (record == nullptr) {
    platform::unmap(mapping, bytes);
    return nullptr;
  }
  segment* const created = ::new (record->memory) segment{};
  created->record = record;
  created->start = static_cast<char*>(mapping);
  created->units = units;
  created->free_units = units;
  created->free.insert(0, units);
  created->longest_run = units;
  return created;
}

void segment::destroy(void (*unmap)(void*, std::size_t) noexcept) noexcept {
  detail::mark_allocated(start, bytes());  // AddressSanitizer must allow the next mapping here
  page_map::clear(start, units);
  unmap(start, bytes());
  segment_records::deallocate(*record, units);
}

std::size_t segment::clean_up(std::size_t unit, std::size_t count) noexcept {
  const std::size_t were_dirty = recently_freed.count(unit, count) + stale.count(unit, count);
  const std::size_t were_refused = refused.count(unit, count);
  recently_freed.erase(unit, count);
  stale.erase(unit, count);
  refused.erase(unit, count);
  dirty_units -= were_dirty;
  return were_dirty + were_refused;
}

// Takes free units of one run out of the free set.
void segment::take_units(std::size_t unit, std::size_t count) noexcept {
  const bool is_longest = free.next_gap(unit) - free.run_start(unit) == longest_run;
  free.erase(unit, count);
  free_units -= count;
  if (is_longest) longest_run = free.longest_run();
}

void segment::add_units(std::size_t unit, std::size_t count, bool is_clean) noexcept {
  free.insert(unit, count);
  free_units += count;
  if (!is_clean) {
    recently_freed.insert(unit, count);
    dirty_units += count;
  }
  const std::size_t run = free.next_gap(unit) - free.run_start(unit);
  longest_run = run > longest_run ? run : longest_run;
}

void segment::lend(std::size_t unit, std::size_t count) noexcept {
  clean_up(unit, count);
  take_units(unit, count);
  lent.insert(unit, count);
}

void segment::put_back(std::size_t unit, std::size_t count, bool is_clean) noexcept {
  lent.erase(unit, count);
  add_units(unit, count, is_clean);
}

void segment::put_back_refused(std::size_t unit, std::size_t count) noexcept {
  put_back(unit, count, true);
  refused.insert(unit, count);
}

void segment::retry_refused() noexcept {
  recently_freed |= refused;
  dirty_units += refused.size();
  refused.clear();
}

bool segment::put_back_all() noexcept {
  std::size_t unit = lent.next_member(0);
  const bool has_unit = unit < max_units;
  for (; unit < max_units; unit = lent.next_member(unit)) put_back(unit, lent.next_gap(unit) - unit, false);
  return has_unit;
}

slab* segment::take(std::size_t count, std::size_t alignment) noexcept {
  if (count > longest_run) return nullptr;
  std::size_t unit = free.next_member(0);
  while (unit < units) {
    if (alignment > unit_bytes) {
      unit = unit_of(base::align_up(address(unit), alignment));
      if (unit >= units) break;
    }
    const std::size_t gap = free.next_gap(unit);
    if (gap < unit + count) {
      unit = free.next_member(gap);
      continue;
    }
    take_units(unit, count);
    slab* const run = description(unit);
    run->is_zeroed = clean_up(unit, count) == 0;
    run->start = address(unit);
    run->home = this;
    run->remote_words = bits_of(unit).bits;
    run->units = static_cast<std::uint32_t>(count);
    run->previous = run->next = nullptr;
    return run;
  }
  return nullptr;
}

bool segment::extend(slab& run, std::size_t count) noexcept {
  const std::size_t unit = unit_of(run.start) + run.units;
  if (unit + count > units || !free.contains_all(unit, count)) return false;
  take_units(unit, count);
  clean_up(unit, count);
  run.units += static_cast<std::uint32_t>(count);
  return true;
}

void segment::give(slab& run, std::size_t first_unit, bool is_clean) noexcept {
  const std::size_t unit = unit_of(run.start) + first_unit;
  const std::size_t count = run.units - first_unit;
  TARN_CHECK(!free.contains_any(unit, count));
  page_map::retire(address(unit), count);
  detail::mark_allocated(address(unit), count * unit_bytes);
  run.units = static_cast<std::uint32_t>(first_unit);
  add_units(unit, count, is_clean);
}

void segment::reset() noexcept {
  page_map::retire(start, units);
  detail::mark_allocated(start, bytes());
  std::size_t unit = 0;
  while (unit < units) {  // units that were in use become recently freed
    const std::size_t used_end = free.next_gap(unit);
    if (used_end >= units) break;
    const std::size_t end = free.next_member(used_end);
    recently_freed.insert(used_end, (end < units ? end : units) - used_end);
    dirty_units += (end < units ? end : units) - used_end;
    unit = end;
  }
  free_units = units;
  free.insert(0, units);
  longest_run = free_units;
}

void segment::forget_remote_frees() noexcept {
  for (std::size_t unit = 0; unit < units; ++unit) {
    slab& run = *description(unit);
    const bool is_slab = run.start == address(unit) && run.units != 0 && run.index < detail::class_count;
    if (is_slab) run.forget_remote(words_of(run.index));
  }
}

bool segment::is_valid() const noexcept {
  if (free.size() != free_units || free_units > units) return false;
  if (recently_freed.size() + stale.size() != dirty_units || free.longest_run() != longest_run) return false;
  for (std::size_t unit = 0; unit < max_units; ++unit) {
    const bool is_free = free.contains_any(unit, 1);
    const std::size_t sets = recently_freed.count(unit, 1) + stale.count(unit, 1) + refused.count(unit, 1);
    if (sets > (is_free ? 1 : 0)) return false;
    if (is_free && (unit >= units || lent.contains_any(unit, 1))) return false;
    if (is_free && detail::key_of(address(unit)) != 0) return false;
  }
  return true;
}

}  // namespace tarn::pages
