#include "memory/pages/space.hpp"

#include <new>

#include "memory/pages/metadata.hpp"
#include "platform/platform.hpp"

namespace tarn::pages {
namespace {

using namespace base::units;
using hold = platform::locked<platform::mutex>;

/// Larger blocks have mappings of their own.
constexpr std::size_t max_run_units = max_units / 2;

/// Copying a smaller block that cannot grow in its segment costs less than the page faults that follow a move.
constexpr std::size_t min_moved_bytes = TARN_SMALL ? 2 * unit_bytes : 1_MiB;
/// The kernel moves whole page tables if both addresses have the same distance from a multiple of this.
constexpr std::size_t page_table_bytes = 2_MiB;
/// A process may have 65,530 mappings by default. A single takes up to three with its guards, so blocks leave segments
/// only while there are fewer singles than this.
constexpr std::size_t max_singles = 4096;

/// To touch less memory than this costs no more than to ask what is available.
constexpr std::size_t min_checked_bytes = 4_MiB;

constinit record_pool<slab> single_slabs{platform::lock_rank::records};
constinit std::atomic<std::size_t> singles_in_process{0};

/// Under a lower limit on address space, the first segments are not smaller than later ones.
constexpr std::size_t little_address_space = 2_GiB;

/// More free memory than this is worth the start of a helper.
constexpr std::size_t much_retained = 4_MiB;
using retaining_function = void (*)() noexcept;
constinit retaining_function when_retaining = nullptr;

/// Threads of the parent of this process are missing here. Written in the forked child, by its only thread.
constinit bool has_lost_threads = false;

constinit std::size_t process_limit = 0;
constinit std::atomic<std::size_t> process_used{0};  // only kept if there is a limit

std::size_t alignment_to_move(std::size_t bytes) noexcept {
  return bytes < 2 * page_table_bytes ? unit_bytes : page_table_bytes;
}

// Makes a run one large block, and enters it in the page map.
void make_large(slab& block, std::uintptr_t owner) noexcept {
  block.capacity = 1;
  block.free_blocks = 0;
  block.index = detail::class_count;
  block.bytes = block.units * unit_bytes;
  page_map::set_large(block.start, owner, &block);
}

}  // namespace

void space::call_when_retaining(void (*function)() noexcept) noexcept { when_retaining = function; }

void space::note_retained(std::size_t bytes) noexcept {
  if (bytes >= much_retained && when_retaining != nullptr) when_retaining();
}

void space::limit_process(std::size_t bytes) noexcept { process_limit = bytes; }

bool space::charge(std::size_t bytes) noexcept {
  const std::size_t now = used_bytes_.load(std::memory_order_relaxed) + bytes;
  if (options_.limit != 0 && now > options_.limit) return false;
  if (process_limit != 0) {
    const std::size_t total = process_used.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (total > process_limit) {
      process_used.fetch_sub(bytes, std::memory_order_relaxed);
      return false;
    }
  }
  used_bytes_.store(now, std::memory_order_relaxed);
  return true;
}

void space::credit(std::size_t bytes) noexcept {
  used_bytes_.store(used_bytes_.load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
  if (process_limit != 0) process_used.fetch_sub(bytes, std::memory_order_relaxed);
}

void space::note_peak() noexcept {
  const std::size_t now = used_bytes_.load(std::memory_order_relaxed);
  if (now > peak_.load(std::memory_order_relaxed)) peak_.store(now, std::memory_order_relaxed);
}

// A program that meets a limit may ask again and again. So after a refusal of all sizes, only the smallest one is tried
// until the system grants it.
segment* space::add_segment(std::size_t min_units, std::size_t wanted_units) noexcept {
  const bool is_refused_again = was_refused(min_units);
  std::size_t units = min_units < wanted_units && !is_refused_again ? wanted_units : min_units;
  segment* created = segment::create(units, is_refused_again ? unit_bytes : options_.alignment);
  // Address space may be short (ulimit -v): then try a smaller segment.
  while (created == nullptr && units / 2 >= min_units) {
    units /= 2;
    created = segment::create(units, unit_bytes);
  }
  if (created == nullptr) {
    refused_units_ = is_refused_again ? refused_units_ : min_units;
  } else {
    if (was_refused(created->units)) refused_units_ = 0;
    if (options_.asks_for_huge || options_.refuses_huge) {
      platform::advise_huge(created->start, created->bytes(), options_.asks_for_huge);
    }
    runs_.insert(*created);
  }
  return created;
}

// Locked memory (mlockall) is resident as soon as it is mapped, so a segment is no larger than what is in use already.
// Where address space is short, a few large segments waste less of it.
std::size_t space::next_segment_units() const noexcept {
  const std::size_t limit = platform::address_space_limit();
  if (options_.first_units >= options_.segment_units || (limit != 0 && limit < little_address_space)) {
    return options_.segment_units;
  }
  const std::size_t used_units = used_bytes_.load(std::memory_order_relaxed) / unit_bytes;
  const std::size_t units = used_units < options_.first_units ? options_.first_units : used_units;
  return units < options_.segment_units ? units : options_.segment_units;
}

slab* space::take_run(std::size_t units, std::size_t alignment) noexcept {
  // Any run of this length has an aligned part that is long enough.
  const std::size_t slack = alignment > unit_bytes ? alignment / unit_bytes - 1 : 0;
  segment* source = runs_.find(units + slack);
  if (source == nullptr) {
    source = add_segment(units + slack, was_refused(units + slack) ? 0 : next_segment_units());
    if (source == nullptr) return nullptr;
  }
  slab* const run = source->take(units, alignment);
  runs_.update(*source);
  if (run != nullptr && run->is_zeroed) policy_.note_new_memory();
  return run;
}

bool space::must_check_memory(std::size_t bytes) noexcept { return bytes >= min_checked_bytes; }

bool space::reserve(std::size_t bytes) noexcept {
  return (!must_check_memory(bytes) || bytes <= platform::available_memory()) && reserve_unchecked(bytes);
}

bool space::reserve_unchecked(std::size_t bytes) noexcept {
  if (bytes > max_large_bytes) return false;
  const hold guard(mutex_);
  std::size_t units = base::divide_up(bytes, unit_bytes);
  while (units != 0) {
    const std::size_t unit_count = units < max_units ? units : max_units;
    segment* const created = add_segment(unit_count, 0);
    if (created == nullptr) return false;
    created->is_reserved = true;
    const std::size_t touched = created->units < units ? created->units : units;
    if (!platform::prefault(created->start, touched * unit_bytes)) return false;
    units -= touched;
  }
  return true;
}

slab* space::allocate_slab(detail::size_class index, std::uintptr_t owner) noexcept {
  const class_shape& shape = shapes.classes[index];
  const std::size_t bytes = std::size_t{shape.units} * unit_bytes;
  const hold guard(mutex_);
  if (!charge(bytes)) return nullptr;
  slab* const run = take_run(shape.units, unit_bytes);
  if (run == nullptr) {
    credit(bytes);
    return nullptr;
  }
  note_peak();
  run->cut(index);
  page_map::set(run->start, run->units, owner | index, run);
  return run;
}

slab* space::allocate_large(std::size_t bytes, std::size_t alignment, std::uintptr_t owner) noexcept {
  if (bytes > max_large_bytes || alignment > max_large_bytes) return nullptr;
  const std::size_t units = bytes == 0 ? 1 : base::divide_up(bytes, unit_bytes);
  const hold guard(mutex_);
  if (!charge(units * unit_bytes)) return nullptr;
  const std::size_t slack = alignment > unit_bytes ? alignment / unit_bytes : 0;
  slab* created = nullptr;
  if (units + slack <= max_run_units) created = take_run(units, alignment);
  if (created == nullptr) created = map_single(units, alignment);
  if (created == nullptr) {
    credit(units * unit_bytes);
    return nullptr;
  }
  note_peak();
  make_large(*created, owner);
  return created;
}

// Returns a mapping that is not in the page map yet.
slab* space::map_single(std::size_t units, std::size_t alignment) noexcept {
  void* const record = single_slabs.allocate();
  if (record == nullptr) return nullptr;
  const std::size_t bytes = units * unit_bytes;
  void* const start = page_map::map(bytes, alignment < unit_bytes ? unit_bytes : alignment, unit_bytes);
  if (start == nullptr) {
    single_slabs.deallocate(record);
    return nullptr;
  }
  if (options_.refuses_huge) platform::advise_huge(start, bytes, false);
  slab* const created = ::new (record) slab{};
  created->start = static_cast<char*>(start);
  created->units = static_cast<std::uint32_t>(units);
  created->is_zeroed = true;
  singles_.push_back(created);
  singles_in_process.fetch_add(1, std::memory_order_relaxed);
  return created;
}

void space::forget_single(slab& block) noexcept {
  singles_.remove(&block);
  singles_in_process.fetch_sub(1, std::memory_order_relaxed);
  single_slabs.deallocate(&block);
}

bool space::resize_single(slab& block, std::size_t units, std::uintptr_t owner) noexcept {
  const std::size_t old_bytes = block.units * unit_bytes;
  const std::size_t new_bytes = units * unit_bytes;
  // Pages that came from elsewhere do not merge with those behind them into one mapping, and the kernel moves one
  // mapping at a time.
  const bool may_grow = !block.has_moved_pages;
  if ((units > block.units && !may_grow) || !platform::resize(block.start, old_bytes, new_bytes)) {
    if (units < block.units) return false;
    // The pages move to new addresses, which are mapped, and covered in the page map, before the old ones are given up.
    char* const target = static_cast<char*>(page_map::map(new_bytes, alignment_to_move(new_bytes), unit_bytes));
    if (target == nullptr) return false;
    // The old entry is cleared first, because the old addresses may belong to another thread at once.
    page_map::clear(block.start, 1);
    if (!platform::move(block.start, old_bytes, target, new_bytes)) {
      page_map::set_large(block.start, owner, &block);
      return false;
    }
    block.start = target;
    block.has_moved_pages = true;
    page_map::set_large(target, owner, &block);
  }
  block.units = static_cast<std::uint32_t>(units);
  return true;
}

slab* space::resize_run(slab& block, std::size_t units, std::uintptr_t owner, bool may_move) noexcept {
  segment& home = *block.home;
  if (units < block.units) {
    home.give(block, units);
    policy_.note_dirty();
  } else if (!home.extend(block, units - block.units)) {
    return may_move ? move_out(block, units, owner) : nullptr;
  }
  runs_.update(home);
  return &block;
}

// Gives a block that cannot grow in its segment a mapping of its own, and moves its pages there. Their old units then
// read as zero.
slab* space::move_out(slab& block, std::size_t units, std::uintptr_t owner) noexcept {
  // Reserved memory keeps its pages, and locked memory would lose its lock. A copy into free memory that holds pages
  // costs less than the page faults that follow a move.
  if (block.bytes < min_moved_bytes || block.home->is_reserved || policy_.is_locked() ||
      (units <= max_run_units && runs_.dirty_units() >= units) ||
      singles_in_process.load(std::memory_order_relaxed) >= max_singles) {
    return nullptr;
  }
  slab* const created = map_single(units, alignment_to_move(units * unit_bytes));
  if (created == nullptr) return nullptr;
  // After a failure the new addresses may belong to another thread, so they enter the page map only after the move.
  if (!platform::move_part(block.start, block.bytes, created->start, units * unit_bytes)) {
    forget_single(*created);
    return nullptr;
  }
  created->has_moved_pages = true;
  make_large(*created, owner);
  segment& home = *block.home;
  home.give(block, 0, true);
  runs_.update(home);
  return created;
}

slab* space::resize_large(slab* block, std::size_t bytes, std::uintptr_t owner, bool may_move) noexcept {
  if (bytes > max_large_bytes) return nullptr;
  const std::size_t units = base::divide_up(bytes, unit_bytes);
  if (units == block->units) return block;
  const hold guard(mutex_);
  const std::size_t before = block->units;
  const std::size_t added_bytes = units > before ? (units - before) * unit_bytes : 0;
  if (added_bytes != 0 && !charge(added_bytes)) return nullptr;
  slab* resized = block;
  if (block->home != nullptr) {
    resized = resize_run(*block, units, owner, may_move);
  } else if (!resize_single(*block, units, owner)) {
    resized = nullptr;
  }
  if (resized == nullptr) {
    credit(added_bytes);
    return nullptr;
  }
  note_peak();
  resized->bytes = resized->units * unit_bytes;
  resized->is_zeroed = false;
  if (units < before) credit((before - units) * unit_bytes);
  return resized;
}

// Runs in caches count as handed out, so the caches may keep a seventh of the memory that the program uses, or 32 MiB,
// and the run that exceeds this. So a program that repeats a malloc and free of the largest size takes no lock.
bool space::grant_caching(std::size_t bytes, std::size_t allowance) noexcept {
  if (options_.purge != purging::after_delay) return false;
  const std::size_t others = cached_.fetch_add(bytes, std::memory_order_relaxed);
  if (others > std::max(allowance, used_bytes_.load(std::memory_order_relaxed) / 8)) {
    end_caching(bytes);
    return false;
  }
  if (others + bytes >= much_retained && may_purge_later() && when_retaining != nullptr) when_retaining();
  return true;
}

void space::deallocate(slab* run) noexcept {
  bool is_clean = false;
  if (run->home != nullptr && options_.purge == purging::at_once) {
    is_clean = platform::purge(run->start, run->units * unit_bytes);
  }
  if (run->home != nullptr) {
    bool is_above_limit = false;
    {
      const hold guard(mutex_);
      const std::size_t freed = run->units * unit_bytes;  // `give` leaves the run without units
      credit(freed);
      segment& home = *run->home;
      home.give(*run, 0, is_clean);
      runs_.update(home);
      policy_.note_dirty();
      purge_excess(freed);
      is_above_limit = retains(much_retained);
    }
    if (is_above_limit && when_retaining != nullptr) when_retaining();
    return;
  }
  const hold guard(mutex_);
  credit(run->units * unit_bytes);
  page_map::retire(run->start, 1);
  platform::unmap(run->start, run->units * unit_bytes);
  forget_single(*run);
}

void space::note_lost_threads() noexcept { has_lost_threads = true; }

void space::release_all(std::size_t kept_bytes) noexcept {
  const hold guard(mutex_);
  wait_for_purge();  // its units may belong to another mapping once they are unmapped
  while (slab* const single = singles_.front()) {
    page_map::clear(single->start, 1);
    unmap_(single->start, single->units * unit_bytes);
    forget_single(*single);
  }
  base::list<segment> survivors;
  for (const bool must_be_reserved : {true, false}) {  // a reserved segment may be a little larger than requested
    runs_.for_each([&](segment& visited) {
      if (visited.is_reserved != must_be_reserved) return;
      runs_.remove(visited);
      if (has_lost_threads) visited.forget_remote_frees();
      if (must_be_reserved ? kept_bytes != 0 : visited.bytes() <= kept_bytes) {
        kept_bytes -= visited.bytes() < kept_bytes ? visited.bytes() : kept_bytes;
        survivors.push_back(&visited);
      } else {
        visited.destroy(unmap_);
      }
    });
  }
  while (segment* const survivor = survivors.front()) {
    survivors.remove(survivor);
    survivor->reset();
    runs_.insert(*survivor);
  }
  credit(used_bytes_.load(std::memory_order_relaxed));
}

bool space::is_valid() noexcept {
  const hold guard(mutex_);
  return runs_.is_valid() && singles_.is_valid();
}

}  // namespace tarn::pages
