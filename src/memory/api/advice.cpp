#include "memory/api/advice.hpp"

#include <algorithm>
#include <bit>

#include "base/bits.hpp"

namespace tarn::api {
namespace {

using namespace base::units;

constexpr std::uint64_t min_increment = 2_MiB, max_increment = 64_MiB;  // as the option takes it

// These functions return the step in which a number lies, and the largest number in a step.
std::size_t step_of(std::uint64_t number) noexcept {
  if (number < 8) return 0;
  const auto width = static_cast<std::size_t>(std::bit_width(number));
  return width * 4 + (number >> (width - 3) & 3);
}
std::uint64_t last_of(std::size_t step) noexcept {
  const std::size_t width = step / 4;
  return width < 4 ? 7 : (((4 + step % 4 + 1) << (width - 3)) - 1);
}

std::uint64_t rounded_up(std::uint64_t bytes) noexcept { return base::align_up(bytes, bytes < 1_MiB ? 64_KiB : 1_MiB); }

}  // namespace

void heap_peaks::add(std::uint64_t peak_bytes) noexcept {
  if (peak_bytes == 0) return;
  ++heaps_;
  ++counts_[step_of(peak_bytes)];
  maximum_ = peak_bytes > maximum_ ? peak_bytes : maximum_;
  if (eager_ != 0 && peak_bytes > eager_) {
    ++excess_heaps_;
    excess_bytes_ += peak_bytes - eager_;
  }
}

advice heap_peaks::result(std::uint64_t process_peak_bytes) const noexcept {
  advice proposal;
  if (heaps_ == 0) return proposal;
  const std::uint64_t enough_heaps = heaps_ - heaps_ / 4;
  std::size_t step = 0;
  for (std::uint64_t heap_count = counts_[0]; heap_count < enough_heaps; heap_count += counts_[step]) ++step;
  const std::uint64_t enough = last_of(step) < maximum_ ? last_of(step) : maximum_;
  proposal.initial = rounded_up(enough);
  const std::uint64_t remainder = maximum_ > proposal.initial ? maximum_ - proposal.initial : 0;
  proposal.increment = std::clamp(rounded_up(remainder / 4), min_increment, max_increment);
  const std::uint64_t eager = heaps_ * proposal.initial;
  const std::uint64_t needed = process_peak_bytes > eager ? process_peak_bytes : eager;
  proposal.limit = rounded_up(needed + needed / 4);
  proposal.excess_heaps = excess_heaps_;
  proposal.excess_bytes = excess_bytes_;
  return proposal;
}

}  // namespace tarn::api
