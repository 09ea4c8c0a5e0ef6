#pragma once

#include <sys/resource.h>

namespace tarn::command {

// Returns the CPU time of this process (RUSAGE_SELF), or of its children that have ended (RUSAGE_CHILDREN).
inline double cpu_seconds_of(int processes) noexcept {
  rusage usage{};
  ::getrusage(processes, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace tarn::command
