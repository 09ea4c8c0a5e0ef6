// The time of a log line follows the system's clock, whatever somebody sets that to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <tarn/detail/fast_clock.hpp>

namespace {

constexpr std::int64_t millisecond = 1'000'000;
constexpr std::int64_t one_second = 1'000 * millisecond;

// A machine whose counter has 3 ticks for each nanosecond, and a thread that asks for the time.
class machine {
 public:
  void pass(std::int64_t ns) { monotonic_ += ns; }
  void set_clock_by(std::int64_t ns) { step_ += ns; }

  /// Returns by how much the time of a line is wrong now.
  std::int64_t error() {
    const std::uint64_t tick = 1'000'000'000'000 + 3 * static_cast<std::uint64_t>(monotonic_);
    const std::int64_t now = 1'800'000'000 * one_second + monotonic_ + step_;
    if (clock_.covers(tick)) return clock_.ns_at(tick) - now;
    clock_.read(tick, now, monotonic_);
    return 0;
  }

 private:
  std::int64_t monotonic_ = 7 * one_second;
  std::int64_t step_ = 0;
  tarn::detail::counted_clock clock_{0, 0, 0, 0, 0};
};

/// Returns the largest error of the lines that are written each 5 ms for so long.
std::int64_t largest_error(machine& host, std::int64_t duration) {
  std::int64_t largest = 0;
  for (std::int64_t passed = 0; passed < duration; passed += 5 * millisecond) {
    host.pass(5 * millisecond);
    largest = std::max(largest, std::abs(host.error()));
  }
  return largest;
}

TEST(fast_clock, shows_any_step_of_the_system_clock_within_a_second) {
  for (std::int64_t step = -5'000; step <= 5'000; step += 20) {
    for (const std::int64_t before : {0, 3, 10, 500, 3'500}) {  // also in the middle of the first measurement
      machine host;
      host.error();
      largest_error(host, before * millisecond);
      host.set_clock_by(step * millisecond);
      EXPECT_LE(largest_error(host, one_second + 10 * millisecond), std::abs(step) * millisecond + 1'000);
      EXPECT_LE(largest_error(host, 60 * one_second), 1'000) << "a step of " << step << " ms after " << before << " ms";
    }
  }
}

TEST(fast_clock, is_right_after_a_step_during_a_pause) {
  for (std::int64_t pause = 100; pause <= 6'000; pause += 100) {
    for (std::int64_t step = -6'000; step <= 6'000; step += 100) {
      machine host;
      largest_error(host, 3 * one_second);
      host.pass(pause * millisecond);
      host.set_clock_by(step * millisecond);
      largest_error(host, one_second + 10 * millisecond);
      EXPECT_LE(largest_error(host, 10 * one_second), 1'000) << "a step of " << step << " ms in a pause of " << pause;
    }
  }
}

}  // namespace
