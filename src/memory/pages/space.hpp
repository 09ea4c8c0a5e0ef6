// A space is a segment allocator: the segments and the single mappings from which heaps take runs of units. All
// threads' heaps share one space; a heap object has its own.
//
// It knows addresses and sizes, never threads. Any thread may call any function; each takes the lock for a short
// while.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/list.hpp"
#include "memory/pages/memory_policy.hpp"
#include "memory/pages/run_index.hpp"
#include "platform/mutex.hpp"
#include "platform/platform.hpp"

namespace tarn::pages {

enum class purging : std::uint8_t { never, after_delay, at_once };

struct space_options {
  std::size_t segment_units = max_units;         ///< least units of a new segment when much memory is in use
  std::size_t first_units = max_units;           ///< least units of the first one; later ones double the used memory
  std::size_t alignment = std::size_t{2} << 20;  ///< alignment of segments
  std::size_t limit = 0;                         ///< bytes that may be handed out; 0: no limit
  purging purge = purging::after_delay;          ///< when free memory goes back to the system
  bool asks_for_huge = false;                    ///< asks for huge pages
  bool refuses_huge = false;                     ///< asks for none
};

/// No large block can have more bytes than this.
inline constexpr std::size_t max_large_bytes = std::size_t{1} << 47;

/// Hands out runs of units. The size of a large block is rounded up to whole units.
class space {
 public:
  constexpr space() noexcept = default;
  space(const space&) = delete;
  space& operator=(const space&) = delete;

  /// Sets the options, before any other use and again after release_all(0).
  void configure(const space_options& options) noexcept { options_ = options; }

  /// Maps and touches `bytes` now; they stay until release_all drops them. Returns false if there is not enough memory
  /// for all of it (the part that was mapped is kept). Maps nothing if less memory is available: the kernel would kill
  /// the process when it touches the pages.
  [[nodiscard]] bool reserve(std::size_t bytes) noexcept;
  /// Returns true if a reservation of so many bytes needs a look at the available memory.
  static bool must_check_memory(std::size_t bytes) noexcept;
  /// Does the same as reserve(), without a look at the available memory, for which the system's files are read.
  [[nodiscard]] bool reserve_unchecked(std::size_t bytes) noexcept;

  /// Returns a slab of class `index` with all blocks free, which is in the page map under `owner | index`. Returns null
  /// if the limit is reached or there is no memory.
  slab* allocate_slab(detail::size_class index, std::uintptr_t owner) noexcept;

  /// Returns a large block of at least `bytes` at a multiple of `alignment`. Returns null if the limit is reached,
  /// there is no memory, or a number is too large.
  slab* allocate_large(std::size_t bytes, std::size_t alignment, std::uintptr_t owner) noexcept;

  /// Resizes a large block to at least `bytes` without copying: in its place, or by moving its pages. `may_move`: a
  /// block of a segment may move. Returns the description of the resized block, which may be another one. Returns null
  /// if the block is unchanged.
  [[nodiscard]] slab* resize_large(slab* block, std::size_t bytes, std::uintptr_t owner, bool may_move = true) noexcept;

  /// Gives a slab or a large block back.
  void deallocate(slab* run) noexcept;

  /// Gives memory that has been free for longer than `delay_ms` back to the system, a bounded amount in one call;
  /// reserved memory stays. Returns true if more is due now. Cheap when nothing is due.
  bool purge(std::uint64_t now_ms, std::uint32_t delay_ms) noexcept;
  /// Returns true if free memory of this space goes back to the system by itself.
  bool purges() const noexcept { return options_.purge != purging::never; }
  /// Returns true if purge() will later have enough free memory to give back that it should be called again.
  bool may_purge_later() noexcept;
  /// Sets a function that a thread calls, without a lock, when it frees a run and leaves much free memory behind:
  /// purge() should be called later. Set it before there are threads.
  static void call_when_retaining(void (*function)() noexcept) noexcept;
  /// Calls that function if a cache in front of a space keeps much free memory (`bytes`). Any thread may call it.
  static void note_retained(std::size_t bytes) noexcept;
  /// Caches may always keep this much.
  static constexpr std::size_t min_cached = std::size_t{32} << 20;
  /// Returns true if a cache in front of this space may keep runs of `bytes`, beside what the caches may keep already:
  /// that must be at most `allowance`, or an eighth of what is used. end_caching() undoes it. Any thread may call it.
  [[nodiscard]] bool grant_caching(std::size_t bytes, std::size_t allowance = min_cached) noexcept;
  void end_caching(std::size_t bytes) noexcept { cached_.fetch_sub(bytes, std::memory_order_relaxed); }

  /// Gives all free memory back at once, and whole segments with their address space. Returns the bytes given back.
  std::size_t purge_all() noexcept;

  /// Frees everything at once. Segments beyond `kept_bytes` go back to the system.
  void release_all(std::size_t kept_bytes) noexcept;
  /// Has release_all() call a function instead of platform::unmap.
  void unmap_with(void (*unmap)(void* start, std::size_t bytes) noexcept) noexcept { unmap_ = unmap; }

  std::size_t used_bytes() const noexcept { return used_bytes_.load(std::memory_order_relaxed); }
  std::size_t peak_used_bytes() const noexcept { return peak_.load(std::memory_order_relaxed); }

  /// Limits the bytes that all spaces together hand out; 0: no limit. Call it before there are threads.
  static void limit_process(std::size_t bytes) noexcept;

  /// Returns the lock, which is held around a fork; it also covers the descriptions of single mappings.
  platform::mutex& lock() noexcept { return mutex_; }
  /// Runs in a forked child, on the thread that held the lock around the fork. Opens the lock, and ends the purge of
  /// another thread of the parent that had opened it.
  void reset_after_fork() noexcept;
  /// Runs in a forked child whose parent had only the forking thread and a helper that purges. Each space ends the
  /// helper's purge when it is next locked, because at the fork the thread may have been changing the space.
  static void end_lost_purges() noexcept;
  /// Runs in a forked child whose parent had other threads. They may have been freeing blocks of this thread's heap
  /// objects, so release_all() looks for what they have left behind.
  static void note_lost_threads() noexcept;
  const run_index& index() const noexcept { return runs_; }
  bool is_valid() noexcept;

 private:
  slab* take_run(std::size_t units, std::size_t alignment) noexcept;
  std::size_t next_segment_units() const noexcept;
  bool was_refused(std::size_t units) const noexcept { return refused_units_ != 0 && units >= refused_units_; }
  segment* add_segment(std::size_t min_units, std::size_t wanted_units) noexcept;
  slab* map_single(std::size_t units, std::size_t alignment) noexcept;
  void forget_single(slab& block) noexcept;
  bool resize_single(slab& block, std::size_t units, std::uintptr_t owner) noexcept;
  slab* resize_run(slab& block, std::size_t units, std::uintptr_t owner, bool may_move) noexcept;
  slab* move_out(slab& block, std::size_t units, std::uintptr_t owner) noexcept;
  bool charge(std::size_t bytes) noexcept;
  void note_peak() noexcept;
  void credit(std::size_t bytes) noexcept;
  void purge_excess(std::size_t freed) noexcept;
  /// Opens the lock until no other thread gives units of this space back.
  void wait_for_purge() noexcept;
  bool retains(std::size_t bytes) const noexcept;
  segment* next_dirty() noexcept;
  std::size_t purge_set(segment& purged, unit_set segment::*member, std::size_t max_bytes) noexcept;
  std::size_t purge_lent(segment& purged, std::size_t unit, std::size_t count) noexcept;
  void retry_refused() noexcept;
  void drop_unused() noexcept;
  bool is_being_purged() noexcept;
  void end_purge_of_lost_thread() noexcept;

  platform::mutex mutex_{platform::lock_rank::space};
  space_options options_;
  run_index runs_;
  base::list<slab> singles_;  ///< blocks with mappings of their own
  std::atomic<std::size_t> used_bytes_{0};
  std::atomic<std::size_t> peak_{0};
  std::atomic<std::size_t> cached_{0};  ///< bytes that caches may keep
  memory_policy policy_;
  void (*unmap_)(void* start, std::size_t bytes) noexcept = platform::unmap;
  std::size_t refused_units_ = 0;        ///< the fewest units for which the system last refused a segment; 0: none
  std::size_t walked_segments_ = 0;      ///< by the last drop_unused()
  std::size_t purges_without_walk_ = 0;  ///< since then, without a delay
  std::uint32_t purge_generation_ = 0;   ///< of the purge that has opened the lock; 0: there is none
};

}  // namespace tarn::pages
