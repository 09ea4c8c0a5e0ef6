// Measures the costs of pairs of an allocation and its free, by size and pattern, with each allocator.
#pragma once

#include "profiler/predict/cost_model.hpp"

namespace tarn::command {

// Measures the C library's functions and what a program can use in their place.
analyse::cost_model measure_parts();

// Measures the malloc that this process was started with.
analyse::cost_model measure_preloaded();

}  // namespace tarn::command
