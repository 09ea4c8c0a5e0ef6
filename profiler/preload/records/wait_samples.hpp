// Chooses the waits for locks of which it is recorded who held the lock meanwhile.
//
// All waits are counted, with their time. To tell who held the lock, a waiting thread leaves a mark, and the holder
// notes its release while it still holds the lock. Where threads wait every few microseconds, that makes each of them
// wait longer. So only some waits leave a mark there, chosen by chance. A wait with a mark stands for those of its
// thread, lock and site that left none since the one before: so what all holders together are said to have held up is
// never more than what was waited.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "profiler/preload/base/event_gaps.hpp"

namespace tarn::preload {

// The state of one thread; all zeroes until it is set up.
class wait_samples {
 public:
  void set_up(std::uint64_t seed) noexcept { gaps_.set_up(seed, largest_weight()); }

  // Returns true when the wait that begins is to leave a mark. `processor_ns` is as of event_gaps::draw_next().
  template <class Clock>
  bool takes_next(Clock processor_ns) noexcept {
    if (gaps_.skips()) return false;
    count_recorded(taken_count, gaps_.pace(), max_weight, doubling_counts);
    gaps_.draw_next(cost_of_mark, largest_weight(), processor_ns);
    return true;
  }
  static void begin_anew() noexcept { taken_count.store(0, std::memory_order_relaxed); }

  struct sum {
    std::uint64_t waits, ticks;
  };
  // Adds a wait that left no mark. `cell` stands for the thread's waits for a lock at a site.
  void add(const void* cell, std::uint64_t ticks) noexcept {
    unmarked_sum& slot = slot_of(cell);
    if (slot.cell != cell) slot = {cell, {}};  // those of another cell get no holder
    slot.waits.waits += 1;
    slot.waits.ticks += ticks;
  }
  // Returns the sum of the cell's waits that left no mark, and begins a new one.
  sum take(const void* cell) noexcept {
    unmarked_sum& slot = slot_of(cell);
    return slot.cell == cell ? std::exchange(slot.waits, {}) : sum{};
  }

 private:
  // A mark and what follows from it take the threads some 2.3 us together in a server (memcached).
  static constexpr event_gaps::cost cost_of_mark = {2300, 100};
  static constexpr std::uint16_t max_weight = 64;
  static constexpr std::uint64_t doubling_counts = 1024;
  static std::uint16_t largest_weight() noexcept {
    return growing_weight(taken_count.load(std::memory_order_relaxed), max_weight, doubling_counts);
  }

  struct unmarked_sum {
    const void* cell;
    sum waits;
  };
  static constexpr std::size_t slots = 16;
  unmarked_sum& slot_of(const void* cell) noexcept {
    return unmarked_[reinterpret_cast<std::uintptr_t>(cell) * 0x9e3779b97f4a7c15ULL >> 60];
  }

  static inline constinit std::atomic<std::uint64_t> taken_count = 0;  // as of count_recorded()

  event_gaps gaps_;
  unmarked_sum unmarked_[slots] = {};
};

}  // namespace tarn::preload
