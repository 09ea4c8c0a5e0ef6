// Chooses which acquisitions of locks are recorded, so that passing through a lock costs little.
//
// An acquisition that has to wait is always recorded, and so is a thread's first one of each lock at each place. Each
// other one is recorded with the probability 1 / W, independently of all others, and counts W times. So the counts are
// unbiased estimates (Horvitz and Thompson), and the sum of W (W - 1) over the recorded ones is an unbiased estimate
// of the variance. A thread chooses W from its past alone: so large that recording takes a small part of its time, and
// no larger than what the process has recorded allows (chance.hpp). With `--full` all are recorded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profiler/preload/base/chance.hpp"

namespace tarn::preload {

// The state of one thread; all zeroes until it is set up.
class lock_samples {
 public:
  void set_up(std::uint64_t seed, std::uint64_t now) noexcept {
    random_.set_up(seed);
    draw(largest_weight());
    drawn_at_ = now;
  }

  // Returns true when this acquisition is not recorded, unless it has to wait.
  [[gnu::always_inline]] bool skips(const void* lock, std::uintptr_t caller) noexcept {
    const std::uint32_t pair = pair_of(lock, caller);
    const std::uint32_t* const bucket = seen_[bucket_of(pair)];
    return (bucket[0] == pair || is_further(bucket, pair)) && --left_ >= 0;
  }
  // Returns how many acquisitions this one stands for, which is recorded; `now` is of the clock.
  std::uint16_t weight_of(const void* lock, std::uintptr_t caller, std::uint64_t now) noexcept {
    const std::uint16_t weight = see(pair_of(lock, caller)) ? 1 : weight_;
    if (left_ < 0) {
      recorded.fetch_add(1, std::memory_order_relaxed);
      draw(next_weight(now));
    }
    return weight;
  }
  // Skips all further acquisitions for long, where nothing is recorded any more.
  void skip_many() noexcept { left_ = 1 << 30; }

  // Returns true when each acquisition of the process has been recorded.
  static bool has_all() noexcept { return recorded.load(std::memory_order_relaxed) < full_counts; }
  // Begins anew in a child of fork.
  static void begin_anew() noexcept { recorded.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t max_weight = 128;
  // What a thread takes to record one acquisition in a server, some 150 ns, and which part of its time it may spend on
  // that: one in 40. In ticks of a clock of 3 GHz.
  static constexpr std::uint64_t recording_ticks = 450, share_of_time = 40;
  static constexpr int bucket_bits = 6, bucket_pairs = 8;

  // Stands for a lock and the place that takes it; never 0.
  static std::uint32_t pair_of(const void* lock, std::uintptr_t caller) noexcept {
    return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(lock) + caller * 0x9fb21c651e98df25ULL) *
                                          0x9e3779b97f4a7c15ULL >>
                                      32) |
           1;
  }
  static std::size_t bucket_of(std::uint32_t pair) noexcept { return pair >> (32 - bucket_bits); }
  // Returns whether the bucket has the pair behind its first place, or no room for it: then its first acquisition is
  // recorded by chance, as all others are.
  static bool is_further(const std::uint32_t* bucket, std::uint32_t pair) noexcept {
    for (int place = 1; place < bucket_pairs; ++place) {
      if (bucket[place] == pair) return true;
    }
    return bucket[bucket_pairs - 1] != 0;
  }
  // Returns whether the pair is seen for the first time, and remembers it.
  bool see(std::uint32_t pair) noexcept {
    std::uint32_t* const bucket = seen_[bucket_of(pair)];
    for (int place = 0; place < bucket_pairs; ++place) {
      if (bucket[place] == pair) return false;
      if (bucket[place] != 0) continue;
      bucket[place] = pair;
      return true;
    }
    return false;
  }
  static std::uint16_t largest_weight() noexcept {
    return growing_weight(recorded.load(std::memory_order_relaxed), max_weight, 1024);
  }
  // Chooses the weight by what the acquisitions so far were apart; the last ones count most.
  std::uint16_t next_weight(std::uint64_t now) noexcept {
    const std::uint64_t elapsed = now - drawn_at_;
    drawn_at_ = now;
    ticks_ = ticks_ / 2 + (elapsed > recording_ticks ? elapsed - recording_ticks : 0);
    acquisitions_ = acquisitions_ / 2 + gap_ + 1;
    const std::uint64_t wanted = recording_ticks * share_of_time * acquisitions_ / (ticks_ + 1);
    return static_cast<std::uint16_t>(std::clamp<std::uint64_t>(wanted, 1, largest_weight()));
  }
  void draw(std::uint16_t weight) noexcept {
    weight_ = weight;
    gap_ = draw_gap(random_.next(), weight);
    left_ = static_cast<std::int32_t>(gap_);
  }

  static inline constinit std::atomic<std::uint64_t> recorded = 0;  // by all threads, without those that waited

  std::int32_t left_ = 0;  // acquisitions until the next one that is recorded
  std::uint16_t weight_ = 0;
  random_numbers random_;
  std::uint32_t gap_ = 0;                       // acquisitions that are skipped before the next recorded one
  std::uint64_t drawn_at_ = 0;                  // by the clock
  std::uint64_t ticks_ = 0, acquisitions_ = 0;  // what so many took; decaying sums
  std::uint32_t seen_[std::size_t{1} << bucket_bits][bucket_pairs] = {};  // 0: none
};

}  // namespace tarn::preload
