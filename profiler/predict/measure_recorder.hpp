// Measures the CPU time of each item of the recorder's work, in a recorded process and in one that is not. The
// difference is the price (profiler/collect/recorder_prices.hpp).
#pragma once

#include "profiler/predict/recorder_rounds.hpp"

namespace tarn::command {

// `started_ns` is the CPU time that the process took before its first own work. Takes some milliseconds.
analyse::work_times measure_recorder(double started_ns);

}  // namespace tarn::command
