#include "memory/thread/guarded_heap.hpp"

#include <algorithm>
#include <cstring>

#include "memory/heap/canary.hpp"
#include "memory/thread/fork.hpp"
#include "memory/thread/site_table.hpp"
#include "memory/thread/sites.hpp"
#include "memory/thread/threads.hpp"
#include "platform/platform.hpp"

namespace tarn::threads {
namespace {

namespace canary = heaps::canary;
using heaps::site_table;

constexpr std::size_t min_slack = 8;
constexpr std::size_t max_slack = 4096;
/// A large block is filled and checked only at its start, because the rest of its pages may never be used.
constexpr std::size_t max_filled_bytes = std::size_t{64} << 10;
constexpr std::size_t max_waiting_bytes = std::size_t{1} << 20;
constexpr unsigned char fresh_byte = 0xcd;  // as in memory/guard/guard.cpp
constexpr unsigned char freed_byte = 0xdf;

/// Protects the tables of all guarded heaps, because any thread may free. One lock suffices: guarded blocks make
/// threads wait for each other anyway.
constinit platform::mutex tables_lock{platform::lock_rank::isolated};

/// The heap's block around a block of the program.
struct extent {
  char* start;
  std::size_t bytes;
};
extent extent_of(const void* block) noexcept {
  const pages::slab& home = *pages::page_map::slab_of(block);
  return {static_cast<char*>(const_cast<void*>(block)), home.bytes};
}

char* slack_end(const extent& memory, std::size_t bytes) noexcept {
  return memory.start + std::min(memory.bytes, bytes + max_slack);
}

void check_canary(const char* entry, const base::block_record& record) noexcept {
  const extent memory = extent_of(record.block);
  char* const begin = memory.start + record.bytes;
  char* const end = slack_end(memory, record.bytes);
  if (char* const first = canary::first_changed(begin, end); first != end) {
    char* const last = canary::last_changed(begin, end);
    base::fault_overrun(entry, record.block, record, static_cast<std::size_t>(first - memory.start),
                        static_cast<std::size_t>(last - memory.start), last == end);
  }
}

/// Checks the bytes of a freed block that waits.
void check_fill(const base::block_record& record) noexcept {
  const extent memory = extent_of(record.block);
  detail::mark_allocated(memory.start, memory.bytes);  // it was poisoned for AddressSanitizer
  char* const end = memory.start + std::min(record.bytes, max_filled_bytes);
  const char* changed = canary::first_other(memory.start, end, freed_byte);
  if (changed == end) {
    char* const last = slack_end(memory, record.bytes);
    changed = canary::first_changed(memory.start + record.bytes, last);
    if (changed == last) return;
  }
  base::fault_use_after_free(record, changed - memory.start);
}

/// Frees a block that has waited.
void give(detail::heap_front* front, const void* waited) noexcept {
  auto* const block = const_cast<void*>(waited);
  heaps::heap* const self = threads::ready(front);  // before the key is read: free_small in paths.cpp says why
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);
  heaps::heap& owner = *heaps::owner_in(key);
  if (heaps::class_in(key) == pages::large_mark) {
    owner.deallocate_large(pages::page_map::slab_of(block), self == &owner);
  } else if (self == &owner) {
    const heaps::owner_scope hold(owner);
    owner.deallocate(block, heaps::class_in(key));
  } else if (self != nullptr) {
    const heaps::owner_scope hold(*self);
    self->deallocate_remote(block, key);
  }
}

/// Takes the oldest waiting block out if there are too many, also with `arriving` more bytes, or always with
/// `is_forced`. The caller holds the lock.
bool pop(site_table& table, base::block_record& oldest, std::size_t arriving, bool is_forced) noexcept {
  const bool is_full = table.come - table.left + arriving > site_table::max_waiting_blocks;
  if (table.come == table.left || !(is_forced || is_full || table.waiting_bytes > max_waiting_bytes)) return false;
  oldest = table.place_of(table.waiting[table.left++ % site_table::max_waiting_blocks]).record();
  table.waiting_bytes -= oldest.bytes;
  return true;
}

void release(detail::heap_front* front, const base::block_record& waited) noexcept {
  check_fill(waited);
  give(front, waited.block);
}

/// Returns the record of a block. Its member `block` is null if the heap never had a block at the address.
base::block_record record_of(const heaps::heap& owner, const void* block) noexcept {
  const platform::locked hold(tables_lock);
  return owner.sites->place_of(block).record();
}

/// Returns the heap's raw block for `bytes`; its start is null without memory.
extent take(heaps::heap& source, std::size_t bytes, std::size_t alignment) noexcept {
  const heaps::owner_scope hold(source);
  if (bytes <= detail::largest_class_size && alignment <= pages::unit_bytes) {
    const detail::size_class index = detail::class_of(bytes, alignment);
    if (index < detail::class_count) {
      return {static_cast<char*>(source.allocate(index)), detail::size_of(index)};
    }
  }
  bool is_zeroed = false;
  auto* const block = static_cast<char*>(source.allocate_large(bytes, alignment, &is_zeroed));
  return {block, block == nullptr ? 0 : pages::page_map::slab_of(block)->bytes};
}

}  // namespace

void guard_object(heaps::heap& target) noexcept {
  canary::draw();
  hold_around_fork(tables_lock);
  target.add_trait(heaps::heap_trait::guarded_object);
}

void* allocate_guarded(heaps::heap& source, std::size_t bytes, std::size_t alignment, const void* site) noexcept {
  if (bytes > pages::max_large_bytes) return nullptr;
  extent memory = take(source, bytes + min_slack, alignment);
  if (memory.start == nullptr) {
    end_waiting(source);
    memory = take(source, bytes + min_slack, alignment);
    if (memory.start == nullptr) return nullptr;
  }
  std::memset(memory.start, fresh_byte, std::min(bytes, max_filled_bytes));
  canary::fill(memory.start + bytes, slack_end(memory, bytes));
  bool is_noted = false;
  {
    const platform::locked hold(tables_lock);
    is_noted = note_site(source, memory.start, bytes, site);
  }
  if (!is_noted) {
    give(&source, memory.start);
    return nullptr;
  }
  return memory.start;
}

void correct_guarded(heaps::heap& source, void* block, std::size_t bytes, const void* site) noexcept {
  const std::uintptr_t key = detail::key_of(block);
  if (key == 0 || heaps::owner_in(key) != &source) {
    return;  // realloc left a block of another heap where it was
  }
  const extent memory = extent_of(block);
  canary::fill(memory.start + bytes, slack_end(memory, bytes));
  const platform::locked hold(tables_lock);
  site_table::entry& entry = source.sites->place_of(block);
  entry.bytes = bytes;
  entry.site = site;
}

void deallocate_guarded(detail::heap_front* front, void* block, detail::size_class expected_class,
                        const void* site) noexcept {
  heaps::heap& owner = *heaps::owner_in(detail::key_of<__ATOMIC_ACQUIRE>(block));
  heaps::check_strict(owner, block);
  base::block_record record;
  {
    const platform::locked hold(tables_lock);
    site_table::entry& entry = owner.sites->place_of(block);
    record = entry.record();
    if (record.block != nullptr && record.freed_at == nullptr) {
      entry.freed_at = site;
      entry.freed_by = platform::thread_number();
    }
  }
  // The lock is released before a fault, because a handler of SIGABRT may free blocks.
  if (record.block == nullptr) {
    static_cast<void>(heaps::find_block("free", block));  // reports the mistake, if the address shows it
    base::fault_foreign_pointer("free", block);
  }
  if (record.freed_at != nullptr) base::fault_double_free("free", record);
  check_canary("free", record);
  if (expected_class != detail::class_count && expected_class != detail::class_of(record.bytes)) {
    base::fault_wrong_size(record, sizes_of(expected_class));
  }
  std::memset(block, freed_byte, std::min(record.bytes, max_filled_bytes));
  detail::mark_free(block, extent_of(block).bytes);
  if (record.bytes > max_waiting_bytes / 4) {  // it would drive too many others out
    give(front, block);
    return;
  }
  site_table& table = *owner.sites;
  for (std::size_t arriving = 1;;) {
    base::block_record oldest;
    {
      const platform::locked hold(tables_lock);
      const bool is_one_out = pop(table, oldest, arriving, false);
      if (!is_one_out && arriving == 0) return;
      if (!is_one_out) {
        table.waiting[table.come++ % site_table::max_waiting_blocks] = block;
        table.waiting_bytes += record.bytes;
        arriving = 0;
        continue;
      }
    }
    release(front, oldest);
  }
}

std::size_t guarded_bytes(const char* entry, const void* block) noexcept {
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);
  const base::block_record record = record_of(*heaps::owner_in(key), block);
  if (record.block == nullptr) {
    static_cast<void>(heaps::find_block(entry, block));
    base::fault_foreign_pointer(entry, block);
  }
  if (record.freed_at != nullptr) base::fault_double_free(entry, record);
  return record.bytes;
}

void end_waiting(heaps::heap& target) noexcept {
  for (base::block_record oldest;;) {
    {
      const platform::locked hold(tables_lock);
      if (!pop(*target.sites, oldest, 0, true)) return;
    }
    release(&target, oldest);
  }
}

void check_all(heaps::heap& target, const char* entry) noexcept {
  end_waiting(target);
  const site_table& table = *target.sites;
  for (std::size_t slot = 0; slot < table.room; ++slot) {
    if (table.entries[slot].block != nullptr && table.entries[slot].freed_at == nullptr) {
      check_canary(entry, table.entries[slot].record());
    }
  }
}

}  // namespace tarn::threads
