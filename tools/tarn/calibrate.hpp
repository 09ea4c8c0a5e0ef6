// Prices of this machine, measured when there are none yet.
#pragma once

#include "analyse/costs.hpp"

namespace tarn::command {

// From the file of an earlier run, $XDG_CACHE_HOME/tarn/costs.json, unless its facts are others than today's or `anew`;
// else measured, which takes about a second, and written there. A file that cannot be read is measured anew, one that
// cannot be written is done without. Throws a usage failure when nothing can be measured.
analyse::costs machine_costs(bool anew);

}  // namespace tarn::command
