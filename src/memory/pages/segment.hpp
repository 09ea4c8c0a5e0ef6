// A segment is one mapping, cut into units that are handed out in runs. Its record, its slabs' descriptions and the
// bits of their remote frees lie elsewhere, in the region of the metadata.
#pragma once

#include <cstddef>

#include "base/list.hpp"
#include "memory/pages/slab.hpp"
#include "memory/pages/unit_set.hpp"
#include "platform/mutex.hpp"
#include "platform/platform.hpp"

namespace tarn::pages {

class space;
struct segment_record;

/// The lock of its space guards it. Invariant: exactly one of these is true for every unit:
///   in use                    in none of the sets
///   free, reads as zero       in `free` only
///   free, freed lately        in `free` and `recently_freed`
///   free, freed a while ago   in `free` and `stale`
///   free, locked              in `free` and `refused`
///   its pages are going back  in `lent` only
/// and longest_run == free.longest_run(). List links: they belong to a list of the run index.
struct alignas(alignof(slab)) segment : base::list_links<segment> {
  segment_record* record;  ///< the record whose memory holds this segment
  char* start;
  std::size_t units;
  std::size_t free_units;
  std::size_t dirty_units;    ///< free units that hold memory: recently freed or stale
  std::size_t longest_run;    ///< units in the longest free run
  std::size_t indexed_dirty;  ///< dirty_units as the run index has counted them
  segment* bin_previous;
  segment* bin_next;
  std::uint8_t bin;  ///< bin of the run index, counted from 1; 0 if it is in no bin
  bool is_reserved;  ///< reserved: it survives release(), and no purge by age touches it
  unit_set free;
  unit_set recently_freed;
  unit_set stale;
  unit_set refused;  ///< free units whose pages the system did not take: they are locked (mlock)
  unit_set lent;     ///< units in no other set: their pages are going back right now

  /// Maps a segment and covers it in the page map. Returns null without memory.
  static segment* create(std::size_t units, std::size_t alignment) noexcept;
  void destroy(void (*unmap)(void* start, std::size_t bytes) noexcept = platform::unmap) noexcept;

  std::size_t bytes() const noexcept { return units * unit_bytes; }
  char* address(std::size_t unit) const noexcept { return start + unit * unit_bytes; }
  std::size_t unit_of(const void* address) const noexcept {
    return static_cast<std::size_t>(static_cast<const char*>(address) - start) / unit_bytes;
  }

  /// Takes the first run of `count` free units whose address is a multiple of `alignment` (first fit); null if there
  /// is none. The slab of the run has start, home, units and is_zeroed set, and is not in the page map yet.
  slab* take(std::size_t count, std::size_t alignment) noexcept;
  /// Takes `count` more units right behind a run of this segment. Returns false if they are not all free there.
  bool extend(slab& run, std::size_t count) noexcept;
  /// Gives a run back, or (`first_unit` > 0) only its units from there on. `is_clean`: they read as zero.
  void give(slab& run, std::size_t first_unit = 0, bool is_clean = false) noexcept;
  /// Takes units out of the dirty sets and the refused one; returns how many were in them.
  std::size_t clean_up(std::size_t unit, std::size_t count) noexcept;
  /// Takes dirty units out of all sets, so that no thread takes them while their pages go back.
  void lend(std::size_t unit, std::size_t count) noexcept;
  /// Puts lent units back. `is_clean`: they read as zero.
  void put_back(std::size_t unit, std::size_t count, bool is_clean) noexcept;
  /// Puts lent units back whose pages the system did not take.
  void put_back_refused(std::size_t unit, std::size_t count) noexcept;
  /// Makes refused units recently freed ones, so that they are tried again.
  void retry_refused() noexcept;
  /// Puts all lent units back. It runs in a forked child, where the thread that lent them does not exist. It is not
  /// known whether the kernel had taken their pages, so they count as dirty. Returns true if there were any.
  bool put_back_all() noexcept;
  /// Frees all units at once, as if every run had been given back.
  void reset() noexcept;
  /// Forgets the remote frees of all slabs. It runs in a forked child before the segment is reset or destroyed: threads
  /// of the parent may have been in the middle of some.
  void forget_remote_frees() noexcept;

  bool is_valid() const noexcept;

 private:
  void take_units(std::size_t unit, std::size_t count) noexcept;
  void add_units(std::size_t unit, std::size_t count, bool is_clean) noexcept;
  slab* description(std::size_t unit) noexcept {
    return reinterpret_cast<slab*>(reinterpret_cast<char*>(this) + sizeof(segment)) + unit;
  }
  remote_bits& bits_of(std::size_t unit) noexcept;
};

static_assert(sizeof(segment) % alignof(slab) == 0);

/// The memory of a segment, its slabs' descriptions and, behind them, the remote bits, which stay untouched until there
/// are remote frees. It begins with a page. This structure lies elsewhere, so that all pages of a free record can go
/// back.
struct segment_record {
  segment_record* next_free;
  void* memory;
};

/// Allocates the records of segments. Their sizes go by powers of two of units. A record is reused after its segment
/// has ended: its bits are all zero then. Callers hold the lock of a space.
class segment_records {
 public:
  /// Returns a record whose memory is not constructed; null without memory.
  static segment_record* allocate(std::size_t units) noexcept;
  static void deallocate(segment_record& record, std::size_t units) noexcept;
  /// Returns the lock, which a thread takes only while it holds the lock of a space.
  static platform::mutex& lock() noexcept;
};

}  // namespace tarn::pages
