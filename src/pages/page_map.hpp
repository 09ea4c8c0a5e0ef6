// The page map: address → key and slab. Two flat tables over a window of the
// address space, one load to read either.
//
// The window lies around the place where the kernel maps memory, and is wide
// enough for many times the machine's memory (or, under `ulimit -v`, for many
// times the limit). The table is reserved as memory that only reads as zero,
// which neither a limit on memory nor strict overcommit counts as a promise, and
// made writable in pieces where units are mapped. An address outside the window
// cannot be a block of ours: the bounds check of the look-up is at the same time
// the check for wild pointers. Where the program's own reservations push the kernel out
// of the window, it is asked for places inside. (docs/design/page-map.md)
#pragma once

#include <cstddef>
#include <cstdint>

#include <tarn/detail/fast_path.hpp>

#include "base/bits.hpp"
#include "platform/mutex.hpp"

namespace tarn::pages {

inline constexpr std::size_t unit_bytes = std::size_t{1} << detail::unit_shift;

struct slab;

/// What stands below the heap's address in a key: a size class, or one of these.
inline constexpr std::uintptr_t large_mark = 126;     ///< first unit of a large block
inline constexpr std::uintptr_t interior_mark = 127;  ///< another unit of a large block
inline constexpr std::uintptr_t mark_mask = 127;
static_assert(detail::class_count <= large_mark && alignof(detail::heap_front) == mark_mask + 1);

class page_map {
 public:
  /// Once, before anything else of this class. False: no address space.
  static bool initialise() noexcept;

  /// platform::map of whole units, in the window, with entries that can be set. Null
  /// when there is no memory. Any thread.
  static void* map(std::size_t bytes, std::size_t alignment) noexcept;

  /// Makes the entries for [start, start + bytes) writable. False when they lie
  /// outside the window or the system refuses: the memory cannot be used then.
  /// Any thread.
  [[nodiscard]] static bool cover(const void* start, std::size_t bytes) noexcept;

  /// Sets the entries of `units` units from `start`. Any thread that owns the
  /// units. Release: a slab can change hands while its blocks are out, and who then
  /// finds the new owner in a key (detail::key_of, acquire) never met it before.
  static void set(const void* start, std::size_t units, std::uintptr_t key, slab* s) noexcept;
  /// A large block: its first unit, then interior marks.
  static void set_large(const void* start, std::size_t units, std::uintptr_t owner, slab* s) noexcept;
  /// The units are free: no block is there, but a late free can be explained by
  /// the slab that was.
  static void retire(const void* start, std::size_t units) noexcept;
  /// The units are not ours any more.
  static void clear(const void* start, std::size_t units) noexcept { set(start, units, 0, nullptr); }

  /// Held around a fork.
  static platform::mutex& lock() noexcept;

  /// The slab of the unit in which `address` lies; null where there is none.
  static slab* slab_of(const void* address) noexcept {
    const std::uintptr_t unit = unit_of(address);
    return unit < detail::page_map.count ? __atomic_load_n(&slabs()[unit], __ATOMIC_RELAXED) : nullptr;
  }

 private:
  /// The number of the address's unit in the window.
  static std::uintptr_t unit_of(const void* address) noexcept {
    return (reinterpret_cast<std::uintptr_t>(address) >> detail::unit_shift) - detail::page_map.first;
  }
  /// The table of slabs stands behind that of the keys.
  static slab** slabs() noexcept { return reinterpret_cast<slab**>(detail::page_map.keys + detail::page_map.count); }
};

}  // namespace tarn::pages
