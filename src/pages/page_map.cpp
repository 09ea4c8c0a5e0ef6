#include "pages/page_map.hpp"

#include <atomic>

#include "platform/platform.hpp"

namespace tarn::detail {
constinit page_map_view page_map{nullptr, 0, 0};
}

namespace tarn::pages {
namespace {

using namespace base::units;

// One bit for each piece of the tables that is writable.
constexpr std::size_t piece_bytes = 128_KiB;
constexpr std::size_t most_pieces = 8192;
constinit std::uint64_t writable[most_pieces / 64] = {};
constinit platform::mutex writable_lock{platform::lock_rank::page_map};

constexpr std::size_t entry_bytes = sizeof(std::uintptr_t);
static_assert(sizeof(slab*) == entry_bytes);
constexpr std::size_t most_table_bytes = piece_bytes * most_pieces / 2;

std::size_t wanted_window() noexcept {
  // Twice over, because the window reaches to both sides of the probe.
  const std::size_t limit = platform::address_space_limit();
  const std::size_t wanted = limit != 0 ? limit * 4 : platform::physical_memory() * 64;
  const std::size_t least = limit != 0 ? 1_GiB : 1024_GiB;
  const std::size_t most = most_table_bytes / entry_bytes * unit_bytes;
  return wanted < least ? least : wanted > most ? most : wanted;
}

// Under the lock. False: the system refuses.
bool open_piece(std::size_t piece) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (piece % 64);
  if ((writable[piece / 64] & bit) == 0) {
    if (!platform::make_writable(reinterpret_cast<char*>(detail::page_map.keys) + piece * piece_bytes, piece_bytes)) {
      return false;
    }
    writable[piece / 64] |= bit;
  }
  return true;
}

}  // namespace

bool page_map::initialise() noexcept {
  const std::size_t window = base::align_up(wanted_window(), unit_bytes * piece_bytes / entry_bytes);
  const std::uintptr_t units = window / unit_bytes;
  // Where the kernel puts the tables is where it will put what follows.
  void* const tables = platform::map_read_only(2 * units * entry_bytes);
  if (tables == nullptr) {
    return false;
  }
  const std::uintptr_t here = reinterpret_cast<std::uintptr_t>(tables) >> detail::unit_shift;
  detail::page_map.keys = static_cast<std::uintptr_t*>(tables);
  detail::page_map.first = here > units / 2 ? here - units / 2 : 0;
  detail::page_map.count = units;
  return true;
}

void* page_map::map(std::size_t bytes, std::size_t alignment) noexcept {
  const std::uintptr_t window = detail::page_map.count;
  const std::uintptr_t units = base::divide_up(bytes, unit_bytes);
  if (units > window) {
    return nullptr;  // nowhere, then
  }
  void* start = platform::map(bytes, alignment);
  if (start == nullptr || cover(start, bytes)) {
    return start;
  }
  platform::unmap(start, bytes);
  // The program has reserved what was free around the window's middle. Ask for
  // places further down, and from the top again, wherever the last one was found. What
  // is large has few places to be.
  static constinit std::atomic<std::uintptr_t> asked{0};
  constexpr std::uintptr_t most_wishes = 64;
  const std::uintptr_t step = units > window / most_wishes ? units : window / most_wishes;
  for (std::uintptr_t wish = 0; wish < window / step; ++wish) {
    const std::uintptr_t unit = (asked.load(std::memory_order_relaxed) + window / 2) % window;
    const std::uintptr_t at = (detail::page_map.first + unit) << detail::unit_shift;
    start = platform::map(bytes, alignment, reinterpret_cast<void*>(at));
    if (start == nullptr) {
      return nullptr;
    }
    if (cover(start, bytes)) {
      asked.fetch_add(units, std::memory_order_relaxed);
      return start;
    }
    platform::unmap(start, bytes);
    asked.fetch_add(step, std::memory_order_relaxed);
  }
  return nullptr;
}

platform::mutex& page_map::lock() noexcept { return writable_lock; }

bool page_map::cover(const void* start, std::size_t bytes) noexcept {
  const std::uintptr_t unit = unit_of(start);
  const std::size_t units = base::divide_up(bytes, unit_bytes);
  if (unit >= detail::page_map.count || units > detail::page_map.count - unit) {
    return false;
  }
  const platform::locked hold(writable_lock);
  const std::size_t of_table = detail::page_map.count * entry_bytes / piece_bytes;
  const std::size_t last = (unit + units - 1) * entry_bytes / piece_bytes;
  for (std::size_t piece = unit * entry_bytes / piece_bytes; piece <= last; ++piece) {
    if (!open_piece(piece) || !open_piece(of_table + piece)) {
      return false;
    }
  }
  return true;
}

void page_map::set(const void* start, std::size_t units, std::uintptr_t key, slab* s) noexcept {
  const std::uintptr_t first = unit_of(start);
  for (std::uintptr_t unit = first; unit < first + units; ++unit) {
    __atomic_store_n(&slabs()[unit], s, __ATOMIC_RELAXED);
    __atomic_store_n(&detail::page_map.keys[unit], key, __ATOMIC_RELEASE);
  }
}

void page_map::set_large(const void* start, std::size_t units, std::uintptr_t owner, slab* s) noexcept {
  set(start, units, owner | interior_mark, s);
  set(start, 1, owner | large_mark, s);
}

void page_map::retire(const void* start, std::size_t units) noexcept {
  const std::uintptr_t first = unit_of(start);
  for (std::uintptr_t unit = first; unit < first + units; ++unit) {
    __atomic_store_n(&detail::page_map.keys[unit], 0, __ATOMIC_RELAXED);
  }
}

}  // namespace tarn::pages
