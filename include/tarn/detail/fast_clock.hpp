// The time of day from the processor's counter: a third of the cost of clock_gettime(2).
#pragma once

#include <cstdint>
#include <ctime>

namespace tarn::detail {

/// Returns a count of the processor that costs no system call and, on one machine since its start, only grows, over all
/// processors.
inline std::uint64_t clock_tick() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t tick;
  asm volatile("mrs %0, cntvct_el0" : "=r"(tick));
  return tick;
#endif
}

/// Returns the nanoseconds since 1970 at a tick of the last microseconds. Each thread reads the system's clock about
/// once a second and counts from there with the processor's counter, at the rate of the second before. So a step of the
/// system's clock shows within a second, and the difference to it is what the rate changes within one: microseconds. On
/// processors without a counter that a program can read, each call reads the system's clock.
inline std::int64_t fast_ns_at(std::uint64_t tick) noexcept {
  const auto system_ns = [] {
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  };
#if defined(__x86_64__)
  struct calibration {
    std::uint64_t tick;    // at `ns`
    std::int64_t ns;       // time of the last look at the system's clock
    std::uint64_t period;  // ticks for which `rate` is valid; 0: there is no rate yet
    std::uint64_t rate;    // nanoseconds for each tick, times 2 to the 32
  };
  static constinit thread_local calibration last{0, 0, 0, 0};
  // A tick before the last one, of a processor whose counter is behind, becomes a large number here.
  if (const std::uint64_t passed = tick - last.tick; passed < last.period) [[likely]] {
    return last.ns + static_cast<std::int64_t>((passed * last.rate) >> 32);
  }
  const std::int64_t ns = system_ns();
  constexpr std::uint64_t max_between = 8192;  // ticks, some microseconds
  if (clock_tick() - tick > max_between) {
    return ns;  // the tick and the time do not belong together: the thread was interrupted in between, for example
  }
  const std::int64_t passed_ns = ns - last.ns;
  const std::uint64_t passed = tick - last.tick;
  constexpr std::int64_t min_ns = 20'000'000, max_ns = 2'000'000'000;
  if (last.tick == 0 || passed_ns > max_ns || passed_ns < 0 || passed >> 34 != 0) {
    last = {tick, ns, 0, 0};  // after a longer pause, or a step of the clock, a measurement begins
  } else if (passed_ns >= min_ns && passed >= static_cast<std::uint64_t>(passed_ns) / 100) {
    const std::uint64_t rate = (static_cast<std::uint64_t>(passed_ns) << 32) / passed;
    const std::uint64_t period = (std::uint64_t{1'000'000'000} << 32) / rate;
    last = {tick, ns, period, rate};
  }
  return ns;
#else
  static_cast<void>(tick);
  return system_ns();
#endif
}

}  // namespace tarn::detail
