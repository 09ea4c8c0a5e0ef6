// The run index lists the segments of one segment allocator: it finds the ones with room for a run, and the ones with
// free memory that can go back to the system.
//
// Segments lie in bins by their longest free run, 8 bins for each power of two. The bits of one word tell which bins
// are not empty. A search checks a few segments of the bin in which the wanted length falls, and then takes any
// segment of the next bin that is not empty. So its cost does not depend on the number of segments
// (docs/design/run-index.md).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/list.hpp"
#include "memory/pages/segment.hpp"

namespace tarn::pages {

/// The lock of its owner guards it. Invariant, for every segment of the index:
///   it lies in the bin of its longest free run, or in none if it has no free unit
///   it lies in `dirty_` if it has dirty units, otherwise in `clean_`
class run_index {
 public:
  void insert(segment& added) noexcept;
  void remove(segment& removed) noexcept;
  /// Updates the index; called after each change of a segment's free or dirty units.
  void update(segment& changed) noexcept;

  /// Returns a segment with a free run of `units`, if possible one with little more. Returns null if none was found; a
  /// segment that has hardly enough may be missed. Cost: constant time.
  segment* find(std::size_t units) const noexcept;

  /// Returns the first segment with dirty units, in the order in which they became dirty or were moved.
  segment* first_dirty() const noexcept { return dirty_.front(); }
  std::size_t dirty_segments() const noexcept { return dirty_count_; }
  /// Returns the dirty units of all segments, except reserved ones, which the memory policy leaves alone. Any thread
  /// may call it without the lock, and gets a count of a moment ago.
  std::size_t dirty_units() const noexcept { return dirty_units_.load(std::memory_order_relaxed); }
  void move_to_end_of_dirty(segment& visited) noexcept {
    dirty_.remove(&visited);
    dirty_.push_back(&visited);
  }

  /// Calls `visit` with each segment, which it may remove.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const base::list<segment>* list : {&clean_, &dirty_}) {
      for (segment* member = list->front(); member != nullptr;) {
        segment* const next = member->next;
        visit(*member);
        member = next;
      }
    }
  }

  /// Returns the number of segments that all searches together have checked.
  std::uint64_t steps() const noexcept { return steps_; }

  bool is_valid() const noexcept;

 private:
  static constexpr std::size_t bin_count = 64;
  static std::size_t bin_of(std::size_t units) noexcept;
  void enter_bin(segment& entered) noexcept;
  void leave_bin(segment& left) noexcept;
  void add_dirty(const segment& changed, std::size_t now) noexcept;

  segment* bins_[bin_count] = {};  ///< lists through bin_previous and bin_next
  std::uint64_t occupied_ = 0;     ///< bins that are not empty
  base::list<segment> clean_;
  base::list<segment> dirty_;
  std::size_t dirty_count_ = 0;
  std::atomic<std::size_t> dirty_units_{0};  ///< written under the lock
  mutable std::uint64_t steps_ = 0;
};

}  // namespace tarn::pages
