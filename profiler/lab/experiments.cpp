#include "profiler/lab/experiments.hpp"

namespace tarn::lab {

const std::vector<experiment>& experiments() {
  static const std::vector<experiment> list = {list_experiment(), heap_demo(),  heap_demo_2(), lock_cost(), m_string(),
                                               count_a(),         categories(), appserver(),   growth(),    peers()};
  return list;
}

}  // namespace tarn::lab
