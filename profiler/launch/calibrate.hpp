// Loads the cost model of this machine, and measures it if there is none yet.
#pragma once

#include <vector>

#include "profiler/predict/cost_model.hpp"
#include "profiler/predict/trace.hpp"

namespace tarn::command {

// Reads the file of an earlier run, $XDG_CACHE_HOME/tarn/costs.json, unless its facts differ from today's or
// `must_measure` is set. Otherwise it measures, which takes about a second, and writes the file. If other work
// disturbs the measurement, the file is good for ten minutes only. An unreadable file is
// measured anew, an unwritable one is ignored. `must_measure` also discards the results of replays. Throws a failure if
// nothing can be measured.
analyse::cost_model machine_costs(bool must_measure);

// Repeats the jobs in a process of their own on the C library's malloc, and in another one on the drop-in. Each takes
// some tens of milliseconds. A job that was repeated on this machine before keeps its result (replay_cache.hpp). Throws
// a failure.
std::vector<analyse::replayed> replays_of(const std::vector<analyse::replay_job>& jobs);

}  // namespace tarn::command
