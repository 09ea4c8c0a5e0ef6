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
    std::size_t at = (reinterpret_cast<std::uintptr_t>(block) * 0x9e3779b97f4a7c15) >> 20;
    while (entries[at &= room - 1].block != nullptr && entries[at].block != block) {
      ++at;
    }
    return entries[at];
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
  for (std::size_t at = 0; at < old.room; ++at) {
    if (old.entries[at].block != nullptr) {
      table.place_of(old.entries[at].block) = old.entries[at];
    }
  }
  if (old.entries != nullptr) {
    give(old.entries);
  }
  return true;
}

// Returns true if the program has `block`. All free blocks must lie in the slabs when it is called.
bool is_in_use(const heaps::heap& of, const void* block) noexcept {
  const std::uintptr_t key = detail::key_of(block);
  if (key == 0 || heaps::owner_in(key) != &of) {
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

bool note_sites(heaps::heap& of) noexcept {
  auto* const table = static_cast<site_table*>(take(sizeof(site_table)));
  if (table == nullptr || !grow(*table)) {
    return false;
  }
  of.sites = table;
  return true;
}

void note_site(heaps::heap& of, const void* block, std::size_t bytes, const void* site) noexcept {
  site_table& table = *of.sites;
  if (table.count + 1 > table.room / 4 * 3 && !grow(table)) {
    return;
  }
  site_table::entry& at = table.place_of(block);
  table.count += at.block == nullptr ? 1 : 0;
  at = {.block = block,
        .site = site,
        .bytes = bytes,
        .thread = platform::thread_number(),
        .freed_by = 0,
        .freed_at = nullptr};
}

bool find_free(const heaps::heap& of, const void* block, base::block_record& known) noexcept {
  const site_table::entry& at = of.sites->place_of(block);
  if (at.block == nullptr || at.freed_at == nullptr) {
    return false;
  }
  known = {.block = block,
           .bytes = at.bytes,
           .allocated_at = at.site,
           .allocated_by = at.thread,
           .freed_by = at.freed_by,
           .freed_at = at.freed_at};
  return true;
}

void note_free(heaps::heap& of, const void* block, const void* site) noexcept {
  if (base::block_record known; find_free(of, block, known)) {
    base::fault_double_free("free", known);
  }
  site_table::entry& at = of.sites->place_of(block);
  if (at.block != nullptr) {
    at.freed_by = platform::thread_number();
    at.freed_at = site;
  }
}

void forget_sites(heaps::heap& of) noexcept {
  std::memset(of.sites->entries, 0, of.sites->room * sizeof(site_table::entry));
  of.sites->count = 0;
}

void report_sites(heaps::heap& of) noexcept {
  of.reclaim();
  base::leak_report report;
  for (std::size_t at = 0; at < of.sites->room; ++at) {
    const site_table::entry& each = of.sites->entries[at];
    if (each.block != nullptr && is_in_use(of, each.block)) {
      report.add(each.bytes, each.site, each.thread);
    }
  }
  report.print("heap", of.name, of.resource);
  give(of.sites->entries);
  give(of.sites);
  of.sites = nullptr;
}

}  // namespace tarn::threads
