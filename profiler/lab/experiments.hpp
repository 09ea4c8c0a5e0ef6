// The experiments, one file each.
#pragma once

#include "profiler/lab/experiment.hpp"

namespace tarn::lab {

experiment list_experiment();
experiment heap_demo();
experiment heap_demo_2();
experiment lock_cost();
experiment m_string();
experiment count_a();
experiment categories();
experiment growth();
experiment peers();
experiment appserver();

}  // namespace tarn::lab
