// Decides which blocks are sampled, and how many blocks each sample stands for.
//
// The allocated bytes of a thread form a line. Sampling points lie on it at exponential distances with the mean
// `interval` (a Poisson process). A block takes the length cost_of() of its bytes, and is sampled when a point lies
// in it. So the probability depends only on the block's size, not on earlier allocations, and its reciprocal is an
// unbiased count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/format/counts.hpp"
#include "profiler/preload/base/chance.hpp"
#include "profiler/preload/base/unseen_arithmetic.hpp"

namespace tarn::preload {

constexpr std::int64_t cost_of(std::size_t bytes) noexcept {
  constexpr std::size_t limit = std::size_t{1} << 40;  // a larger request fails, or is sampled with certainty
  return static_cast<std::int64_t>(bytes < limit ? bytes : limit) + format::cost_of_a_block;
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
    interval_ = interval;
    random_.set_up(seed);
  }
  // Returns the distance to the next point.
  std::int64_t next() noexcept {
    return compute_unseen(
        [](std::uint64_t bits, std::uint64_t mean) {
          return static_cast<std::int64_t>(static_cast<double>(mean) * minus_log(bits));
        },
        random_.next(), interval_);
  }
  // Returns the number of blocks of this size that a sample stands for: a random whole number with the exact mean.
  std::uint32_t weight(std::size_t bytes) noexcept {
    return compute_unseen(
        [](std::uint64_t bits, std::int64_t cost, std::uint64_t mean) {
          const double exact = 1 / one_minus_exp(static_cast<double>(cost) / static_cast<double>(mean));
          const auto whole = static_cast<std::uint32_t>(exact);
          const double remainder = exact - whole;
          return whole + (static_cast<double>(bits >> 11) / 9007199254740992.0 < remainder ? 1 : 0);
        },
        random_.next(), cost_of(bytes), interval_);
  }

 private:
  std::uint64_t interval_;
  random_numbers random_;
};

}  // namespace tarn::preload
