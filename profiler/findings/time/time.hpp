// Divides the time of threads into running, waiting for a processor, and waiting for something else.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

// The time of the threads of one name, from the begin of each to its end.
struct thread_times {
  std::string name = {};
  std::uint64_t threads = 0;
  format::cpu_counts sums{};

  std::uint64_t lifetime_ns() const {
    return sums[format::running_ns] + sums[format::runnable_ns] + sums[format::waiting_ns] + sums[format::unknown_ns];
  }
};

// The waits at one site of the program, in all calls there.
struct wait_site {
  std::uint64_t waited_ns = 0;
  std::uint32_t site = 0;       // the stack with most of it
  std::uint32_t stacks = 0;     // call stacks that lead there
  std::set<std::string> names;  // of the threads
};

struct time_findings {
  bool is_recorded = false;
  thread_times whole;                 // all threads together
  std::vector<thread_times> threads;  // by name, the longest time first
  std::vector<wait_site> waits;       // the longest first
  std::uint64_t unplaced_ns = 0;      // of waits whose stack is not known
};

// `recording` comes from with_cpu_sites().
time_findings find_time(const format::recording& recording, symbols& symbols);

}  // namespace tarn::analyse
