// What system calls cost, and what takes their place: a part of the calibration (tarn/calibrate.hpp).
#pragma once

#include "analyse/costs.hpp"
#include "format/recording.hpp"

namespace tarn::command {

// Prices of this process; `stretch` is left 0. The calls are made in such a way that stretch_of() finds them in a
// recording of it. Ten milliseconds or so.
analyse::call_costs measure_calls();

// From a recording of a process that did measure_calls(): how much longer a call took there than in `plain`, the middle
// of all kinds. 0 where the recording has none of them.
double stretch_of(const format::recording& in, const analyse::call_costs& plain);

}  // namespace tarn::command
