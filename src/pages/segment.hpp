// A segment: one mapping, cut into units that are handed out in runs. Its first
// units hold its own record and the slabs' descriptions.
#pragma once

#include <cstddef>

#include "base/list.hpp"
#include "pages/slab.hpp"
#include "pages/unit_set.hpp"

namespace tarn::pages {

class space;

/// Guarded by the lock of its space. Invariant, for every unit not below
/// `first_unit`, exactly one of:
///   in use                       in none of the sets
///   free, reads as zero          free
///   free, given back lately      free and fresh
///   free, given back a while ago free and stale
struct segment : base::list_links<segment> {
  char* start;
  std::size_t units;
  std::size_t first_unit;  ///< the first that can be handed out
  std::size_t free_units;
  std::size_t dirty_units;  ///< free ones that hold memory: fresh or stale
  bool kept;                ///< survives release()
  unit_set free;
  unit_set fresh;
  unit_set stale;

  /// Units that the record of a segment of `units` takes.
  static constexpr std::size_t record_units(std::size_t units) noexcept {
    return base::divide_up(sizeof(segment) + units * sizeof(slab), unit_bytes);
  }

  /// Maps one and covers it in the page map. Null when there is no memory.
  static segment* create(std::size_t units, std::size_t alignment) noexcept;
  void destroy() noexcept;

  std::size_t bytes() const noexcept { return units * unit_bytes; }
  char* address(std::size_t unit) const noexcept { return start + unit * unit_bytes; }
  std::size_t unit_of(const void* inside) const noexcept {
    return static_cast<std::size_t>(static_cast<const char*>(inside) - start) / unit_bytes;
  }

  /// A run of `count` free units whose address is a multiple of `alignment`,
  /// first fit; null when there is none. Its slab has start, home, units and
  /// zeroed set, and is not in the page map yet.
  slab* take(std::size_t count, std::size_t alignment) noexcept;
  /// Takes `count` more units right behind a run of this segment.
  bool extend(slab& run, std::size_t count) noexcept;
  /// Gives a run back, or (`from` > 0) only its units from there on; `clean`: they
  /// read as zero.
  void give(slab& run, std::size_t from = 0, bool clean = false) noexcept;
  /// Takes units out of the dirty sets; returns how many were in them.
  std::size_t clean_up(std::size_t unit, std::size_t count) noexcept;
  /// All units free at once, as after the last give.
  void reset() noexcept;

  bool is_valid() const noexcept;

 private:
  slab* description(std::size_t unit) noexcept {
    return reinterpret_cast<slab*>(reinterpret_cast<char*>(this) + sizeof(segment)) + unit;
  }
};

static_assert(sizeof(segment) % alignof(slab) == 0);

}  // namespace tarn::pages
