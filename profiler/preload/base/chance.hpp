// Draws by chance which of a thread's events are recorded. It needs no libm, which the recorder does not load.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "profiler/preload/base/unseen_arithmetic.hpp"

namespace tarn::preload {

// Returns -ln(u) for u = (bits + 1/2) / 2^64, with an error below a millionth.
constexpr double minus_log(std::uint64_t bits) noexcept {
  constexpr double ln2 = 0.6931471805599453;
  if (bits == 0) return 65 * ln2;
  const int zeroes = std::countl_zero(bits);
  const double f = static_cast<double>(bits << zeroes) / 9223372036854775808.0;  // from 1 up to 2
  const double s = (f - 1) / (f + 1), q = s * s;
  const double log_f = 2 * s * (1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q / 11)))));
  return (zeroes + 1) * ln2 - log_f;
}

// The random numbers of one thread. All zeroes is a state that needs a seed.
class random_numbers {
 public:
  void set_up(std::uint64_t seed) noexcept { state_ = seed * 0x9e3779b97f4a7c15ULL | 1; }
  bool is_set_up() const noexcept { return state_ != 0; }
  std::uint64_t next() noexcept {  // xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift"
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dULL;
  }

 private:
  std::uint64_t state_ = 0;
};

// Returns how many events pass before the next one that is recorded, each with the probability 1 / weight: a geometric
// number, which is an exponential one in whole units of -ln(1 - 1 / weight).
inline std::uint32_t draw_gap(std::uint64_t bits, std::uint32_t weight) noexcept {
  if (weight <= 1) return 0;
  return compute_unseen(
      [](std::uint64_t random, double events) {
        const double s = 1.0 / (2 * events - 1), q = s * s;  // -ln(1 - x) = 2 artanh(x / (2 - x))
        const double unit = 2 * s * (1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q / 11)))));
        return static_cast<std::uint32_t>(minus_log(random) / unit);
      },
      bits, static_cast<double>(weight));
}

// Returns the largest weight that an event may have after so many recorded events of the process. The first ones all
// count, so that short programs have no estimates. Then the weight doubles after each `doubling_counts`, so that
// programs of medium length have small errors.
constexpr std::uint64_t full_counts = 4096;
constexpr std::uint16_t growing_weight(std::uint64_t recorded, std::uint32_t max_weight,
                                       std::uint64_t doubling_counts) noexcept {
  if (recorded < full_counts) return 1;
  return static_cast<std::uint16_t>(
      std::min(2U << std::min<std::uint64_t>((recorded - full_counts) / doubling_counts, 15), max_weight));
}

// Adds to the recorded events of the process as long as growing_weight() grows with them. After that no thread writes
// the count, so that all can read it without waiting for its cache line.
inline void count_recorded(std::atomic<std::uint64_t>& recorded, std::uint64_t amount, std::uint32_t max_weight,
                           std::uint64_t doubling_counts) noexcept {
  const auto doublings = static_cast<std::uint64_t>(std::bit_width(max_weight - 1)) - 1;
  if (recorded.load(std::memory_order_relaxed) < full_counts + doublings * doubling_counts)
    recorded.fetch_add(amount, std::memory_order_relaxed);
}

}  // namespace tarn::preload
