// Sums the sites of a recording by their places, as the gate and the comparison of two recordings show them.
#pragma once

#include "profiler/advise/difference.hpp"

namespace tarn::command {

// Shows its progress on a terminal if it takes more than a second.
analyse::located_sums sums_by_location(analyse::analysis& analysis);

}  // namespace tarn::command
