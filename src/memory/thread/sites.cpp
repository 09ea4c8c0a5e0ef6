#include "memory/thread/sites.hpp"

#include <cstring>
#include <utility>

#include "base/leaks.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/pages/page_map.hpp"
#include "memory/thread/guarded_heap.hpp"
#include "memory/thread/site_table.hpp"
#include "platform/platform.hpp"

namespace tarn::threads {
namespace {

using heaps::site_table;

constexpr std::size_t first_room = 1024;

std::size_t mapped_bytes(std::size_t bytes) noexcept { return base::align_up(bytes, platform::page_bytes()); }
// Maps zeroed pages, because the noted heap may be full, or released, and another heap may be locked.
void* take(std::size_t bytes) noexcept { return platform::map(mapped_bytes(bytes), platform::page_bytes()); }
void give(void* start, std::size_t bytes) noexcept { platform::unmap(start, mapped_bytes(bytes)); }

bool grow(site_table& table) noexcept {
  const std::size_t room = table.room == 0 ? first_room : 2 * table.room;
  auto* const entries = static_cast<site_table::entry*>(take(room * sizeof(site_table::entry)));
  if (entries == nullptr) return false;
  site_table::entry* const before = std::exchange(table.entries, entries);
  const std::size_t room_before = std::exchange(table.room, room);
  for (std::size_t slot = 0; slot < room_before; ++slot) {
    if (before[slot].block != nullptr) table.place_of(before[slot].block) = before[slot];
  }
  if (before != nullptr) give(before, room_before * sizeof(site_table::entry));
  return true;
}

// Returns true if the program has `block`. All free blocks must lie in the slabs when it is called.
bool is_in_use(const heaps::heap& target, const void* block) noexcept {
  const std::uintptr_t key = detail::key_of(block);
  if (key == 0 || heaps::owner_in(key) != &target) return false;
  const pages::slab& home = *pages::page_map::slab_of(block);
  if (heaps::class_in(key) >= pages::large_mark) return home.start == block;
  const std::size_t number = home.number_of(block);
  return number < home.capacity && home.block(number) == block && (home.free[number / 64] >> (number % 64) & 1) == 0;
}

}  // namespace

bool note_sites(heaps::heap& target, bool reports_leaks) noexcept {
  auto* const table = static_cast<site_table*>(take(sizeof(site_table)));
  if (table == nullptr) return false;
  if (!grow(*table)) {
    give(table, sizeof(site_table));
    return false;
  }
  table->reports_leaks = reports_leaks;
  target.sites = table;
  return true;
}

bool note_site(heaps::heap& target, const void* block, std::size_t bytes, const void* site) noexcept {
  site_table& table = *target.sites;
  if (table.count + 1 > table.room / 4 * 3 && !grow(table)) return false;
  site_table::entry& entry = table.place_of(block);
  table.count += entry.block == nullptr ? 1 : 0;
  entry = {.block = block,
           .site = site,
           .bytes = bytes,
           .thread = platform::thread_number(),
           .freed_by = 0,
           .freed_at = nullptr};
  return true;
}

void correct_noted_site(heaps::heap& target, void* block, std::size_t bytes, const void* site) noexcept {
  if (target.policy.is_guarded_object()) {
    correct_guarded(target, block, bytes, site);
  } else {
    static_cast<void>(note_site(target, block, bytes, site));
  }
}

bool find_free(const heaps::heap& target, const void* block, base::block_record& record) noexcept {
  const site_table::entry& entry = target.sites->place_of(block);
  if (entry.block == nullptr || entry.freed_at == nullptr) return false;
  record = entry.record();
  return true;
}

void note_free(heaps::heap& target, const void* block, const void* site) noexcept {
  if (base::block_record record; find_free(target, block, record)) base::fault_double_free("free", record);
  site_table::entry& entry = target.sites->place_of(block);
  if (entry.block != nullptr) {
    entry.freed_by = platform::thread_number();
    entry.freed_at = site;
  }
}

void forget_sites(heaps::heap& target) noexcept {
  std::memset(target.sites->entries, 0, target.sites->room * sizeof(site_table::entry));
  target.sites->count = 0;
  target.sites->left = target.sites->come;
  target.sites->waiting_bytes = 0;
}

void end_sites(heaps::heap& target) noexcept {
  site_table& table = *target.sites;
  if (table.reports_leaks) {
    target.reclaim();
    base::leak_report report;
    for (std::size_t slot = 0; slot < table.room; ++slot) {
      const site_table::entry& entry = table.entries[slot];
      if (entry.block != nullptr && is_in_use(target, entry.block)) report.add(entry.bytes, entry.site, entry.thread);
    }
    report.print("heap", target.name, target.resource);
  }
  give(table.entries, table.room * sizeof(site_table::entry));
  give(&table, sizeof table);
  target.sites = nullptr;
}

}  // namespace tarn::threads
