// Prices of this machine, measured when there are none yet.
#pragma once

#include <vector>

#include "analyse/costs.hpp"
#include "analyse/replay.hpp"

namespace tarn::command {

// From the file of an earlier run, $XDG_CACHE_HOME/tarn/costs.json, unless its facts are others than today's or `anew`;
// else measured, which takes about a second, and written there. A file that cannot be read is measured anew, one that
// cannot be written is done without. Throws a usage failure when nothing can be measured.
analyse::costs machine_costs(bool anew);

// The jobs, repeated in a process of their own on the C library's malloc; takes some tens of milliseconds each. Throws
// a usage failure.
std::vector<analyse::replayed> replays_of(const std::vector<analyse::replay_job>& jobs);

}  // namespace tarn::command
