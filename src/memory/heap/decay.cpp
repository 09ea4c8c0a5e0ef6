// Returns unneeded blocks of a heap to their slabs after a while, and slabs to the space at once when the program freed
// much or memory is short.
#include <algorithm>
#include <utility>

#include "base/options.hpp"
#include "memory/heap/heap.hpp"
#include "memory/heap/random_quarantine.hpp"
#include "memory/heap/registry.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {
namespace {

using namespace base::units;

/// One decay gives at most this many batches to the slabs, so that no single call takes long.
constexpr std::uint32_t max_decayed = 1024;
/// And at most about this much memory of partly used slabs to the system.
constexpr std::size_t max_purged_in_decay = 8_MiB;
/// A class is idle after so many steps, which are `purge_delay_ms` where only time passes.
constexpr std::uint8_t steps_to_idle = 4;
/// In place of the steps of a class that is idle and whose pages are given back; no count of steps reaches it.
constexpr std::uint8_t idle_and_purged = 255;

constexpr std::uint32_t calls_between_ticks = 64;

/// Blocks may stay in depots, where they are cheapest to take again, until the heap needs new memory. Then the depots
/// may keep a little, and an eighth of the heap's slabs.
std::uint64_t depot_budget(const heap& owner) noexcept { return 1_MiB + owner.slab_bytes.get() / 8; }

/// A small heap that grows keeps its idle blocks until it has grown by this much.
constexpr std::uint64_t min_growth = 512_KiB;

/// Growth within this time after a shrink means that the shrink came too early. Without another such regret, the size
/// from which a heap shrinks halves in this time.
constexpr std::uint64_t regret_ms = 4000;

}  // namespace

// The helper asks a heap with few slow calls for a tick, because 64 of them may take minutes (visit). relaxed: the flag
// guards no data, and a tick too many or one call later does no harm.
void heap::tick() noexcept {
  slow_calls.add(1);
  if (slow_calls.get() % calls_between_ticks != 0 && !must_tick.load(std::memory_order_relaxed)) return;
  must_tick.store(false, std::memory_order_relaxed);
  const std::uint64_t now = platform::now_ms();
  for (; min_peak_to_shrink > min_shrunk_bytes && now - shrink_noted_ms >= regret_ms; shrink_noted_ms += regret_ms) {
    min_peak_to_shrink /= 2;
  }
  const std::uint32_t delay_ms = base::current_options().purge_delay_ms;
  if (now >= next_decay_ms && decay()) next_decay_ms = now + delay_ms / 4;
  space->purge(now, delay_ms);
}

// Runs when the heap has taken a run from the space.
void heap::note_run(const pages::slab& run) noexcept {
  is_growing = run.is_zeroed;
  new_bytes += is_growing ? run.units * pages::unit_bytes : 0;
}

// Runs before the heap takes `units` from the space for blocks of class `requested_class`. Untouched memory costs a
// page fault for each page and adds to the peak; reusing idle memory of the heap costs less. So a growing heap gives
// cached runs to the space that were not used since its last growth. Whenever it has grown by a thirty-second, it also
// gives up its depots and idle front magazines (docs/design/giving-back.md).
void heap::make_room(size_class requested_class, std::size_t units) noexcept {
  if ((is_growing || space->index().dirty_units() < units) && large.may_hold()) visit_large_cache(false);
  const bool has_grown = new_bytes >= min_growth + slab_bytes.get() / 32;
  if (has_grown || depot_bytes.get() > depot_budget(*this)) empty_depots();
  if (has_grown) {
    const std::size_t grown_bytes = std::exchange(new_bytes, 0);
    if (!policy.is_hardened()) {  // its freed blocks wait
      purge_idle_pages(requested_class, 2 * grown_bytes, 2);
      drop_idle_fronts(requested_class);
    }
  }
}

// Gives pages back in which only free blocks of idle classes lie: those that have given their blocks up, and needed
// none for some steps. A program whose sizes drift would otherwise keep all slabs in which one block is left.
void heap::purge_idle_pages(size_class requested_class, std::size_t max_bytes, std::uint8_t steps) noexcept {
  if (!space->purges()) return;
  std::size_t purged = 0;
  used_classes.for_each([&](size_class index) {
    class_state& class_entry = classes[index];
    const bool is_in_use = index == requested_class || class_entry.front != nullptr || !class_entry.has_given_up;
    if (is_in_use || class_entry.idle_steps == idle_and_purged) return;
    if (class_entry.idle_steps < steps_to_idle) {
      class_entry.idle_steps = static_cast<std::uint8_t>(class_entry.idle_steps + steps);
      return;
    }
    for (pages::slab* source = class_entry.available.front(); source != nullptr; source = source->next) {
      if (purged >= max_bytes) return;
      purged += source->purge_free_pages();
    }
    class_entry.idle_steps = idle_and_purged;
  });
}

// Gives the blocks of front magazines to their slabs, and empty slabs to the space: those of classes that were not used
// since the last time, and of all classes of long blocks, whose slabs are the largest.
void heap::drop_idle_fronts(size_class requested_class) noexcept {
  used_classes.for_each([&](size_class index) {
    class_state& class_entry = classes[index];
    if (index != requested_class && (index >= pages::first_wide || class_entry.seen_top == top_of(index))) {
      drop_front(index);
      pages::slab* const last = class_entry.available.front();
      if (last != nullptr && last->empty()) lose(last, true);
    }
    class_entry.seen_top = top_of(index);
  });
}

// Returns blocks to the slabs that were not needed since the last decay. Returns false if it has given as many as one
// decay may: then others wait for the next decay.
bool heap::decay() noexcept {
  if (!remote_inbox.empty()) {  // an owner may free for long without a refill, or refill from its own blocks
    collect();
  }
  visit_large_cache(false);
  std::uint32_t budget = max_decayed;
  used_classes.for_each([&](size_class index) {
    class_state& class_entry = classes[index];
    if (class_entry.front == nullptr) return;
    if (class_entry.full_magazines.low > budget) {
      class_entry.full_magazines.low = budget;  // the rest waits for the next decay
    }
    budget -= class_entry.full_magazines.low;
    magazine* next_unneeded = nullptr;
    for (magazine* unneeded = class_entry.full_magazines.take_unneeded(); unneeded != nullptr;
         unneeded = next_unneeded) {
      next_unneeded = unneeded->next();
      --depot_arrays;
      depot_bytes.subtract(batch_of(index) * detail::size_of(index));
      give_to_slabs(bottom_of(unneeded, index), batch_of(index));
      stock.give(unneeded);
    }
    if (top_of(index) == class_entry.seen_top && class_entry.full_magazines.first == nullptr) drop_front(index);
    class_entry.seen_top = top_of(index);
    pages::slab* const next_slab = class_entry.available.front();
    if (next_slab != nullptr && next_slab->empty() && class_entry.front == nullptr) lose(next_slab, true);
  });
  if (!policy.is_hardened()) purge_idle_pages(detail::class_count, max_purged_in_decay, 1);
  return budget != 0;
}

// Gives the blocks of the front magazine to their slabs, and the array to the stock. The magazine is gone before a
// block is in its slab: a visitor may wait for a lock in between, and a child of a fork would find the block in both.
void heap::drop_front(size_class index) noexcept {
  class_state& class_entry = classes[index];
  if (block_quarantine != nullptr) {
    block_quarantine->empty(index, [this](void* block) { give_to_slab(block, true); });
  }
  if (class_entry.front == nullptr) return;
  void**& top_pointer = top_of(index);
  close_gaps(index);
  magazine* const array = class_entry.front;
  void** const bottom = class_entry.bottom();
  const auto count = static_cast<std::size_t>(top_pointer - bottom);
  top_pointer = shut_top();
  set_capacity(index, 0);
  class_entry.front = nullptr;
  class_entry.fills = 0;
  class_entry.returns = 0;
  give_to_slabs(bottom, count);
  stock.give(array);
}

void heap::empty_depots() noexcept {
  used_classes.for_each([this](size_class index) { empty_depot(index); });
}

void heap::empty_depot(size_class index) noexcept {
  class_state& class_entry = classes[index];
  while (class_entry.full_magazines.first != nullptr) {
    magazine* const full = class_entry.full_magazines.pop();
    --depot_arrays;
    depot_bytes.subtract(batch_of(index) * detail::size_of(index));
    give_to_slabs(bottom_of(full, index), batch_of(index));
    stock.give(full);
  }
  class_entry.full_magazines.low = 0;
}

std::size_t heap::reclaim() noexcept {
  collect();
  flush_all();
  if (space == &central()) {
    registry::for_all([](heap& visited) { visited.visit_large_cache(true); });
  }
  return space->purge_all();
}

std::size_t heap::purge_slabs() noexcept {
  std::size_t purged = 0;
  used_classes.for_each([&](size_class index) {
    for (pages::slab* source = classes[index].available.front(); source != nullptr; source = source->next) {
      purged += source->purge_free_pages();
    }
  });
  return purged;
}

void heap::flush_all() noexcept {
  empty_depots();
  used_classes.for_each([this](size_class index) {
    base::list<pages::slab>& available = classes[index].available;
    drop_front(index);
    while (!available.empty() && available.front()->empty()) lose(available.front(), true);
  });
}

// Runs when use has fallen below half of its peak: it empties the magazines into the slabs and returns empty slabs to
// the space at once, because a program that frees in bulk may make no later call. While the use keeps falling, the heap
// shrinks at each halving. If a program soon needs the memory again, the heap is not shrunk until its use has reached
// twice that peak, or until the regret has faded. The regret first concerns the last halving, then the peak of the
// whole decline.
void heap::shrink() noexcept {
  const std::uint64_t in_use = taken_bytes.get() - depot_bytes.get();
  if (in_use >= peak_in_use / 2 || peak_in_use < min_peak_to_shrink ||
      (policy.is_hardened() && peak_in_use < min_shrunk_hardened_bytes)) {
    return;
  }
  flush_all();
  stock.clear();
  peak_before_decline = std::max({peak_before_decline, peak_before_shrink, peak_in_use});
  peak_before_shrink = peak_in_use;
  shrink_noted_ms = platform::now_ms();
  peak_in_use = in_use;
}

void heap::note_growth() noexcept {
  const std::uint64_t in_use = taken_bytes.get() - depot_bytes.get();
  if (in_use <= peak_in_use) return;
  peak_in_use = in_use;
  if (peak_before_shrink != 0 && in_use >= peak_before_shrink / 2) {
    const std::uint64_t now = platform::now_ms();
    const bool is_regretted = now - shrink_noted_ms < regret_ms;
    if (is_regretted) {
      min_peak_to_shrink = 2 * peak_before_shrink;  // use comes back
      shrink_noted_ms = now;
    }
    peak_before_shrink = is_regretted && peak_before_decline > peak_before_shrink ? peak_before_decline : 0;
    peak_before_decline = 0;
  }
}

}  // namespace tarn::heaps
