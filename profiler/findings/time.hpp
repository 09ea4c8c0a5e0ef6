// Divides the time of threads into running, waiting for a processor, and waiting for something else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::analyse {

// The time of the threads of one name, from the begin of each to its end.
struct thread_times {
  std::string name;
  std::uint64_t threads = 0;
  format::cpu_counts sums{};

  std::uint64_t lifetime_ns() const {
    return sums[format::running_ns] + sums[format::runnable_ns] + sums[format::waiting_ns] + sums[format::unknown_ns];
  }
};

struct time_findings {
  bool is_recorded = false;
  thread_times whole;                 // all threads together
  std::vector<thread_times> threads;  // by name, the longest time first
};

// `recording` comes from with_cpu_sites().
time_findings find_time(const format::recording& recording);

}  // namespace tarn::analyse
