// Durations that callers give, in the unit of the clock.
#pragma once

#include <chrono>

namespace tarn::detail {

/// Returns `longest` in nanoseconds, rounded up, and at most a hundred years: a deadline can then be computed from it.
/// So `duration::max()` waits forever, as far as anybody can tell.
template <class Rep, class Period>
constexpr std::chrono::steady_clock::duration clamp_duration(std::chrono::duration<Rep, Period> longest) {
  using seconds = std::chrono::duration<double>;  // wide enough for every duration
  constexpr std::chrono::hours limit{100 * 365 * 24};
  if (seconds(longest) >= seconds(limit)) return limit;
  if (seconds(longest) <= -seconds(limit)) return -std::chrono::steady_clock::duration(limit);
  return std::chrono::ceil<std::chrono::steady_clock::duration>(longest);
}

}  // namespace tarn::detail
