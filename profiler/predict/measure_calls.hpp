// Measures the costs of system calls and of their replacements: a part of the calibration
// (profiler/launch/calibrate.hpp).
#pragma once

#include "profiler/format/recording.hpp"
#include "profiler/predict/cost_model.hpp"

namespace tarn::command {

// Measures the costs in this process; `slowdown` stays 0. The calls are made so that stretch_of() finds them in a
// recording of this process. Takes about ten milliseconds.
analyse::call_costs measure_calls();

// Returns how much longer a call took in the recording of a process that ran measure_calls() than in `plain`, as the
// median of all kinds. Returns 0 if the recording has none of them.
double stretch_of(const format::recording& recording, const analyse::call_costs& plain);

}  // namespace tarn::command
