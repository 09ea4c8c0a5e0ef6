// The experiments, a file each.
#pragma once

#include "lab/experiment.hpp"

namespace tarn::lab {

experiment list_experiment();

}  // namespace tarn::lab
