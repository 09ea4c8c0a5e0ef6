// The recorder's clock: the processor's, until a strict restriction of system calls (seccomp) takes that away.
#pragma once

#include <sys/syscall.h>

#include <atomic>
#include <cstdint>
#include <ctime>

#include "profiler/format/clock.hpp"
#include "profiler/preload/base/raw_call.hpp"

namespace tarn::preload {

// The time at which the clock has stopped; 0 while it runs.
inline constinit std::atomic<std::uint64_t> stopped_at = 0;

// Returns ticks as format::ticks() does, or always the last ones once the processor would end a thread that asks.
inline std::uint64_t clock_ticks() noexcept {
  const std::uint64_t last = stopped_at.load(std::memory_order_relaxed);
  return last == 0 ? format::ticks() : last;
}

// Returns the time as format::monotonic_nanoseconds() does, by a call that is not recorded. The C library needs no call
// of the kernel, where a restriction of system calls forbids it.
inline std::uint64_t clock_nanoseconds() noexcept {
  timespec now{};
  if (own_call(SYS_clock_gettime, CLOCK_MONOTONIC, &now) != 0) ::clock_gettime(CLOCK_MONOTONIC, &now);
  return format::nanoseconds_of(now);
}

// Returns the CPU time of the calling thread in nanoseconds, or 0 once a restriction of system calls forbids to ask.
inline std::uint64_t processor_nanoseconds() noexcept {
  timespec now{};
  own_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
  return format::nanoseconds_of(now);
}

}  // namespace tarn::preload
