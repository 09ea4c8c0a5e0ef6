// The time of day from the processor's counter: a third of the cost of clock_gettime(2).
#pragma once

#include <tarn/detail/language.hpp>

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

/// A reading of the processor's counter and of the monotonic clock at one moment.
struct counter_reading {
  std::uint64_t tick;  // 0: there is none
  std::int64_t monotonic_ns;

  /// Returns true if the rate of the counter may be measured from here to `now`, or later: there was no long pause.
  bool is_recent(const counter_reading& now) const noexcept {
    constexpr std::int64_t max_ns = 2'000'000'000;
    const std::int64_t passed_ns = now.monotonic_ns - monotonic_ns;
    return tick != 0 && passed_ns >= 0 && passed_ns <= max_ns && now.tick - tick < max_ticks;
  }
  /// Returns the nanoseconds for each tick, times 2 to the 32, from a recent reading to `now`; 0: it is too early.
  std::uint64_t rate_until(const counter_reading& now) const noexcept {
    constexpr std::int64_t min_ns = 20'000'000;
    const std::int64_t passed_ns = now.monotonic_ns - monotonic_ns;
    const std::uint64_t passed = now.tick - tick;
    const bool is_measurable = passed_ns >= min_ns && passed >= static_cast<std::uint64_t>(passed_ns) / 100;
    return is_measurable ? (static_cast<std::uint64_t>(passed_ns) << 32) / passed : 0;
  }

  static constexpr std::uint64_t max_ticks = std::uint64_t{1} << 34;  // some seconds
};

/// A reading that any thread replaces and any thread gets whole. Nobody waits. `sequence_` is odd while a thread
/// writes; it stays so in the child of a fork at that moment, whose threads then measure the rate each for itself.
class shared_reading {
 public:
  /// Returns a reading with the tick 0 if there is none, or another thread replaces it at this moment.
  counter_reading get() const noexcept {
    // acquire: a thread that sees the end of a write does not get the values from before it.
    const std::uint64_t sequence = sequence_.load(std::memory_order_acquire);
    // acquire, with the release of the stores: a thread that gets a value of a later write also sees below that this
    // write has begun. Otherwise it could take the tick of one write and the time of another.
    const counter_reading reading{tick_.load(std::memory_order_acquire), ns_.load(std::memory_order_acquire)};
    const bool is_whole = sequence % 2 == 0 && sequence_.load(std::memory_order_relaxed) == sequence;
    return is_whole ? reading : counter_reading{0, 0};
  }
  /// Does nothing while another thread replaces it.
  void replace(const counter_reading& reading) noexcept {
    std::uint64_t sequence = sequence_.load(std::memory_order_relaxed);
    // acquire: the values of the write before are stored before those of this one, and cannot take their place.
    if (sequence % 2 != 0 || !sequence_.compare_exchange_strong(sequence, sequence + 1, std::memory_order_acquire,
                                                                std::memory_order_relaxed)) {
      return;
    }
    tick_.store(reading.tick, std::memory_order_release);
    ns_.store(reading.monotonic_ns, std::memory_order_release);
    // release: see the first load of get().
    sequence_.store(sequence + 2, std::memory_order_release);
  }

 private:
  std::atomic<std::uint64_t> sequence_{0}, tick_{0};
  std::atomic<std::int64_t> ns_{0};
};

/// The rate of the processor's counter that a thread of the process measured last: a new thread begins with it. While
/// there is none, all threads measure it together from one reading, so that they need not live long. Any thread, and a
/// forked child, may use it.
class shared_rate {
 public:
  void publish(std::uint64_t now_tick, std::uint64_t rate) noexcept {
    rate_.store(rate, std::memory_order_relaxed);
    // release: a thread that reads this tick reads this rate or a later one.
    tick_.store(now_tick, std::memory_order_release);
  }
  /// Returns 0 if no thread has measured the rate in the last seconds, and it cannot be measured now.
  std::uint64_t rate_at(const counter_reading& now) noexcept {
    const std::uint64_t measured_tick = tick_.load(std::memory_order_acquire);
    // The counter of the processor that measured it may be a little ahead: then the difference is negative.
    if (static_cast<std::int64_t>(now.tick - measured_tick) < static_cast<std::int64_t>(counter_reading::max_ticks)) {
      if (const std::uint64_t rate = rate_.load(std::memory_order_relaxed); rate != 0) return rate;
    }
    const counter_reading start = start_.get();
    if (!start.is_recent(now)) {
      start_.replace(now);
      return 0;
    }
    const std::uint64_t rate = start.rate_until(now);
    if (rate != 0) publish(now.tick, rate);
    return rate;
  }

 private:
  std::atomic<std::uint64_t> rate_{0}, tick_{0};
  shared_reading start_;
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
    const counter_reading last{tick, monotonic_ns}, now{now_tick, now_monotonic_ns};
    const bool is_first = !last.is_recent(now);  // or after a pause
    if (const std::uint64_t measured_rate = is_first ? 0 : last.rate_until(now); measured_rate != 0) {
      begin(now_tick, now_ns, now_monotonic_ns, measured_rate);
      published.publish(now_tick, rate);
    } else if (is_first || rate == 0) {
      const std::uint64_t known_rate = published.rate_at(now);
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

inline std::int64_t system_ns(clockid_t id) noexcept {
  timespec now;
  ::clock_gettime(id, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Returns the system's time, and gives `clock` a reading of it. Not inline: callers would save registers for it.
[[gnu::noinline, gnu::cold]] inline std::int64_t read_system_clocks(counted_clock& clock, shared_rate& published,
                                                                    std::uint64_t tick) noexcept {
  const std::int64_t ns = system_ns(CLOCK_REALTIME), monotonic_ns = system_ns(CLOCK_MONOTONIC);
  constexpr std::uint64_t max_between = 8192;  // ticks, some microseconds
  // Otherwise tick and times do not belong together: the thread was interrupted in between, for example.
  if (clock_tick() - tick <= max_between) clock.read(tick, ns, monotonic_ns, published);
  return ns;
}

/// Returns the nanoseconds since 1970 at a tick of the last microseconds. Each thread reads the system's clock about
/// once a second and counts from there with the processor's counter, at the rate of the second before. So a step of the
/// system's clock shows within a second, and the difference to it is what the rate changes within one: microseconds.
/// Threads read the clock at each call, for 20 ms in all, only while none has measured a rate in the last seconds. On
/// processors without a counter that a program can read, each call reads the system's clock.
inline std::int64_t fast_ns_at(std::uint64_t tick) noexcept {
#if defined(__x86_64__)
  static constinit thread_local counted_clock clock{0, 0, 0, 0, 0};
  static constinit shared_rate published;
  if (clock.covers(tick)) [[likely]] {
    return clock.ns_at(tick);
  }
  return read_system_clocks(clock, published, tick);
#else
  static_cast<void>(tick);
  return system_ns(CLOCK_REALTIME);
#endif
}

}  // namespace tarn::detail
