// The recorder's clock is a counter of the processor, because reading the clock twice is most of the cost of timing a
// lock. `tarn record` measures its frequency.
#pragma once

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

inline std::uint64_t monotonic_nanoseconds() noexcept {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace tarn::format
