// Implements the owner's slow paths: front ↔ depot ↔ slabs ↔ space.
#include "memory/heap/heap.hpp"

#include <algorithm>
#include <cstring>

#include "base/fault.hpp"
#include "base/options.hpp"
#include "memory/heap/free_mark.hpp"
#include "memory/heap/registry.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {
namespace {

using namespace base::units;

/// Returns the bytes of a large block that lie in a segment, which can be reserved in advance. The largest blocks
/// have mappings of their own.
std::size_t bytes_in_segment(const pages::slab& block) noexcept { return block.home != nullptr ? block.bytes : 0; }

/// A class starts with a few blocks and doubles them at each refill, so that a short-lived thread moves no more than
/// it needs.
constexpr std::uint8_t fills_to_full = 3;
std::size_t blocks_to_fill(size_class index, std::uint8_t fills) noexcept {
  const std::size_t full = batch_of(index);
  const std::size_t now = full >> (fills_to_full - fills);
  return now >= 4 ? now : full < 4 ? full : 4;
}

/// Zeroes the bytes that a hardened heap expects to be zero, in blocks that it takes from a slab for the first time.
void clear_fresh(pages::slab& home, void* const* blocks, std::size_t count) noexcept {
  if (home.cleared == home.capacity) return;
  std::size_t end = home.cleared;
  for (void* const* block_at = blocks; block_at != blocks + count; ++block_at) {
    const std::size_t number = home.number_of(*block_at);
    if (number >= home.cleared) {
      char* const block = static_cast<char*>(*block_at);
      std::memset(block, 0, home.bytes < max_zeroed_bytes ? home.bytes : max_zeroed_bytes);
      std::memset(block + home.bytes - sizeof(void*), 0, sizeof(void*));
      end = number + 1 > end ? number + 1 : end;
    }
  }
  home.cleared = static_cast<std::uint16_t>(end);
}

std::uintptr_t unit_of(const void* block) noexcept {
  return reinterpret_cast<std::uintptr_t>(block) >> detail::unit_shift;
}

}  // namespace

constinit magazine shut_magazine{};
constinit no_heap_front no_heap;

heap::heap(pages::space& space_, std::uint32_t number_) noexcept
    : heap_front(no_heap), space(&space_), number(number_) {}

void heap::add_trait(heap_trait added) noexcept {
  const bool was_closed = policy.is_closed();
  policy.add(added);
  if (was_closed || !policy.is_closed()) return;
  served = no_heap.served;
  for (size_class index = 0; index < detail::class_count; ++index) {
    classes[index].closed_top = top[index];
    top[index] = shut_top();
  }
}

// ---------------------------------------------------------------- allocate

void* heap::allocate(size_class index) noexcept {
  if (policy.is_exact()) return take_single(index);
  void**& top_pointer = top_of(index);
  if (top_pointer[-1] == nullptr) {
    classes[index].note_need();
    if (lacks_front(index)) return take_single(index);
    bool is_refilled = refill(index);
    if (!is_refilled) {
      reclaim();
      is_refilled = refill(index);
    }
    if (!is_refilled) return nullptr;
  }
  void* const block = *--top_pointer;
  if (policy.is_counting()) classes[index].allocations.add(1);
  detail::mark_allocated(block, detail::size_of(index));
  tick();
  return block;
}

// Takes one block straight from a slab, at the second try with the memory that reclaim() brings.
void* heap::take_single(size_class index) noexcept {
  void* block = take_exactly(index);
  if (block == nullptr) {
    reclaim();
    block = take_exactly(index);
  }
  return block;
}

// Takes one block straight from a slab.
void* heap::take_exactly(size_class index) noexcept {
  if (!remote_inbox.empty()) collect();
  pages::slab* source = classes[index].available.front();
  if (source == nullptr) {
    source = new_slab(index);
    if (source == nullptr) return nullptr;
  }
  void* block = nullptr;
  source->take(&block + 1, 1);
  if (source->full()) classes[index].available.remove(source);
  taken_bytes.add(detail::size_of(index));
  note_growth();
  if (policy.is_counting()) classes[index].allocations.add(1);
  tick();
  return block;
}

bool heap::refill(size_class index) noexcept {
  class_state& class_entry = classes[index];
  close_gaps(index);
  if (!remote_inbox.empty()) collect();
  // A batch may have brought blocks of this class.
  if (top_of(index)[-1] != nullptr) return true;
  if (class_entry.full_magazines.first == nullptr) return fill_from_slabs(index);
  if (class_entry.front != nullptr) stock.give(class_entry.front);
  class_entry.front = class_entry.full_magazines.pop();
  set_capacity(index, capacities.blocks[index]);
  --depot_arrays;
  depot_bytes.subtract(batch_of(index) * detail::size_of(index));
  top_of(index) = class_entry.bottom() + batch_of(index);
  return true;
}

// Sets the number of blocks that the front magazine of a class holds.
void heap::set_capacity(size_class index, std::uint16_t capacity) noexcept {
  front_bytes.add((std::uint64_t{capacity} - classes[index].capacity) * detail::size_of(index));
  classes[index].capacity = capacity;
}

bool heap::set_front(size_class index) noexcept {
  class_state& class_entry = classes[index];
  if (class_entry.front == nullptr) {
    class_entry.front = stock.take(index);
    if (class_entry.front == nullptr) return false;
    used_classes.insert(index);
    set_capacity(index, policy.is_hardened() ? capacities.blocks[index] : capacities.first[index]);
    class_entry.bottom()[-1] = nullptr;
    top_of(index) = class_entry.bottom();
  }
  return true;
}

bool heap::fill_from_slabs(size_class index) noexcept {
  if (!set_front(index)) return false;
  class_state& class_entry = classes[index];
  if (class_entry.is_lively()) {
    set_capacity(index, capacities.blocks[index]);  // the entry before the new start is null: magazine_stock::take
    top_of(index) = class_entry.bottom();           // it is empty, and there may be no memory to fill it
  }
  const std::size_t needed =
      std::min(blocks_to_fill(index, class_entry.fills), class_entry.capacity - class_entry.front_count());
  class_entry.fills = static_cast<std::uint8_t>(class_entry.fills + (class_entry.fills < fills_to_full));
  void** const bottom = class_entry.bottom();
  std::size_t missing = needed;
  while (missing != 0) {
    pages::slab* source = class_entry.available.front();
    if (source == nullptr) {
      if (missing != needed) break;
      source = new_slab(index);
      if (source == nullptr) return false;
    }
    const std::size_t count = source->take(bottom + missing, missing);
    missing -= count;
    if (policy.is_hardened()) [[unlikely]] {
      clear_fresh(*source, bottom + missing, count);
    }
    if (source->full()) class_entry.available.remove(source);
  }
  const std::size_t taken_count = needed - missing;
  taken_bytes.add(taken_count * detail::size_of(index));
  note_growth();
  if (missing != 0) std::memmove(bottom, bottom + missing, taken_count * sizeof(void*));
  top_of(index) = bottom + taken_count;
  refills.add(1);
  if (space == &central()) note_retained(idle_front_bytes());
  return true;
}

pages::slab* heap::new_slab(size_class index) noexcept {
  make_room(index, pages::shapes.classes[index].units);
  if (pages::slab* const emptied = classes[index].available.front()) return emptied;
  pages::slab* source = adopt_slab(index);
  if (source == nullptr) {
    source = space->allocate_slab(index, address());
    if (source != nullptr) note_run(*source);
  }
  if (source != nullptr) {
    used_classes.insert(index);
    slabs.add(1);
    slab_bytes.add(source->units * pages::unit_bytes);
    classes[index].available.push_front(source);
    note_peak();
  }
  return source;
}

// Removes a slab from the heap: an empty one goes to the space, any other (`is_empty` is false) to another heap.
void heap::lose(pages::slab* slab, bool is_empty) noexcept {
  classes[slab->index].available.remove(slab);
  slabs.subtract(1);
  slab_bytes.subtract(slab->units * pages::unit_bytes);
  if (is_empty) space->deallocate(slab);
}

// -------------------------------------------------------------- deallocate

void heap::deallocate(void* block, size_class index) noexcept {
  detail::mark_free(block, detail::size_of(index));
  if (policy.is_counting()) classes[index].frees.add(1);
  if (policy.is_exact()) {
    give_to_slab(block, true);
    tick();
    return;
  }
  if (is_full(top_of(index))) spill(index);
  void**& top_pointer = top_of(index);
  if (is_full(top_pointer)) {  // the class lacks a front, or there is no memory for a magazine
    give_to_slab(block, !lacks_front(index));
  } else {
    *top_pointer++ = block;
  }
  tick();
}

void heap::spill(size_class index) noexcept {
  class_state& class_entry = classes[index];
  if (close_gaps(index)) return;
  class_entry.has_given_up = true;
  class_entry.idle_steps = 0;
  if (class_entry.front == nullptr) {
    if (!lacks_front(index)) set_front(index);
    return;
  }
  const std::size_t front_count = class_entry.front_count();
  const std::size_t moved = class_entry.capacity - front_count;
  const std::size_t bytes = moved * detail::size_of(index);
  void** const bottom = class_entry.bottom();
  // The arrays take memory too: for small blocks nearly as much as the blocks.
  const bool may_keep = class_entry.capacity == capacities.blocks[index] &&
                        depot_arrays * detail::magazine_bytes <= 256_KiB + slab_bytes.get() / 32;
  magazine* const new_front = may_keep ? stock.take(index) : nullptr;
  if (new_front != nullptr) {  // the newest blocks, which are likely in the cache, stay in front
    std::memcpy(bottom_of(new_front, index), bottom + moved, front_count * sizeof(void*));
    class_entry.full_magazines.push(class_entry.front);
    ++depot_arrays;
    depot_bytes.add(bytes);
    class_entry.front = new_front;
  } else {
    give_to_slabs(bottom, moved);
    std::memmove(bottom, bottom + moved, front_count * sizeof(void*));
  }
  top_of(index) = class_entry.bottom() + front_count;
  shrink();
  if (space == &central()) note_retained(free_bytes());
}

// Blocks that were freed one after the other often lie in one unit. Then their slab is looked up, and its list and the
// counters are changed, only once.
void heap::give_to_slabs(void** blocks, std::size_t count) noexcept {
  void** const end = blocks + count;
  while (blocks != end) {
    const std::uintptr_t unit = unit_of(*blocks);
    pages::slab* const home = pages::page_map::slab_of(*blocks);
    const bool was_full = home->full();
    void** const first = blocks;
    do {
      home->give(*blocks);
    } while (++blocks != end && unit_of(*blocks) == unit);
    settle(*home, static_cast<std::size_t>(blocks - first), was_full, true);
  }
  flushes.add(1);
}

// Gives a block to its slab, and an empty slab to the space. With `keeps_one`, the class keeps its last empty slab, so
// that a slab does not go to the space and come back again and again.
void heap::give_to_slab(void* block, bool keeps_one) noexcept {
  pages::slab* const home = pages::page_map::slab_of(block);
  const bool was_full = home->full();
  home->give(block);
  settle(*home, 1, was_full, keeps_one);
}

// Accounts for `count` blocks of `home` that have become free.
void heap::settle(pages::slab& home, std::size_t count, bool was_full, bool keeps_one) noexcept {
  base::list<pages::slab>& available = classes[home.index].available;
  taken_bytes.subtract(count * pages::shapes.classes[home.index].block_bytes);
  if (was_full) available.push_back(&home);
  if (home.empty() && !(keeps_one && available.front() == available.last())) lose(&home, true);
}

// ------------------------------------------------------------------- large

void* heap::allocate_large(std::size_t bytes, std::size_t alignment, bool* zeroed) noexcept {
  if (alignment <= pages::unit_bytes) {
    if (void* const cached = take_cached_large(bytes)) {
      if (zeroed != nullptr) *zeroed = false;
      return cached;
    }
  }
  pages::slab* const home = new_large(bytes, alignment);
  if (home == nullptr) return nullptr;
  detail::mark_allocated(home->start, home->bytes);
  if (zeroed != nullptr) *zeroed = home->is_zeroed;
  return home->start;
}

pages::slab* heap::new_large(std::size_t bytes, std::size_t alignment) noexcept {
  make_room(detail::class_count, base::divide_up(bytes, pages::unit_bytes));
  pages::slab* home = space->allocate_large(bytes, alignment, address());
  if (home == nullptr && bytes <= pages::max_large_bytes) {
    reclaim();
    home = space->allocate_large(bytes, alignment, address());
  }
  if (home == nullptr) return nullptr;
  large_blocks.fetch_add(1, std::memory_order_relaxed);
  large_bytes.fetch_add(home->bytes, std::memory_order_relaxed);
  run_bytes.fetch_add(bytes_in_segment(*home), std::memory_order_relaxed);
  large_allocated.fetch_add(1, std::memory_order_relaxed);
  large_allocated_bytes.fetch_add(home->bytes, std::memory_order_relaxed);
  note_peak();
  note_run(*home);
  open_large_cache(*home);
  return home;
}

// Runs after the cache had no run for a block.
void heap::open_large_cache(const pages::slab& block) noexcept {
  if (space == &central() && (!policy.is_closed() || policy.is_only_hardened())) large.open(block.units, *space);
}

void heap::deallocate_large_slow(pages::slab& block) noexcept {
  return_large(block);
  const std::uint32_t delay_ms = base::current_options().purge_delay_ms;
  space->purge(platform::now_ms(), delay_ms);
}

// Reports a block that two threads freed at the same moment: both looked it up before either had freed it.
void heap::report_freed_twice_at_once(const pages::slab& block) noexcept {
  base::fault_double_free("free", block.start, block.bytes);
}

// Blocks in the cache stay in these counts; statistics() subtracts them.
void heap::return_large(pages::slab& block) noexcept {
  large_blocks.fetch_sub(1, std::memory_order_relaxed);
  large_bytes.fetch_sub(block.bytes, std::memory_order_relaxed);
  run_bytes.fetch_sub(bytes_in_segment(block), std::memory_order_relaxed);
  space->deallocate(&block);
}

bool heap::visit_large_cache(bool must_empty) noexcept {
  return large.visit(must_empty, *space, [this](pages::slab& run) { return_large(run); });
}

// A copy into a cached run costs less than the page faults that follow when pages move. So does one into free memory
// that holds pages, which the space knows.
pages::slab* heap::resize_large(pages::slab* block, std::size_t bytes, bool is_by_owner) noexcept {
  const std::size_t before = block->bytes;
  const std::size_t in_segment = bytes_in_segment(*block);
  const bool may_move = !is_by_owner || !large.holds(base::divide_up(bytes, pages::unit_bytes));
  pages::slab* const resized = space->resize_large(block, bytes, address(), may_move);
  if (resized == nullptr) return nullptr;
  run_bytes.fetch_add(bytes_in_segment(*resized) - in_segment, std::memory_order_relaxed);
  detail::mark_allocated(resized->start, resized->bytes);
  large_bytes.fetch_add(resized->bytes - before, std::memory_order_relaxed);
  large_allocated_bytes.fetch_add(resized->bytes - before, std::memory_order_relaxed);
  note_peak();
  if (is_by_owner && resized != block) open_large_cache(*resized);
  return resized;
}

// ------------------------------------------------------------------ checks

bool heap::is_valid() noexcept {
  std::size_t in_depots = 0;
  for (size_class index = 0; index < detail::class_count; ++index) {
    const class_state& class_entry = classes[index];
    if (!class_entry.available.is_valid()) return false;
    if (!used_classes.contains(index) && (class_entry.front != nullptr || !class_entry.available.empty())) return false;
    for (const pages::slab* source = class_entry.available.front(); source != nullptr; source = source->next) {
      if (source->index != index || source->full() || !source->is_valid() ||
          detail::key_of(source->start) != (address() | index)) {
        return false;
      }
    }
    std::uint32_t count = 0;
    for (magazine* batch = class_entry.full_magazines.first; batch != nullptr; batch = batch->next()) ++count;
    if (count != class_entry.full_magazines.count || class_entry.full_magazines.low > count) return false;
    if (count != 0 && class_entry.front != nullptr && class_entry.capacity != capacities.blocks[index]) return false;
    in_depots += count * batch_of(index) * detail::size_of(index);
    void** const top_now = top_of(index);
    if (class_entry.front == nullptr) {
      const bool is_purged = is_record_purged && policy.is_closed() && top_now == nullptr;
      if (top_now != shut_top() && !is_purged) return false;
    } else if (top_now < class_entry.bottom() || top_now > class_entry.front->end()) {
      return false;
    }
  }
  return in_depots == depot_bytes.get();
}

}  // namespace tarn::heaps
