// Chooses which acquisitions of locks are recorded, so that passing through a lock costs little.
//
// A thread's first acquisition of each lock at each call site is always counted. Each other one is counted with the
// probability 1 / W, independently of all others, and counts W times, whether it has to wait or not. So the counts are
// unbiased estimates (Horvitz and Thompson), and the sum of W (W - 1) over the counted ones is an unbiased estimate of
// the variance. A thread chooses W from its past alone: so large that recording takes a small part of its time, and no
// larger than what the process has recorded allows (chance.hpp). With `--full` all are counted. Waits are all recorded,
// also those of acquisitions that are not counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "profiler/preload/base/event_gaps.hpp"

namespace tarn::preload {

// The state of one thread; all zeroes until it is set up.
class lock_samples {
 public:
  void set_up(std::uint64_t seed) noexcept { gaps_.set_up(seed, largest_weight()); }

  // Returns true when this acquisition is not recorded, unless it has to wait.
  [[gnu::always_inline]] bool skips(const void* lock, std::uintptr_t caller) noexcept {
    const std::uint32_t pair = pair_of(lock, caller);
    const std::uint32_t* const bucket = known_pairs_[bucket_of(pair)];
    const bool is_full = bucket[bucket_pairs - 1] != 0;
    return (bucket[0] == pair || is_full || is_known(bucket, pair)) && gaps_.skips();
  }
  // Counts an acquisition that is recorded, and returns how many acquisitions it stands for. `processor_ns` is as of
  // event_gaps::draw_next().
  template <class Clock>
  std::uint16_t take_weight(const void* lock, std::uintptr_t caller, Clock processor_ns) noexcept {
    const std::uint16_t weight = add_pair(pair_of(lock, caller)) ? 1 : gaps_.weight();
    if (gaps_.is_due()) {
      count_recorded(recorded_count, gaps_.pace(), max_weight, doubling_counts);
      gaps_.draw_next(cost_of_one, largest_weight(), processor_ns);
    }
    return weight;
  }
  // Called when the addresses of code may be those of other code.
  void forget_pairs() noexcept { std::memset(known_pairs_, 0, sizeof known_pairs_); }
  // Returns how many acquisitions the next recorded one stands for.
  std::uint16_t weight() const noexcept { return gaps_.weight(); }
  // Called when the process is no longer recorded: the thread's next billion acquisitions are skipped.
  void skip_many() noexcept { gaps_.skip_many(); }

  // Returns true while every acquisition of the process has been recorded.
  static bool has_recorded_all() noexcept { return recorded_count.load(std::memory_order_relaxed) < full_counts; }
  // Begins anew in a child of fork.
  static void begin_anew() noexcept { recorded_count.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t max_weight = 128;
  static constexpr std::uint64_t doubling_counts = 1024;
  // To record one acquisition takes some 350 ns in a server; in a loop it is 150.
  static constexpr event_gaps::cost cost_of_one = {350, 100};
  static constexpr int bucket_bits = 6, bucket_pairs = 8;

  // Returns a number that stands for a lock and the code that acquires it; never 0.
  static std::uint32_t pair_of(const void* lock, std::uintptr_t caller) noexcept {
    return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(lock) + caller * 0x9fb21c651e98df25ULL) *
                                          0x9e3779b97f4a7c15ULL >>
                                      32) |
           1;
  }
  static std::size_t bucket_of(std::uint32_t pair) noexcept { return pair >> (32 - bucket_bits); }
  // Returns true when the bucket has the pair behind its first entry. A pair for which a full one has no room is
  // recorded by chance from its first acquisition on.
  static bool is_known(const std::uint32_t* bucket, std::uint32_t pair) noexcept {
    for (int index = 1; index < bucket_pairs; ++index) {
      if (bucket[index] == pair) return true;
    }
    return false;
  }
  // Adds the pair to its bucket. Returns false if it is there already, or if the bucket is full.
  bool add_pair(std::uint32_t pair) noexcept {
    std::uint32_t* const bucket = known_pairs_[bucket_of(pair)];
    for (int index = 0; index < bucket_pairs; ++index) {
      if (bucket[index] == pair) return false;
      if (bucket[index] != 0) continue;
      bucket[index] = pair;
      return true;
    }
    return false;
  }
  static std::uint16_t largest_weight() noexcept {
    return growing_weight(recorded_count.load(std::memory_order_relaxed), max_weight, doubling_counts);
  }

  static inline constinit std::atomic<std::uint64_t> recorded_count = 0;  // as of count_recorded()

  event_gaps gaps_;
  std::uint32_t known_pairs_[std::size_t{1} << bucket_bits][bucket_pairs] = {};  // 0: none
};

}  // namespace tarn::preload
