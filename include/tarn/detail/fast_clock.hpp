// The time of day from the processor's counter: a third of the cost of clock_gettime(2).
#pragma once

#include <atomic>
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

/// The rate of the processor's counter that a thread of the process measured last: a new thread begins with it. Any
/// thread, and a forked child, may use it.
class shared_rate {
 public:
  void publish(std::uint64_t now_tick, std::uint64_t rate) noexcept {
    rate_.store(rate, std::memory_order_relaxed);
    // release: a thread that reads this tick reads this rate or a later one.
    tick_.store(now_tick, std::memory_order_release);
  }
  /// Returns 0 if the rate was measured more than `max_age` ticks ago, or never.
  std::uint64_t rate_at(std::uint64_t now_tick, std::uint64_t max_age) const noexcept {
    const std::uint64_t measured_tick = tick_.load(std::memory_order_acquire);
    // The counter of the processor that measured it may be a little ahead: then the difference is negative.
    return static_cast<std::int64_t>(now_tick - measured_tick) < static_cast<std::int64_t>(max_age)
               ? rate_.load(std::memory_order_relaxed)
               : 0;
  }

 private:
  std::atomic<std::uint64_t> rate_{0}, tick_{0};
};

/// Counts the time of day with the processor's counter, from the last reading of the system's clocks. The rate of the
/// counter is measured against the monotonic clock, which nobody can set: a step of the time of day, such as a leap
/// second, never becomes a part of it.
struct counted_clock {
  std::uint64_t tick;         // at `ns`
  std::int64_t ns;            // time of day at the last reading
  std::uint64_t period;       // ticks for which `rate` is valid; 0: there is no rate yet
  std::uint64_t rate;         // nanoseconds for each tick, times 2 to the 32
  std::int64_t monotonic_ns;  // monotonic time at the last reading

  /// Returns true when ns_at() is right at this tick. A tick before the last one, of a processor whose counter is
  /// behind, becomes a large number here.
  bool covers(std::uint64_t now_tick) const noexcept { return now_tick - tick < period; }
  std::int64_t ns_at(std::uint64_t now_tick) const noexcept {
    return ns + static_cast<std::int64_t>(((now_tick - tick) * rate) >> 32);
  }

  /// Takes a reading: what both clocks of the system had at this tick. Measures the rate and publishes it, or takes
  /// the one that another thread has just published.
  void read(std::uint64_t now_tick, std::int64_t now_ns, std::int64_t now_monotonic_ns,
            shared_rate& published) noexcept {
    const std::int64_t passed_ns = now_monotonic_ns - monotonic_ns;
    const std::uint64_t passed = now_tick - tick;
    constexpr std::int64_t min_ns = 20'000'000, max_ns = 2'000'000'000;
    constexpr std::uint64_t max_ticks = std::uint64_t{1} << 34;                                     // some seconds
    const bool is_first = tick == 0 || passed_ns > max_ns || passed_ns < 0 || passed >= max_ticks;  // or after a pause
    if (!is_first && passed_ns >= min_ns && passed >= static_cast<std::uint64_t>(passed_ns) / 100) {
      begin(now_tick, now_ns, now_monotonic_ns, (static_cast<std::uint64_t>(passed_ns) << 32) / passed);
      published.publish(now_tick, rate);
    } else if (is_first || rate == 0) {
      const std::uint64_t known_rate = published.rate_at(now_tick, max_ticks);
      if (is_first || known_rate != 0) begin(now_tick, now_ns, now_monotonic_ns, known_rate);
    }
  }

 private:
  void begin(std::uint64_t now_tick, std::int64_t now_ns, std::int64_t now_monotonic_ns,
             std::uint64_t known_rate) noexcept {
    constexpr std::uint64_t second = std::uint64_t{1'000'000'000} << 32;
    *this = {now_tick, now_ns, known_rate == 0 ? 0 : second / known_rate, known_rate, now_monotonic_ns};
  }
};

/// Returns the nanoseconds since 1970 at a tick of the last microseconds. Each thread reads the system's clock about
/// once a second and counts from there with the processor's counter, at the rate of the second before. So a step of the
/// system's clock shows within a second, and the difference to it is what the rate changes within one: microseconds. A
/// thread reads the clock at each call, for 20 ms, only while no thread has measured a rate in the last seconds. On
/// processors without a counter that a program can read, each call reads the system's clock.
inline std::int64_t fast_ns_at(std::uint64_t tick) noexcept {
  const auto system_ns = [](clockid_t id) {
    timespec now;
    ::clock_gettime(id, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  };
#if defined(__x86_64__)
  static constinit thread_local counted_clock clock{0, 0, 0, 0, 0};
  static constinit shared_rate published;
  if (clock.covers(tick)) [[likely]] {
    return clock.ns_at(tick);
  }
  const std::int64_t ns = system_ns(CLOCK_REALTIME), monotonic_ns = system_ns(CLOCK_MONOTONIC);
  constexpr std::uint64_t max_between = 8192;  // ticks, some microseconds
  // Otherwise tick and times do not belong together: the thread was interrupted in between, for example.
  if (clock_tick() - tick <= max_between) {
    clock.read(tick, ns, monotonic_ns, published);
  }
  return ns;
#else
  static_cast<void>(tick);
  return system_ns(CLOCK_REALTIME);
#endif
}

}  // namespace tarn::detail
