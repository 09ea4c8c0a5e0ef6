// The recorder's clock: the processor's, until a strict restriction of system calls (seccomp) takes that away.
#pragma once

#include <atomic>
#include <cstdint>

#include "profiler/format/clock.hpp"

namespace tarn::preload {

// The time at which the clock has stopped; 0 while it runs.
inline constinit std::atomic<std::uint64_t> stopped_at = 0;

// Returns ticks as format::ticks() does, or always the last ones once the processor would end a thread that asks.
inline std::uint64_t clock_ticks() noexcept {
  const std::uint64_t last = stopped_at.load(std::memory_order_relaxed);
  return last == 0 ? format::ticks() : last;
}

}  // namespace tarn::preload
