#include "thread/sites.hpp"

#include <cstring>

#include "base/leaks.hpp"
#include "heap/lookup.hpp"
#include "pages/page_map.hpp"
#include "platform/platform.hpp"
#include "thread/threads.hpp"

namespace tarn::heaps {

/// An open hash table from addresses to calls. Invariant: count <= 3/4 of room, a power of two; an entry stands at or
/// behind the place of its hash, with no empty one between.
struct site_table {
  struct entry {
    const void* block;
    const void* site;
    std::size_t bytes;
    std::uint32_t thread;
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

// From the process's heap: the noted one may be full, or released.
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

// After all that is free lies in the slabs.
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
  at = {.block = block, .site = site, .bytes = bytes, .thread = platform::thread_number()};
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
