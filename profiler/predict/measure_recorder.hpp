// Measures the CPU time of each item of the recorder's work, in a recorded process and in one that is not. The
// difference is the price (profiler/collect/recorder_prices.hpp).
#pragma once

#include <array>

#include "profiler/format/counts.hpp"

namespace tarn::command {

// Processor nanoseconds of one of each item, with the program's own part, and without the work that a recorder times
// itself.
struct work_times {
  std::array<double, format::work_item_count> ns{};
  // These count the recorded events of one thread; 0 in a process that is not recorded.
  double dispatches_of_thread = 0, changes_of_thread = 0;
};

// `started_ns` is the CPU time that the process took before its first own work. Takes some milliseconds.
work_times measure_recorder(double started_ns);

}  // namespace tarn::command
