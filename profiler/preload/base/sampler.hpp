// Decides which blocks are sampled, and how many blocks each sample stands for.
//
// The allocated bytes of a thread form a line. Sampling points lie on it at exponential distances with the mean
// `interval` (a Poisson process). A block takes the length cost_of() of its bytes, and is sampled when a point lies
// in it. So the probability depends only on the block's size, not on earlier allocations, and its reciprocal is an
// unbiased count. The arithmetic needs no libm, which the recorder does not load.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "profiler/format/counts.hpp"

namespace tarn::preload {

constexpr std::int64_t cost_of(std::size_t bytes) noexcept {
  constexpr std::size_t limit = std::size_t{1} << 40;  // a larger request fails, or is sampled with certainty
  return static_cast<std::int64_t>(bytes < limit ? bytes : limit) + format::cost_of_a_block;
}

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

// Returns 1 - exp(-x) for x >= 0, with a relative error below a millionth.
constexpr double one_minus_exp(double x) noexcept {
  if (x > 40) return 1;
  int halvings = 0;
  for (; x > 0.5; x /= 2) ++halvings;
  double result = x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5 * (1 - x / 6 * (1 - x / 7))))));
  for (; halvings > 0; --halvings) result = result * (2 - result);  // 1 - (1 - r)^2
  return result;
}

// The sampler of one thread. It is all zeroes until it is set up.
class sampler {
 public:
  void set_up(std::uint64_t interval, std::uint64_t seed) noexcept {
    interval_ = static_cast<double>(interval);
    state_ = seed * 0x9e3779b97f4a7c15ULL | 1;
  }
  // Returns the distance to the next point.
  std::int64_t next() noexcept { return static_cast<std::int64_t>(interval_ * minus_log(bits())); }
  // Returns the number of blocks of this size that a sample stands for: a random whole number with the exact mean.
  std::uint32_t weight(std::size_t bytes) noexcept {
    const double exact = 1 / one_minus_exp(static_cast<double>(cost_of(bytes)) / interval_);
    const auto whole = static_cast<std::uint32_t>(exact);
    const double remainder = exact - whole;
    return whole + (static_cast<double>(this->bits() >> 11) / 9007199254740992.0 < remainder ? 1 : 0);
  }

 private:
  std::uint64_t bits() noexcept {  // xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift"
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dULL;
  }
  double interval_;
  std::uint64_t state_;
};

}  // namespace tarn::preload
