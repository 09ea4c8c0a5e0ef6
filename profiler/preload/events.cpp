#include "profiler/preload/events.hpp"

#include <optional>

#include "profiler/preload/base/recorder_clock.hpp"
#include "profiler/preload/base/sampler.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/heap_searches.hpp"
#include "profiler/preload/live_blocks.hpp"
#include "profiler/preload/peak.hpp"
#include "profiler/preload/quiet.hpp"
#include "profiler/preload/records/heap_mebibytes.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/sampled_blocks.hpp"

namespace tarn::preload {
namespace {

using format::counter;

constexpr std::uint64_t sequence_mask = (std::uint64_t{1} << thread::sequence_bits) - 1;

void count(format::cell& cell, std::size_t counter, std::uint64_t amount) noexcept { add(cell.value[counter], amount); }

bool is_sampled() noexcept { return header().interval != 0; }

// These return true if each block is counted and the next allocation or free is timed for others. Call it once for
// each.
bool times_allocation() noexcept {
  thread* const self = plain_thread;
  return self != nullptr && !is_inside() &&
         self->timed_allocations.take(self->counts().allocations.load(std::memory_order_relaxed));
}
bool times_free() noexcept {
  thread* const self = plain_thread;
  return self != nullptr && !is_inside() &&
         self->timed_frees.take(self->counts().frees.load(std::memory_order_relaxed));
}

// Draws the distance from the end of a block to the next sample. Whatever the block's size, that has the same
// distribution: so one draw will do, however many points lie in the block.
void draw_distance(thread& self, std::int64_t left) noexcept {
  format::thread_record& counts = self.counts();
  const std::int64_t distance = self.samples.next();
  counts.drawn_sum.store(counts.drawn_sum.load(std::memory_order_relaxed) + distance - left, std::memory_order_relaxed);
  counts.until_sample.store(distance, std::memory_order_relaxed);
}

// Takes back what count_unsampled() has subtracted for a block that the allocator did not have.
[[gnu::noinline]] void return_cost(std::size_t bytes, cost_state cost) noexcept {
  if (cost == cost_state::pending || !records()) return;
  entry guard;
  if (!guard) return;
  std::atomic<std::int64_t>& until_sample = guard.self().counts().until_sample;
  const std::int64_t left = until_sample.load(std::memory_order_relaxed) + cost_of(bytes);
  until_sample.store(left, std::memory_order_relaxed);
  // The handler of a signal may have drawn a distance meanwhile.
  constexpr std::uint64_t longest = 64;
  if (left > 0 && static_cast<std::uint64_t>(left) > longest * header().interval) draw_distance(guard.self(), left);
}

// Returns true when the thread samples this block, and then draws the next distance.
[[gnu::noinline]] bool is_sample(thread& self, std::size_t bytes, cost_state cost) noexcept {
  format::thread_record& counts = self.counts();
  std::int64_t left = counts.until_sample.load(std::memory_order_relaxed);
  if (cost == cost_state::pending) left -= cost_of(bytes);
  if (left < 0) {
    draw_distance(self, left);
    return true;
  }
  counts.until_sample.store(left, std::memory_order_relaxed);
  return false;
}

allocation_record record_of_block(thread& self, std::uint32_t site, std::size_t bytes) noexcept {
  return {.weight = 1,
          .site = site,
          .owner = self.number(),
          .is_early = threads_so_far() == 1,
          .sequence = self.counts().allocations.load(std::memory_order_relaxed),
          .bytes = bytes};
}

[[gnu::noinline]] bool note_sample(thread& self, format::cell& cell, const void* block, std::size_t bytes,
                                   allocation_record record) noexcept {
  record.weight = self.samples.weight(bytes);
  record.time = clock_ticks();
  if (!note_sampled(block, record)) return false;
  note_heap_range(block, bytes);
  const std::uint64_t weight = record.weight;
  keep_peak(cell);
  count(cell, counter::blocks, weight);
  count(cell, counter::bytes, bytes * weight);
  change_in_use(self, static_cast<std::int64_t>(bytes * weight));
  count(cell, counter::size_buckets + format::size_bucket(bytes), weight);
  if (record.is_early) count(cell, counter::early_blocks, weight);
  count(cell, counter::spread, weight * (weight - 1));
  return true;
}

[[gnu::always_inline]] inline bool note_each(thread& self, format::cell& cell, const void* block, std::size_t bytes,
                                             const allocation_record& record) noexcept {
  if (!live_blocks::add(block, record)) [[unlikely]]
    return false;
  // The mebibyte of a small block is noted with the table's leaf for it.
  if (constexpr std::size_t large = 65536; bytes >= large) [[unlikely]]
    note_heap_range(block, bytes);
  keep_peak(cell);
  count(cell, counter::blocks, 1);
  count(cell, counter::bytes, bytes);
  change_in_use(self, static_cast<std::int64_t>(bytes));
  count(cell, counter::size_buckets + format::size_bucket(bytes), 1);
  if (record.is_early) count(cell, counter::early_blocks, 1);
  return true;
}

[[gnu::always_inline]] inline void add_allocation(thread& self, const void* block, std::size_t bytes,
                                                  const caller& caller, cost_state cost) noexcept {
  format::thread_record& counts = self.counts();
  if (self.trace.is_due(counts)) [[unlikely]]
    self.trace.begin(counts);
  add(counts.allocations, 1);
  const bool is_sampling = is_sampled();
  if (is_sampling && !is_sample(self, bytes, cost)) {
    if (self.trace.is_open()) self.trace.note(format::excerpt_kind::allocate, block, bytes, site_from(self, caller));
    return;
  }
  const auto [site, cell] = heap_site(self, caller);
  if (self.trace.is_open()) [[unlikely]]
    self.trace.note(format::excerpt_kind::allocate, block, bytes, site);
  if (cell == nullptr) [[unlikely]]
    return self.count_dropped();
  const allocation_record record = record_of_block(self, site, bytes);
  const bool is_noted =
      is_sampling ? note_sample(self, *cell, block, bytes, record) : note_each(self, *cell, block, bytes, record);
  if (!is_noted) [[unlikely]]
    self.count_dropped();
}

[[gnu::always_inline]] inline allocation_record take_record(const void* block) noexcept {
  return is_sampled() ? take_sampled(block) : live_blocks::take(block);
}
bool note_record(const void* block, const allocation_record& record) noexcept {
  return is_sampled() ? note_sampled(block, record) : live_blocks::add(block, record);
}

[[gnu::always_inline]] inline void add_free(thread& self, const allocation_record& record) noexcept {
  const std::uint32_t owner = self.owner_of(record.owner, record.sequence);
  format::cell* const cell = self.cell_of(record.site, owner);
  if (cell == nullptr) [[unlikely]]
    return self.count_dropped();
  const std::uint64_t weight = record.weight;
  keep_peak(*cell);
  count(*cell, counter::frees, weight);
  count(*cell, counter::freed_bytes, record.bytes * weight);
  change_in_use(self, -static_cast<std::int64_t>(record.bytes * weight));
  if (owner == self.number()) {
    const std::uint64_t allocations =
        (self.counts().allocations.load(std::memory_order_relaxed) - record.sequence) & sequence_mask;
    count(*cell, counter::life_buckets + format::life_bucket(allocations), weight);
  }
  if (record.time != 0) count(*cell, counter::time_buckets + format::time_bucket(clock_ticks() - record.time), weight);
  if (record.is_early) {
    if (threads_so_far() == 1) {
      count(*cell, counter::early_frees_alone, weight);
    } else if (threads_running() > 1) {
      count(*cell, counter::early_frees_threaded, weight);
    }
  }
}

[[gnu::noinline]] void count_allocation_slow(const void* block, std::size_t bytes, const caller& caller,
                                             cost_state cost) noexcept {
  if (is_in_region()) [[unlikely]]
    count_heap_violation(caller);
  if (block == nullptr) return return_cost(bytes, cost);
  if (!records()) return;
  const work_timer timer(format::sample_ticks);
  entry guard;
  if (!guard) return;
  add_allocation(guard.self(), block, bytes, caller, cost);
}

[[gnu::noinline]] void count_free_slow(const void* block, const caller& caller) noexcept {
  if (block == nullptr || !records()) return;
  const work_timer timer(format::sample_ticks);
  entry guard;
  if (!guard) return;
  look_through_contents();
  add(guard.self().counts().frees, 1);
  if (guard.self().trace.is_open()) [[unlikely]]
    guard.self().trace.note_release(block, site_from(guard.self(), caller));
  const allocation_record record = take_record(block);
  if (record.weight != 0) {
    add_free(guard.self(), record);
  } else if (!is_sampled()) {
    guard.self().count_unknown();
  }
}

// The timed events take the same way through the code as all others, so that it is as well cached.
[[gnu::noinline]] void time_allocation(const void* block, std::size_t bytes, const caller& caller,
                                       cost_state cost) noexcept {
  const brief_work_timer timer(format::sample_ticks);
  count_allocation(block, bytes, caller, cost);
}
[[gnu::noinline]] void time_free(const void* block, const caller& caller) noexcept {
  const brief_work_timer timer(format::sample_ticks);
  count_free(block, caller);
}

}  // namespace

void count_allocation(const void* block, std::size_t bytes, const caller& caller, cost_state cost) noexcept {
  {
    plain_entry guard;
    if (guard && block != nullptr) [[likely]] {
      thread& self = guard.self();
      format::thread_record& counts = self.counts();
      const bool is_timed = self.timed_allocations.is_due(counts.allocations.load(std::memory_order_relaxed));
      if (!is_timed && !self.trace.is_due(counts)) [[likely]] {
        add(counts.allocations, 1);
        const auto [site, cell] = heap_site(self, caller);
        if (cell == nullptr || !note_each(self, *cell, block, bytes, record_of_block(self, site, bytes))) [[unlikely]]
          self.count_dropped();
        return;
      }
    }
  }
  if (times_allocation()) return time_allocation(block, bytes, caller, cost);
  count_allocation_slow(block, bytes, caller, cost);
}

void count_free(const void* block, const caller& caller) noexcept {
  {
    plain_entry guard;
    if (guard && block != nullptr) [[likely]] {
      thread& self = guard.self();
      format::thread_record& counts = self.counts();
      if (!self.timed_frees.is_due(counts.frees.load(std::memory_order_relaxed))) [[likely]] {
        look_through_contents();
        add(counts.frees, 1);
        const allocation_record record = live_blocks::take(block);
        if (record.weight != 0) [[likely]] {
          add_free(self, record);
        } else {
          self.count_unknown();
        }
        return;
      }
    }
  }
  if (times_free()) return time_free(block, caller);
  count_free_slow(block, caller);
}

allocation_record begin_resize(const void* block) noexcept {
  if (!records()) return {};
  const entry guard;
  if (guard) look_through_contents();
  return take_record(block);
}

void finish_resize(const allocation_record& record, const void* block, const void* new_block, std::size_t old_bytes,
                   std::size_t bytes, const caller& caller, cost_state cost) noexcept {
  if (is_in_region()) [[unlikely]]
    count_heap_violation(caller);
  if (!records()) return;
  if (new_block == nullptr) return_cost(bytes, cost);
  std::optional<brief_work_timer> timer;
  if (times_allocation()) timer.emplace(format::sample_ticks);
  entry guard;
  if (!guard) return;
  if (new_block == nullptr) {
    if (record.weight != 0) (void)note_record(block, record);
    return;
  }
  thread& self = guard.self();
  add(self.counts().frees, 1);
  if (self.trace.is_open()) [[unlikely]]
    self.trace.note(format::excerpt_kind::resize, block, old_bytes, 0);
  if (record.weight != 0) {
    add_free(self, record);
    if (format::cell* const cell = self.cell_of(record.site, self.owner_of(record.owner, record.sequence))) {
      count(*cell, counter::reallocs, record.weight);
      if (new_block != block) {
        count(*cell, counter::moved, record.weight);
        count(*cell, counter::copied, (old_bytes < bytes ? old_bytes : bytes) * record.weight);
      }
    }
  } else if (!is_sampled()) {
    self.count_unknown();
  }
  add_allocation(self, new_block, bytes, caller, cost);
}

}  // namespace tarn::preload
