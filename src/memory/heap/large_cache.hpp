// Caches large runs in front of the central space, so that a thread that allocates and frees large blocks in turn
// takes no lock.
//
// Runs lie in bins by their length, eight bins for each power of two. A bin has two slots of one word each:
//
//   owner's  the owner puts runs in, with a store; any thread takes them out, with a compare-and-swap
//   shared   any thread puts runs in and takes them out, with a compare-and-swap
//
// Threads that hold several blocks of about 1 MiB at a time would still meet at the central space for most of them. So
// there are four *spare* slots for runs of any bin of up to 18 units, which work like the shared ones. They are in use
// once a bin had to refuse such a run.
//
// Only the owner stores into an empty slot of the owner, so the store overwrites nothing. A run leaves a slot only by a
// compare-and-swap of the whole word, so no run leaves it twice.
//
// A bin is shut until the owner has missed a run of its length, and the space has granted the bytes. It shuts again
// when the slots were found empty twice in a row. A visit marks the runs that it finds, and takes those that the last
// visit has marked: they were not used in between. (docs/design/large-runs.md; tests/models/large_cache.cpp)
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "memory/pages/space.hpp"
#include "platform/race_detector.hpp"

namespace tarn::heaps {

/// The lengths of the runs of large blocks that lie in segments.
struct large_runs {
  static constexpr std::size_t min_units = detail::largest_class_size / pages::unit_bytes + 1;
  static constexpr std::size_t max_units = pages::max_units / 2;

  static constexpr bool serves(std::size_t units) noexcept { return units - min_units <= max_units - min_units; }
  /// Lengths below 16 have a bin each; then an eighth of a power of two shares one.
  static constexpr std::size_t bin_of(std::size_t units) noexcept {
    const auto power = static_cast<std::size_t>(std::bit_width(units | 8) - 1);
    return power * 8 + (units >> (power - 3)) - (3 * 8 + min_units);
  }
};

class large_cache : large_runs {
 public:
  /// Takes an unused run of `units` or slightly more units. Returns null if there is none. Only the owner may call it.
  pages::slab* take(std::size_t units) noexcept {
    if (!serves(units)) [[unlikely]] {
      return nullptr;
    }
    const std::size_t bin = bin_of(units);
    for (slot* const target : {&owners_[bin], &shared_[bin]}) {
      word entry = target->load(std::memory_order_relaxed);
      while (units_in(entry) >= units) {
        // acquire: pairs with the release in put().
        if (target->compare_exchange_weak(entry, 0, std::memory_order_acquire, std::memory_order_relaxed)) [[likely]] {
          platform::note_acquire(target);
          return run_in(entry);
        }
      }
    }
    return units <= max_spare_units && is_open(spare_bin) ? take_spare(units) : nullptr;
  }

  /// Returns true if take() would probably find a run of at least `units`. Only the owner may call it.
  bool holds(std::size_t units) const noexcept {
    return serves(units) && (units_in(owners_[bin_of(units)].load(std::memory_order_relaxed)) >= units ||
                             units_in(shared_[bin_of(units)].load(std::memory_order_relaxed)) >= units);
  }

  /// Returns false if the cache has been empty since the last visit that emptied it. Any thread may call it.
  bool may_hold() const noexcept { return open_.load(std::memory_order_relaxed) != 0; }

  /// Keeps an unused run. Returns false if its bin is shut or full. Any thread may call it; `is_by_owner` is true for
  /// the owner.
  bool put(pages::slab& run, bool is_by_owner) noexcept {
    if (!serves(run.units)) [[unlikely]] {
      return false;
    }
    const std::size_t bin = bin_of(run.units);
    if (!is_open(bin)) return false;
    if (bin >= first_long_bin &&
        (owners_[bin].load(std::memory_order_relaxed) != 0 || shared_[bin].load(std::memory_order_relaxed) != 0)) {
      return false;  // two such runs are much memory; only two threads at the same moment may still put one each
    }
    const word entry = reinterpret_cast<std::uintptr_t>(&run) | std::uint64_t{run.units} << units_shift;
    if (is_by_owner && owners_[bin].load(std::memory_order_relaxed) == 0) {
      platform::note_release(&owners_[bin]);
      // release: a thread that takes the run out sees its description.
      owners_[bin].store(entry, std::memory_order_release);
      return true;
    }
    return put_anywhere(shared_[bin], entry) || (run.units <= max_spare_units && put_spare(entry));
  }

  /// Opens the bin for runs of `units`, if `space` grants the bytes. The owner calls it after a miss.
  void open(std::size_t units, pages::space& space) noexcept;

  /// Takes out the runs that the last visit has marked (`must_empty`: all runs), calls `give` with each, and shuts the
  /// bins that were not used. Returns true if runs or open bins are left. Any thread may call it; calls by several
  /// threads at once only shorten the delay.
  template <class Give>
  bool visit(bool must_empty, pages::space& space, Give give) noexcept {
    for (std::uint64_t left = used_bins_.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
      const auto bin = static_cast<std::size_t>(std::countr_zero(left));
      bool is_unused = true;
      const auto look_into = [&](slot& visited) {
        if (pages::slab* const run = take_unused(visited, must_empty, is_unused)) give(*run);
      };
      for_each_slot(*this, bin, look_into);
      if (is_unused) note_unused(bin, must_empty, space);
    }
    return open_.load(std::memory_order_relaxed) != 0;
  }

  struct content {
    std::size_t runs, units;
  };
  /// Returns the present content of the cache. Any thread may call it.
  content count() const noexcept;

 private:
  using word = std::uint64_t;  ///< a run: its address, its units above the bits of an address, and `marked`
  using slot = std::atomic<word>;
  static constexpr unsigned units_shift = 48;
  static constexpr word marked = 1;
  static_assert(alignof(pages::slab) > marked && max_units >> (64 - units_shift) == 0);

  static constexpr std::size_t units_in(word entry) noexcept { return entry >> units_shift; }
  static pages::slab* run_in(word entry) noexcept {
    return reinterpret_cast<pages::slab*>(entry & ((word{1} << units_shift) - 1) & ~marked);
  }

  static constexpr std::size_t bin_count = bin_of(max_units) + 1;
  static constexpr std::size_t spare_bin = bin_count;  ///< the spare slots, where bins are counted
  static_assert(spare_bin < 64);
  static constexpr std::size_t spare_count = 4;
  static constexpr std::size_t max_spare_units = 18;
  /// A program of many lengths has so much in its bins that spare slots would keep runs which it seldom asks for.
  static constexpr std::size_t spare_least = std::size_t{10} << 20;
  /// Bins from here on keep one run.
  static constexpr std::size_t first_long_bin = bin_of(64);
  static constexpr std::size_t max_bytes_of(std::size_t bin) noexcept;

  bool is_open(std::size_t bin) const noexcept {
    return (open_.load(std::memory_order_acquire) >> bin & 1) != 0;  // acquire: pairs with open()
  }

  /// Puts a run into a slot that any thread may fill. Returns false if the slot is full.
  static bool put_anywhere(slot& target, word entry) noexcept {
    platform::note_release(&target);
    word expected = 0;
    // seq_cst: it includes release; and it orders this before the caller's check of the owner's state (heap::retire
    // says why).
    return target.compare_exchange_strong(expected, entry, std::memory_order_seq_cst, std::memory_order_relaxed);
  }
  bool put_spare(word entry) noexcept;
  pages::slab* take_spare(std::size_t units) noexcept;

  /// Calls `visit` with each slot of a bin.
  template <class Cache, class Visit>
  static void for_each_slot(Cache& self, std::size_t bin, Visit visit) noexcept {
    if (bin == spare_bin) {
      for (auto& spare : self.spares_) visit(spare);
    } else {
      visit(self.owners_[bin]);
      visit(self.shared_[bin]);
    }
  }

  void open_bin(std::size_t bin, pages::space& space) noexcept;
  pages::slab* take_unused(slot& holder, bool must_empty, bool& is_unused) noexcept;
  void note_unused(std::size_t bin, bool must_empty, pages::space& space) noexcept;

  std::atomic<std::uint64_t> open_{0};       ///< bins that accept runs
  std::atomic<std::uint64_t> used_bins_{0};  ///< bins that were ever open
  std::atomic<std::uint64_t> unused_{0};     ///< bins that the last visit found empty
  std::atomic<bool> has_refused_{false};     ///< a run was dropped that a spare slot could have kept
  slot owners_[bin_count] = {};
  slot shared_[bin_count] = {};
  slot spares_[spare_count] = {};
};

}  // namespace tarn::heaps
