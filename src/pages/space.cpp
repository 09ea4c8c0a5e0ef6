#include "pages/space.hpp"

#include <new>

#include "pages/metadata.hpp"
#include "platform/platform.hpp"

namespace tarn::pages {
namespace {

using namespace base::units;
using hold = platform::locked<platform::mutex>;

/// Larger blocks are mappings of their own.
constexpr std::size_t most_run_units = most_units / 2;
/// In one call of purge, so that the caller is not held up for long.
constexpr std::size_t most_purged_at_once = 64_MiB;
/// In one system call, while the units are nobody's.
constexpr std::size_t most_purged_units = 64;
/// In one deallocation.
constexpr std::size_t most_purged_in_excess = 16_MiB;
/// New memory so soon after an excess was purged means that too much was.
constexpr std::uint64_t regret_ms = 1000;

constinit record_pool<slab> single_slabs{platform::lock_rank::records};

constinit std::size_t process_limit = 0;
constinit std::atomic<std::size_t> process_used{0};  // kept only where there is a limit

}  // namespace

void space::limit_process(std::size_t bytes) noexcept { process_limit = bytes; }

bool space::charge(std::size_t bytes) noexcept {
  const std::size_t now = used_.load(std::memory_order_relaxed) + bytes;
  if (options_.limit != 0 && now > options_.limit) {
    return false;
  }
  if (process_limit != 0) {
    const std::size_t all = process_used.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (all > process_limit) {
      process_used.fetch_sub(bytes, std::memory_order_relaxed);
      return false;
    }
  }
  used_.store(now, std::memory_order_relaxed);
  return true;
}

void space::credit(std::size_t bytes) noexcept {
  used_.store(used_.load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
  if (process_limit != 0) {
    process_used.fetch_sub(bytes, std::memory_order_relaxed);
  }
}

void space::note_peak() noexcept {
  const std::size_t now = used_.load(std::memory_order_relaxed);
  if (now > peak_.load(std::memory_order_relaxed)) {
    peak_.store(now, std::memory_order_relaxed);
  }
}

segment* space::add_segment(std::size_t least_units, std::size_t wanted_units) noexcept {
  std::size_t units = least_units + segment::record_units(most_units);
  if (units < wanted_units) {
    units = wanted_units;
  }
  if (units > most_units) {
    units = most_units;
  }
  segment* made = segment::create(units, options_.alignment);
  // Address space may be short (ulimit -v): then a smaller one.
  while (made == nullptr && units / 2 > least_units + segment::record_units(units / 2)) {
    units /= 2;
    made = segment::create(units, unit_bytes);
  }
  if (made != nullptr) {
    if (options_.huge_wanted || options_.huge_refused) {
      platform::advise_huge(made->start, made->bytes(), options_.huge_wanted);
    }
    segments_.push_back(made);
  }
  return made;
}

slab* space::take_run(std::size_t units, std::size_t alignment) noexcept {
  for (segment* at = segments_.front(); at != nullptr; at = at->next) {
    if (slab* const run = at->take(units, alignment)) {
      if (run->zeroed && excess_purged_ms_ != 0) {
        if (platform::now_ms() - excess_purged_ms_ < regret_ms) {
          kept_dirty_ *= 2;
        }
        excess_purged_ms_ = 0;
      }
      return run;
    }
  }
  const std::size_t slack = alignment > unit_bytes ? alignment / unit_bytes : 0;
  segment* const made = add_segment(units + slack, options_.segment_units);
  return made == nullptr ? nullptr : made->take(units, alignment);
}

bool space::reserve(std::size_t bytes) noexcept {
  if (bytes > most_large_bytes) {
    return false;
  }
  const hold guard(mutex_);
  std::size_t units = base::divide_up(bytes, unit_bytes);
  while (units != 0) {
    const std::size_t here = units < most_run_units ? units : most_run_units;
    segment* const made = add_segment(here, 0);
    if (made == nullptr) {
      return false;
    }
    made->kept = true;
    const std::size_t usable = made->units - made->first_unit;
    const std::size_t touched = usable < units ? usable : units;
    if (!platform::prefault(made->address(made->first_unit), touched * unit_bytes)) {
      return false;
    }
    units -= touched;
  }
  return true;
}

slab* space::allocate_slab(detail::size_class index, std::uintptr_t owner) noexcept {
  const class_shape& shape = shapes.of[index];
  const std::size_t bytes = std::size_t{shape.units} * unit_bytes;
  const hold guard(mutex_);
  if (!charge(bytes)) {
    return nullptr;
  }
  slab* const made = take_run(shape.units, unit_bytes);
  if (made == nullptr) {
    credit(bytes);
    return nullptr;
  }
  note_peak();
  made->cut(index);
  page_map::set(made->start, made->units, owner | index, made);
  return made;
}

slab* space::allocate_large(std::size_t bytes, std::size_t alignment, std::uintptr_t owner) noexcept {
  if (bytes > most_large_bytes || alignment > most_large_bytes) {
    return nullptr;
  }
  const std::size_t units = bytes == 0 ? 1 : base::divide_up(bytes, unit_bytes);
  const hold guard(mutex_);
  if (!charge(units * unit_bytes)) {
    return nullptr;
  }
  const std::size_t slack = alignment > unit_bytes ? alignment / unit_bytes : 0;
  slab* made = nullptr;
  if (units + slack <= most_run_units) {
    made = take_run(units, alignment);
    if (made != nullptr) {
      page_map::set_large(made->start, made->units, owner, made);
    }
  }
  if (made == nullptr) {
    made = map_single(units, alignment, owner);
  }
  if (made == nullptr) {
    credit(units * unit_bytes);
    return nullptr;
  }
  note_peak();
  made->capacity = 1;
  made->free_blocks = 0;
  made->index = detail::class_count;
  made->bytes = made->units * unit_bytes;
  return made;
}

slab* space::map_single(std::size_t units, std::size_t alignment, std::uintptr_t owner) noexcept {
  void* const record = single_slabs.allocate();
  if (record == nullptr) {
    return nullptr;
  }
  const std::size_t bytes = units * unit_bytes;
  void* const start = page_map::map(bytes, alignment < unit_bytes ? unit_bytes : alignment);
  if (start == nullptr) {
    single_slabs.deallocate(record);
    return nullptr;
  }
  if (options_.huge_refused) {
    platform::advise_huge(start, bytes, false);
  }
  slab* const made = ::new (record) slab{};
  made->start = static_cast<char*>(start);
  made->units = static_cast<std::uint32_t>(units);
  made->zeroed = true;
  singles_.push_back(made);
  page_map::set_large(start, units, owner, made);
  return made;
}

bool space::resize_single(slab& block, std::size_t units) noexcept {
  const std::size_t old_bytes = block.units * unit_bytes;
  const std::size_t new_bytes = units * unit_bytes;
  if (units < block.units) {
    page_map::clear(block.start + new_bytes, block.units - units);
    platform::unmap(block.start + new_bytes, old_bytes - new_bytes);
  } else if (!page_map::cover(block.start, new_bytes) || !platform::resize(block.start, old_bytes, new_bytes)) {
    // The pages move to a new place, which is chosen (and in the window) before
    // the old one is given up.
    char* const place = static_cast<char*>(page_map::map(new_bytes, unit_bytes));
    if (place == nullptr) {
      return false;
    }
    // Cleared first: the old place may belong to somebody else at once.
    page_map::clear(block.start, block.units);
    if (!platform::move(block.start, old_bytes, place, new_bytes)) {
      return false;  // the caller enters the block in the page map again
    }
    block.start = place;
  }
  block.units = static_cast<std::uint32_t>(units);
  return true;
}

bool space::resize_large(slab* block, std::size_t bytes, std::uintptr_t owner) noexcept {
  if (bytes > most_large_bytes) {
    return false;
  }
  const std::size_t units = base::divide_up(bytes, unit_bytes);
  if (units == block->units) {
    return true;
  }
  const hold guard(mutex_);
  const std::size_t before = block->units;
  const std::size_t more = units > before ? (units - before) * unit_bytes : 0;
  if (more != 0 && !charge(more)) {
    return false;
  }
  if (block->home != nullptr) {
    if (units < before) {
      block->home->give(*block, units);
      purge_pending_.store(true, std::memory_order_relaxed);
    } else if (!block->home->extend(*block, units - before)) {
      credit(more);
      return false;
    }
  } else if (!resize_single(*block, units)) {
    page_map::set_large(block->start, before, owner, block);
    credit(more);
    return false;
  }
  note_peak();
  page_map::set_large(block->start, block->units, owner, block);
  block->bytes = block->units * unit_bytes;
  block->zeroed = false;
  if (units < before) {
    credit((before - units) * unit_bytes);
  }
  return true;
}

void space::deallocate(slab* run) noexcept {
  bool clean = false;
  if (run->home != nullptr && options_.purge == purging::at_once) {
    clean = platform::purge(run->start, run->units * unit_bytes);
  }
  const hold guard(mutex_);
  credit(run->units * unit_bytes);
  if (run->home != nullptr) {
    run->home->give(*run, 0, clean);
    purge_pending_.store(true, std::memory_order_relaxed);
    purge_excess();
    return;
  }
  page_map::retire(run->start, run->units);
  singles_.remove(run);
  platform::unmap(run->start, run->units * unit_bytes);
  single_slabs.deallocate(run);
}

// Memory that is freed in bulk goes back without waiting for somebody to come by
// later: nobody may. What a program with so much in use is likely to need again is
// kept; where that guess was wrong (take_run had to touch new memory soon after), the
// next guess is twice as large.
void space::purge_excess() noexcept {
  if (options_.purge == purging::never || purge_running_) {
    return;
  }
  const std::size_t keep = kept_dirty_ + used_.load(std::memory_order_relaxed) / 4;
  std::size_t dirty = 0;
  for (segment* at = segments_.front(); at != nullptr; at = at->next) {
    dirty += at->dirty_units * unit_bytes;
  }
  if (dirty <= keep) {
    return;
  }
  purge_running_ = true;
  // More than the excess, so that the next run given back does not come here again.
  std::size_t left = dirty - keep + keep / 4;
  left = left < most_purged_in_excess ? left : most_purged_in_excess;
  for (segment* at = segments_.back(); at != nullptr && left != 0; at = at->previous) {
    for (unit_set segment::*which : {&segment::stale, &segment::fresh}) {
      const std::size_t gone = purge_set(*at, which, left);
      left -= gone < left ? gone : left;
    }
  }
  purge_running_ = false;
  excess_purged_ms_ = platform::now_ms();
}

// Runs under the lock, and opens it for each system call: the units are out of the
// free set meanwhile, a few at a time, so that others find the rest.
std::size_t space::purge_set(segment& of, unit_set segment::*which, std::size_t most) noexcept {
  std::size_t bytes = 0;
  unit_set& set = of.*which;
  std::size_t unit = set.next_member(0);
  while (unit < most_units && bytes < most && options_.purge != purging::never) {
    std::size_t count = set.next_gap(unit) - unit;
    count = count < most_purged_units ? count : most_purged_units;
    set.erase(unit, count);
    of.dirty_units -= count;
    of.free.erase(unit, count);
    of.free_units -= count;
    mutex_.unlock();
    const bool gone = platform::purge(of.address(unit), count * unit_bytes);
    mutex_.lock();
    of.free.insert(unit, count);
    of.free_units += count;
    if (gone) {
      bytes += count * unit_bytes;
    } else {
      of.fresh.insert(unit, count);
      of.dirty_units += count;
      options_.purge = purging::never;  // locked memory; asking again would not help
    }
    unit = set.next_member(unit + count);
  }
  return bytes;
}

void space::purge(std::uint64_t now_ms, std::uint32_t delay_ms) noexcept {
  if (!purge_pending_.load(std::memory_order_relaxed) || now_ms < next_purge_ms_.load(std::memory_order_relaxed)) {
    return;
  }
  if (!mutex_.try_lock()) {
    return;  // somebody is busy here and will come by again
  }
  if (purge_running_ || options_.purge == purging::never) {
    mutex_.unlock();
    return;
  }
  purge_running_ = true;
  std::size_t purged = 0;
  for (segment* at = segments_.front(); at != nullptr && purged < most_purged_at_once; at = at->next) {
    purged += purge_set(*at, &segment::stale, most_purged_at_once - purged);
  }
  if (purged < most_purged_at_once) {
    // All that was stale is gone; what is fresh ages. Twice half the delay.
    bool any = false;
    for (segment* at = segments_.front(); at != nullptr; at = at->next) {
      any = any || at->fresh.next_member(0) < most_units;
      at->stale |= at->fresh;
      at->fresh.clear();
    }
    purge_pending_.store(any, std::memory_order_relaxed);
    next_purge_ms_.store(now_ms + delay_ms / 2, std::memory_order_relaxed);
  }
  purge_running_ = false;
  mutex_.unlock();
}

std::size_t space::purge_all() noexcept {
  const hold guard(mutex_);
  std::size_t bytes = 0;
  for (segment* at = segments_.front(); at != nullptr; at = at->next) {
    bytes += purge_set(*at, &segment::stale, ~std::size_t{0});
    bytes += purge_set(*at, &segment::fresh, ~std::size_t{0});
  }
  segment* at = segments_.front();
  while (at != nullptr) {  // address space can be short, too
    segment* const next = at->next;
    if (!at->kept && at->free_units == at->units - at->first_unit) {
      segments_.remove(at);
      at->destroy();
    }
    at = next;
  }
  return bytes;
}

void space::release_all(std::size_t kept_bytes) noexcept {
  const hold guard(mutex_);
  while (slab* const single = singles_.front()) {
    page_map::clear(single->start, single->units);
    singles_.remove(single);
    platform::unmap(single->start, single->units * unit_bytes);
    single_slabs.deallocate(single);
  }
  segment* at = segments_.front();
  while (at != nullptr) {
    segment* const next = at->next;
    if (at->kept ? kept_bytes != 0 : at->bytes() <= kept_bytes) {
      // Reserved ones come first, and may be a little more than was asked for.
      kept_bytes -= at->bytes() < kept_bytes ? at->bytes() : kept_bytes;
      at->reset();
    } else {
      segments_.remove(at);
      at->destroy();
    }
    at = next;
  }
  credit(used_.load(std::memory_order_relaxed));
}

bool space::is_valid() noexcept {
  const hold guard(mutex_);
  if (!segments_.is_valid() || !singles_.is_valid()) {
    return false;
  }
  for (const segment* at = segments_.front(); at != nullptr; at = at->next) {
    if (!at->is_valid()) {
      return false;
    }
  }
  return true;
}

}  // namespace tarn::pages
