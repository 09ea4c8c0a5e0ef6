// The clock of the recorder: a counter of the processor, as reading it twice is most of what a lock's time would cost.
// `tarn record` measures how fast it goes.
#pragma once

#include <cstdint>
#include <ctime>

namespace tarn::format {

// Ticks since some moment; the same for all processors. About 10 ns.
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
