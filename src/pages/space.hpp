// A space: the segments and the single mappings from which heaps take runs of
// units. One is shared by all threads' heaps; a heap object has its own.
//
// Knows addresses and sizes, never threads. All functions may be called by any
// thread; each takes the lock for a short while.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/list.hpp"
#include "pages/segment.hpp"
#include "platform/mutex.hpp"

namespace tarn::pages {

enum class purging : std::uint8_t { never, after_delay, at_once };

struct space_options {
  std::size_t segment_units = most_units;        ///< of a new segment, at least
  std::size_t alignment = std::size_t{2} << 20;  ///< of segments
  std::size_t limit = 0;                         ///< bytes handed out, at most; 0: none
  purging purge = purging::after_delay;          ///< of free memory
  bool huge_wanted = false;                      ///< asks for huge pages
  bool huge_refused = false;                     ///< asks for none
};

/// More than any large block can have.
inline constexpr std::size_t most_large_bytes = std::size_t{1} << 47;

/// Bytes of a large block are rounded up to whole units.
class space {
 public:
  constexpr space() noexcept = default;
  space(const space&) = delete;
  space& operator=(const space&) = delete;

  /// Before any other use, and after release_all(0) again.
  void configure(const space_options& options) noexcept { options_ = options; }

  /// Maps and touches `bytes` now; they stay until release_all drops them.
  /// False when there is no memory for all of it (what there was is kept).
  [[nodiscard]] bool reserve(std::size_t bytes) noexcept;

  /// A slab of class `index`, all blocks free, in the page map under
  /// `owner | index`. Null at the limit or without memory.
  slab* allocate_slab(detail::size_class index, std::uintptr_t owner) noexcept;

  /// A large block of at least `bytes` at a multiple of `alignment`. Null at the
  /// limit, without memory, or when the numbers are absurd.
  slab* allocate_large(std::size_t bytes, std::size_t alignment, std::uintptr_t owner) noexcept;

  /// Makes a large block at least `bytes` long without copying: in its place, or
  /// (a mapping of its own) by moving its pages, which changes `block->start`.
  [[nodiscard]] bool resize_large(slab* block, std::size_t bytes, std::uintptr_t owner) noexcept;

  /// Gives a slab or a large block back.
  void deallocate(slab* run) noexcept;

  /// Gives what has been free for longer than `delay_ms` back to the system, a
  /// bounded amount in one call. Cheap when nothing is due.
  void purge(std::uint64_t now_ms, std::uint32_t delay_ms) noexcept;
  /// All that is free, at once, and whole segments with their address space. Returns the
  /// bytes given back.
  std::size_t purge_all() noexcept;

  /// Everything free at once. Segments beyond `kept_bytes` go back to the system.
  void release_all(std::size_t kept_bytes) noexcept;

  std::size_t used_bytes() const noexcept { return used_.load(std::memory_order_relaxed); }
  std::size_t peak_used_bytes() const noexcept { return peak_.load(std::memory_order_relaxed); }

  /// Bytes handed out by all spaces together, at most; 0: no limit. Before threads.
  static void limit_process(std::size_t bytes) noexcept;

  /// Held around a fork; it covers the descriptions of single mappings, too.
  platform::mutex& lock() noexcept { return mutex_; }
  bool is_valid() noexcept;

 private:
  slab* take_run(std::size_t units, std::size_t alignment) noexcept;
  segment* add_segment(std::size_t least_units, std::size_t wanted_units) noexcept;
  slab* map_single(std::size_t units, std::size_t alignment, std::uintptr_t owner) noexcept;
  bool resize_single(slab& block, std::size_t units) noexcept;
  bool charge(std::size_t bytes) noexcept;
  void note_peak() noexcept;
  void credit(std::size_t bytes) noexcept;
  void purge_excess() noexcept;
  std::size_t purge_set(segment& of, unit_set segment::*which, std::size_t most) noexcept;

  platform::mutex mutex_{platform::lock_rank::space};
  space_options options_;
  base::list<segment> segments_;
  base::list<slab> singles_;  ///< mappings of their own
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> peak_{0};
  std::atomic<std::uint64_t> next_purge_ms_{0};
  std::atomic<bool> purge_pending_{false};
  bool purge_running_ = false;
  std::size_t kept_dirty_ = std::size_t{16} << 20;
  std::uint64_t excess_purged_ms_ = 0;  ///< 0: not lately
};

}  // namespace tarn::pages
