// Binds threads to processors.
#pragma once
#include <sched.h>

namespace bench {

/// Returns the processors that the calling thread may use.
inline cpu_set_t allowed_processors() noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  return allowed;
}

/// Returns the number of the processor that has `position` others of the set before it, or -1.
inline int processor_at(const cpu_set_t& processors, unsigned position) noexcept {
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &processors) && position-- == 0) return processor;
  }
  return -1;
}

/// Binds the calling thread. Returns false, with errno, when that is not permitted.
inline bool bind_to_processor(int processor) noexcept {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  CPU_SET(processor, &processors);
  return sched_setaffinity(0, sizeof processors, &processors) == 0;
}

}  // namespace bench
