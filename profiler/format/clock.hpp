// The recorder's clock is a counter of the processor, because reading the clock twice is most of the cost of timing a
// lock. `tarn record` measures its frequency.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

namespace tarn::format {

// Returns ticks since an unspecified start; all processors share it. Costs about 10 ns.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#endif
}

inline std::uint64_t nanoseconds_of(const timespec& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// Asks the kernel itself: a preloaded library, such as libfaketime, may have replaced clock_gettime().
inline std::uint64_t monotonic_nanoseconds() noexcept {
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return nanoseconds_of(now);
}

}  // namespace tarn::format
