// The owner's slow paths: front ↔ depot ↔ slabs ↔ space.
#include "heap/heap.hpp"

#include <algorithm>
#include <cstring>

#include "base/options.hpp"
#include "heap/registry.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {
namespace {

using namespace base::units;

/// Blocks may wait in depots, where they are cheapest to have again, until the heap
/// needs new memory: then no more than a little, and an eighth of what the heap has.
std::size_t depot_budget(const heap& of) noexcept { return 1_MiB + of.slab_bytes.get() / 8; }

/// Batches that one decay gives to the slabs, so that no single call takes long.
constexpr std::uint32_t most_decayed = 1024;

constexpr std::uint32_t calls_between_ticks = 64;

/// What a large block takes of the memory that can be reserved before; the largest have
/// mappings of their own.
std::size_t bytes_in_segment(const pages::slab& block) noexcept { return block.home != nullptr ? block.bytes : 0; }

/// A class starts with a few blocks and takes twice as many each time, so that a thread
/// that comes, takes some and goes moves no more than it needs.
constexpr std::uint8_t fills_to_full = 3;
std::size_t blocks_to_fill(size_class index, std::uint8_t fills) noexcept {
  const std::size_t full = batch_of(index);
  const std::size_t now = full >> (fills_to_full - fills);
  return now >= 4 ? now : full < 4 ? full : 4;
}

}  // namespace

constinit magazine shut{};
constinit nobody_front nobody;

heap::heap(pages::space& from, std::uint32_t number_) noexcept : heap_front(nobody), space(&from), number(number_) {}

void heap::close() noexcept {
  closed = true;
  for (class_state& each : classes) {
    each.closed_top = shut_top();
  }
}

// ---------------------------------------------------------------- allocate

void* heap::allocate(size_class index) noexcept {
  if (exact) {
    return take_exactly(index);
  }
  void**& at = top_of(index);
  if (at[-1] == nullptr && !refill(index) && !(reclaim(), refill(index))) {
    return nullptr;
  }
  void* const block = *--at;
  if (counting) {
    classes[index].allocated.add(1);
  }
  detail::mark_allocated(block, detail::size_of(index));
  tick();
  return block;
}

// One block straight from a slab.
void* heap::take_exactly(size_class index) noexcept {
  pages::slab* source = classes[index].available.front();
  if (source == nullptr) {
    source = new_slab(index);
    if (source == nullptr) {
      return nullptr;
    }
  }
  void* block = nullptr;
  source->take(&block + 1, 1);
  if (source->full()) {
    classes[index].available.remove(source);
  }
  taken_bytes.add(detail::size_of(index));
  if (counting) {
    classes[index].allocated.add(1);
  }
  tick();
  return block;
}

bool heap::refill(size_class index) noexcept {
  class_state& of = classes[index];
  if (of.behind.first == nullptr && anything_sent()) {
    collect();
    if (top_of(index)[-1] != nullptr) {
      return true;
    }
  }
  if (of.behind.first == nullptr) {
    return fill_from_slabs(index);
  }
  if (of.front != nullptr) {
    stock.give(of.front);
  }
  of.front = of.behind.pop();
  --depot_arrays;
  depot_bytes.subtract(batch_of(index) * detail::size_of(index));
  top_of(index) = bottom_of(of.front, index) + batch_of(index);
  return true;
}

bool heap::set_front(size_class index) noexcept {
  class_state& of = classes[index];
  if (of.front == nullptr) {
    of.front = stock.take(index);
    if (of.front == nullptr) {
      return false;
    }
    used.insert(index);
    top_of(index) = bottom_of(of.front, index);
  }
  return true;
}

bool heap::fill_from_slabs(size_class index) noexcept {
  if (!set_front(index)) {
    return false;
  }
  class_state& of = classes[index];
  const std::size_t wanted = blocks_to_fill(index, of.fills);
  of.fills = static_cast<std::uint8_t>(of.fills + (of.fills < fills_to_full));
  void** const bottom = bottom_of(of.front, index);
  std::size_t missing = wanted;
  while (missing != 0) {
    pages::slab* source = of.available.front();
    if (source == nullptr) {
      if (missing != wanted) {
        break;
      }
      source = new_slab(index);
      if (source == nullptr) {
        return false;
      }
    }
    missing -= source->take(bottom + missing, missing);
    if (source->full()) {
      of.available.remove(source);
    }
  }
  const std::size_t taken = wanted - missing;
  taken_bytes.add(taken * detail::size_of(index));
  note_growth();
  if (missing != 0) {
    std::memmove(bottom, bottom + missing, taken * sizeof(void*));
  }
  top_of(index) = bottom + taken;
  refills.add(1);
  return true;
}

pages::slab* heap::new_slab(size_class index) noexcept {
  if (depot_bytes.get() > depot_budget(*this)) {
    empty_depots();
    if (pages::slab* const emptied = classes[index].available.front()) {
      return emptied;
    }
  }
  pages::slab* made = adopt_slab(index);
  if (made == nullptr) {
    made = space->allocate_slab(index, address());
  }
  if (made != nullptr) {
    used.insert(index);
    slabs.add(1);
    slab_bytes.add(made->units * pages::unit_bytes);
    classes[index].available.push_front(made);
    note_peak();
  }
  return made;
}

// A slab leaves the heap: empty, or (without `empty`) to another heap.
void heap::lose(pages::slab* gone, bool empty) noexcept {
  classes[gone->index].available.remove(gone);
  slabs.subtract(1);
  slab_bytes.subtract(gone->units * pages::unit_bytes);
  if (empty) {
    space->deallocate(gone);
  }
}

// -------------------------------------------------------------- deallocate

void heap::deallocate(void* block, size_class index) noexcept {
  detail::mark_free(block, detail::size_of(index));
  if (counting) {
    classes[index].freed.add(1);
  }
  if (exact) {
    give_to_slab(block, index, true);
    tick();
    return;
  }
  if (is_full(top_of(index))) {
    spill(index);
  }
  void**& at = top_of(index);
  if (is_full(at)) {  // no memory for a magazine
    give_to_slab(block, index, true);
  } else {
    *at++ = block;
  }
  tick();
}

void heap::spill(size_class index) noexcept {
  class_state& of = classes[index];
  if (of.front == nullptr) {
    set_front(index);
    return;
  }
  const std::size_t kept = kept_of(index);
  const std::size_t batch = batch_of(index);
  const std::size_t bytes = batch * detail::size_of(index);
  void** const bottom = bottom_of(of.front, index);
  // The arrays take memory, too: for small blocks nearly as much as the blocks.
  magazine* const fresh =
      depot_arrays * detail::magazine_bytes <= 1_MiB + slab_bytes.get() / 32 ? stock.take(index) : nullptr;
  if (fresh != nullptr) {  // the newest, likely in the cache, stay in front
    std::memcpy(bottom_of(fresh, index), bottom + batch, kept * sizeof(void*));
    of.behind.push(of.front);
    ++depot_arrays;
    depot_bytes.add(bytes);
    of.front = fresh;
  } else {
    give_to_slabs(bottom, batch, index);
    std::memmove(bottom, bottom + batch, kept * sizeof(void*));
  }
  top_of(index) = bottom_of(of.front, index) + kept;
  shrink();
}

// When half of what was in use is not any more, all that waits goes to the slabs, and
// empty ones back to the space: a program that frees in bulk may not come by again.
// One that needs it all again at once is left alone until it has grown beyond that.
void heap::shrink() noexcept {
  const std::uint64_t in_use = taken_bytes.get() - depot_bytes.get();
  if (in_use >= most_in_use / 2 || most_in_use < shrink_from) {
    return;
  }
  flush_all();
  shrunk_from = most_in_use;
  most_in_use = in_use;
}

void heap::note_growth() noexcept {
  const std::uint64_t in_use = taken_bytes.get() - depot_bytes.get();
  if (in_use <= most_in_use) {
    return;
  }
  most_in_use = in_use;
  if (shrunk_from != 0 && in_use >= shrunk_from / 2) {
    shrink_from = 2 * shrunk_from;  // it was a wave
    shrunk_from = 0;
  }
}

void heap::give_to_slabs(void** blocks, std::size_t count, size_class index) noexcept {
  for (std::size_t at = 0; at < count; ++at) {
    give_to_slab(blocks[at], index, true);
  }
  flushes.add(1);
}

// `keep_one`: a class in use keeps its last empty slab, lest it go and come all the time.
void heap::give_to_slab(void* block, size_class index, bool keep_one) noexcept {
  base::list<pages::slab>& available = classes[index].available;
  pages::slab* const home = pages::page_map::slab_of(block);
  const bool was_full = home->full();
  home->give(block);
  taken_bytes.subtract(detail::size_of(index));
  if (was_full) {
    available.push_back(home);
  }
  if (home->empty() && !(keep_one && available.front() == available.back())) {
    lose(home, true);
  }
}

// ------------------------------------------------------------------- decay

void heap::tick() noexcept {
  if (++slow_calls % calls_between_ticks != 0) {
    return;
  }
  const std::uint64_t now = platform::now_ms();
  const std::uint32_t delay_ms = base::current_options().purge_delay_ms;
  if (now >= next_decay_ms && decay()) {
    next_decay_ms = now + delay_ms / 4;
  }
  space->purge(now, delay_ms);
}

// What was not needed since the last decay goes back to the slabs. False: there is
// more to do, at the next tick.
bool heap::decay() noexcept {
  std::uint32_t left = most_decayed;
  used.for_each([&](size_class index) {
    class_state& of = classes[index];
    if (of.front == nullptr) {
      return;
    }
    if (of.behind.low > left) {
      of.behind.low = left;  // the others wait for the next round
    }
    left -= of.behind.low;
    magazine* rest_of = nullptr;
    for (magazine* each = of.behind.take_unneeded(); each != nullptr; each = rest_of) {
      rest_of = each->next();
      --depot_arrays;
      depot_bytes.subtract(batch_of(index) * detail::size_of(index));
      give_to_slabs(bottom_of(each, index), batch_of(index), index);
      stock.give(each);
    }
    if (top_of(index) == of.seen_top && of.behind.first == nullptr) {
      drop_front(index);
    }
    of.seen_top = top_of(index);
    pages::slab* const rest = of.available.front();
    if (rest != nullptr && rest->empty() && of.front == nullptr) {
      lose(rest, true);
    }
  });
  return left != 0;
}

// The front magazine's blocks to their slabs, the array to the stock.
void heap::drop_front(size_class index) noexcept {
  class_state& of = classes[index];
  if (of.front == nullptr) {
    return;
  }
  void**& at = top_of(index);
  void** const bottom = bottom_of(of.front, index);
  give_to_slabs(bottom, static_cast<std::size_t>(at - bottom), index);
  stock.give(of.front);
  of.front = nullptr;
  of.fills = 0;
  at = shut_top();
}

void heap::empty_depots() noexcept {
  used.for_each([this](size_class index) {
    class_state& of = classes[index];
    while (of.behind.first != nullptr) {
      magazine* const full = of.behind.pop();
      --depot_arrays;
      depot_bytes.subtract(batch_of(index) * detail::size_of(index));
      give_to_slabs(bottom_of(full, index), batch_of(index), index);
      stock.give(full);
    }
    of.behind.low = 0;
  });
}

void heap::reclaim() noexcept {
  collect();
  flush_all();
  space->purge_all();
}

void heap::flush_all() noexcept {
  empty_depots();
  used.for_each([this](size_class index) {
    base::list<pages::slab>& available = classes[index].available;
    drop_front(index);
    while (!available.empty() && available.front()->empty()) {
      lose(available.front(), true);
    }
  });
}

// ------------------------------------------------------------------- large

void* heap::allocate_large(std::size_t bytes, std::size_t alignment, bool* zeroed) noexcept {
  if (depot_bytes.get() > depot_budget(*this)) {
    empty_depots();
  }
  pages::slab* made = space->allocate_large(bytes, alignment, address());
  if (made == nullptr && bytes <= pages::most_large_bytes) {
    reclaim();
    made = space->allocate_large(bytes, alignment, address());
  }
  if (made == nullptr) {
    return nullptr;
  }
  detail::mark_allocated(made->start, made->bytes);
  large_blocks.fetch_add(1, std::memory_order_relaxed);
  large_bytes.fetch_add(made->bytes, std::memory_order_relaxed);
  run_bytes.fetch_add(bytes_in_segment(*made), std::memory_order_relaxed);
  large_allocated.fetch_add(1, std::memory_order_relaxed);
  large_allocated_bytes.fetch_add(made->bytes, std::memory_order_relaxed);
  note_peak();
  if (zeroed != nullptr) {
    *zeroed = made->zeroed;
  }
  return made->start;
}

void heap::deallocate_large(pages::slab* block) noexcept {
  large_blocks.fetch_sub(1, std::memory_order_relaxed);
  large_bytes.fetch_sub(block->bytes, std::memory_order_relaxed);
  run_bytes.fetch_sub(bytes_in_segment(*block), std::memory_order_relaxed);
  space->deallocate(block);
  const std::uint32_t delay_ms = base::current_options().purge_delay_ms;
  space->purge(platform::now_ms(), delay_ms);
}

bool heap::resize_large(pages::slab* block, std::size_t bytes) noexcept {
  const std::size_t before = block->bytes;
  const std::size_t in_segment = bytes_in_segment(*block);
  if (!space->resize_large(block, bytes, address())) {
    return false;
  }
  run_bytes.fetch_add(bytes_in_segment(*block) - in_segment, std::memory_order_relaxed);
  detail::mark_allocated(block->start, block->bytes);
  large_bytes.fetch_add(block->bytes - before, std::memory_order_relaxed);
  large_allocated_bytes.fetch_add(block->bytes - before, std::memory_order_relaxed);
  note_peak();
  return true;
}

// ----------------------------------------------------------------- release

void heap::release() noexcept {
  // Parcels that hold blocks of before are void from here on. Relaxed: a free that
  // comes before the release, or after it, is ordered with it by the program.
  generation.fetch_add(1, std::memory_order_relaxed);
  used.for_each([this](size_class index) {
    class_state& of = classes[index];
    of.available = {};
    if (of.front != nullptr) {
      top_of(index) = bottom_of(of.front, index);
    }
    while (of.behind.first != nullptr) {
      stock.give(of.behind.pop());
    }
    of.behind.low = 0;
    if (counting) {
      of.freed.add(of.allocated.get() - of.freed.get());
    }
  });
  depot_arrays = 0;
  collect();  // void, all of it
  depot_bytes.subtract(depot_bytes.get());
  taken_bytes.subtract(taken_bytes.get());
  slabs.subtract(slabs.get());
  slab_bytes.subtract(slab_bytes.get());
  large_blocks.store(0, std::memory_order_relaxed);
  large_bytes.store(0, std::memory_order_relaxed);
  run_bytes.store(0, std::memory_order_relaxed);
  space->release_all(eager_bytes);
}

void heap::reset() noexcept {
  send_all();
  used.for_each([this](size_class index) {
    class_state& of = classes[index];
    if (of.front != nullptr) {
      stock.give(of.front);
    }
    of = class_state{};
  });
  used.clear();
  for (void**& each : top) {
    each = shut_top();
  }
  stock.clear();
  closed = shared = exact = strict = prompt = false;
  counting = false;
  eager_bytes = 0;
  name[0] = 0;
  resource = nullptr;
  slow_calls = 0;
  most_in_use = shrunk_from = 0;
  depot_arrays = 0;
  shrink_from = least_shrunk_bytes;
  next_decay_ms = 0;
  owner_thread = 0;
  for (owner_counter* each : {&remote_frees, &slabs, &slab_bytes, &refills, &flushes, &taken_bytes, &depot_bytes}) {
    *each = owner_counter{};
  }
  for (auto* each : {&large_blocks, &large_bytes, &large_allocated, &large_allocated_bytes, &peak_bytes, &run_bytes,
                     &run_peak_bytes}) {
    *each = 0;
  }
}

// -------------------------------------------------------------- statistics

void heap::note_peak() noexcept {
  const auto raise = [](std::atomic<std::uint64_t>& peak, std::uint64_t now) {
    if (now > peak.load(std::memory_order_relaxed)) {
      peak.store(now, std::memory_order_relaxed);  // of two at once one may be lost
    }
  };
  raise(peak_bytes, slab_bytes.get() + large_bytes.load(std::memory_order_relaxed));
  raise(run_peak_bytes, slab_bytes.get() + run_bytes.load(std::memory_order_relaxed));
}

heap_statistics heap::statistics() const noexcept {
  heap_statistics now;
  for (size_class index = 0; index < detail::class_count; ++index) {
    const std::uint64_t allocated = classes[index].allocated.get();
    const std::uint64_t freed = classes[index].freed.get();
    now.allocated_blocks += allocated;
    now.freed_blocks += freed;
    now.allocated_bytes += allocated * detail::size_of(index);
    now.freed_bytes += freed * detail::size_of(index);
  }
  if (counting) {
    const std::uint64_t large = large_allocated.load(std::memory_order_relaxed);
    const std::uint64_t bytes = large_allocated_bytes.load(std::memory_order_relaxed);
    now.allocated_blocks += large;
    now.allocated_bytes += bytes;
    now.freed_blocks += large - large_blocks.load(std::memory_order_relaxed);
    now.freed_bytes += bytes - large_bytes.load(std::memory_order_relaxed);
  }
  now.remote_frees = remote_frees.get();
  now.slabs = slabs.get();
  now.slab_bytes = slab_bytes.get();
  // Seen from another thread in the middle of a move, the parts may not fit.
  const std::uint64_t taken = taken_bytes.get();
  const std::uint64_t waiting = depot_bytes.get();
  now.used_bytes = (taken > waiting ? taken - waiting : 0) + large_bytes.load(std::memory_order_relaxed);
  now.footprint_bytes = now.slab_bytes + large_bytes.load(std::memory_order_relaxed);
  now.peak_footprint_bytes = peak_bytes.load(std::memory_order_relaxed);
  now.large_blocks = large_blocks.load(std::memory_order_relaxed);
  now.large_bytes = large_bytes.load(std::memory_order_relaxed);
  now.refills = refills.get();
  now.flushes = flushes.get();
  return now;
}

bool heap::is_valid() noexcept {
  std::size_t in_depots = 0;
  for (size_class index = 0; index < detail::class_count; ++index) {
    const class_state& of = classes[index];
    if (!of.available.is_valid()) {
      return false;
    }
    if (!used.contains(index) && (of.front != nullptr || !of.available.empty())) {
      return false;
    }
    for (const pages::slab* each = of.available.front(); each != nullptr; each = each->next) {
      if (each->index != index || each->full() || !each->is_valid() ||
          detail::key_of(each->start) != (address() | index)) {
        return false;
      }
    }
    std::uint32_t count = 0;
    for (magazine* each = of.behind.first; each != nullptr; each = each->next()) {
      ++count;
    }
    if (count != of.behind.count || of.behind.low > count) {
      return false;
    }
    in_depots += count * batch_of(index) * detail::size_of(index);
    void** const top_now = top_of(index);
    if (of.front == nullptr ? top_now != shut_top()
                            : top_now < bottom_of(of.front, index) || top_now > of.front->end()) {
      return false;
    }
  }
  return in_depots == depot_bytes.get();
}

}  // namespace tarn::heaps
