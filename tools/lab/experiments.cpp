#include "lab/experiments.hpp"

namespace tarn::lab {

const std::vector<experiment>& experiments() {
  static const std::vector<experiment> all = {list_experiment()};
  return all;
}

}  // namespace tarn::lab
