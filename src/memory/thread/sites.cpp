#include "memory/thread/sites.hpp"

#include <cstring>

#include "base/leaks.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/pages/page_map.hpp"
#include "memory/thread/threads.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {

/// An open hash table from addresses to calls. Invariant: count <= 3/4 of room, a power of two; an entry lies at or
/// behind the slot of its hash, with no empty slot between.
struct site_table {
  struct entry {
    const void* block;
    const void* site;
    std::size_t bytes;
    std::uint32_t thread;
    std::uint32_t freed_by;
    const void* freed_at;  ///< null: in use, or freed by another thread
  };
  entry* entries;
  std::size_t room;
  std::size_t count;

  entry& place_of(const void* block) const noexcept {
    std::size_t slot = (reinterpret_cast<std::uintptr_t>(block) * 0x9e3779b97f4a7c15) >> 20;
    while (entries[slot &= room - 1].block != nullptr && entries[slot].block != block) {
      ++slot;
    }
    return entries[slot];
  }
};

}  // namespace tarn::heaps

namespace tarn::threads {
namespace {

using heaps::site_table;

constexpr std::size_t first_room = 1024;

// Allocates from the process's heap, because the noted heap may be full, or released.
void* take(std::size_t bytes) noexcept {
  heaps::heap* const process = process_heap();
  void* const memory = process == nullptr ? nullptr : detail::allocate_any(process, bytes, detail::block_alignment);
  if (memory != nullptr) {
    std::memset(memory, 0, bytes);
  }
  return memory;
}
void give(void* block) noexcept { detail::deallocate_slow(process_heap(), block); }

bool grow(site_table& table) noexcept {
  const std::size_t room = table.room == 0 ? first_room : 2 * table.room;
  auto* const entries = static_cast<site_table::entry*>(take(room * sizeof(site_table::entry)));
  if (entries == nullptr) {
    return false;
  }
  const site_table old = table;
  table = {.entries = entries, .room = room, .count = old.count};
  for (std::size_t slot = 0; slot < old.room; ++slot) {
    if (old.entries[slot].block != nullptr) {
      table.place_of(old.entries[slot].block) = old.entries[slot];
    }
  }
  if (old.entries != nullptr) {
    give(old.entries);
  }
  return true;
}

// Returns true if the program has `block`. All free blocks must lie in the slabs when it is called.
bool is_in_use(const heaps::heap& target, const void* block) noexcept {
  const std::uintptr_t key = detail::key_of(block);
  if (key == 0 || heaps::owner_in(key) != &target) {
    return false;
  }
  const pages::slab& home = *pages::page_map::slab_of(block);
  if (heaps::class_in(key) >= pages::large_mark) {
    return home.start == block;
  }
  const std::size_t number = home.number_of(block);
  return number < home.capacity && home.block(number) == block && (home.free[number / 64] >> (number % 64) & 1) == 0;
}

}  // namespace

bool note_sites(heaps::heap& target) noexcept {
  auto* const table = static_cast<site_table*>(take(sizeof(site_table)));
  if (table == nullptr || !grow(*table)) {
    return false;
  }
  target.sites = table;
  return true;
}

void note_site(heaps::heap& target, const void* block, std::size_t bytes, const void* site) noexcept {
  site_table& table = *target.sites;
  if (table.count + 1 > table.room / 4 * 3 && !grow(table)) {
    return;
  }
  site_table::entry& entry = table.place_of(block);
  table.count += entry.block == nullptr ? 1 : 0;
  entry = {.block = block,
           .site = site,
           .bytes = bytes,
           .thread = platform::thread_number(),
           .freed_by = 0,
           .freed_at = nullptr};
}

bool find_free(const heaps::heap& target, const void* block, base::block_record& record) noexcept {
  const site_table::entry& entry = target.sites->place_of(block);
  if (entry.block == nullptr || entry.freed_at == nullptr) {
    return false;
  }
  record = {.block = block,
            .bytes = entry.bytes,
            .allocated_at = entry.site,
            .allocated_by = entry.thread,
            .freed_by = entry.freed_by,
            .freed_at = entry.freed_at};
  return true;
}

void note_free(heaps::heap& target, const void* block, const void* site) noexcept {
  if (base::block_record record; find_free(target, block, record)) {
    base::fault_double_free("free", record);
  }
  site_table::entry& entry = target.sites->place_of(block);
  if (entry.block != nullptr) {
    entry.freed_by = platform::thread_number();
    entry.freed_at = site;
  }
}

void forget_sites(heaps::heap& target) noexcept {
  std::memset(target.sites->entries, 0, target.sites->room * sizeof(site_table::entry));
  target.sites->count = 0;
}

void report_sites(heaps::heap& target) noexcept {
  target.reclaim();
  base::leak_report report;
  for (std::size_t slot = 0; slot < target.sites->room; ++slot) {
    const site_table::entry& entry = target.sites->entries[slot];
    if (entry.block != nullptr && is_in_use(target, entry.block)) {
      report.add(entry.bytes, entry.site, entry.thread);
    }
  }
  report.print("heap", target.name, target.resource);
  give(target.sites->entries);
  give(target.sites);
  target.sites = nullptr;
}

}  // namespace tarn::threads
