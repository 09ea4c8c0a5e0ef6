// Analyses the quiet regions of a recording (tarn::quiet_region).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::analyse {

// One call stack with violations in a region, summed over all threads.
struct violation_site {
  std::uint32_t site = 0;
  format::violation_counts sums{};
};

// All regions of one name.
struct quiet_view {
  std::string name;
  std::uint64_t entered = 0;
  format::violation_counts sums{};
  std::vector<violation_site> sites;  // the most violations first

  bool is_quiet() const { return sites.empty(); }
};

std::uint64_t violations(const format::violation_counts& counts);

// Returns the regions with the most violations first, and those without any by name.
std::vector<quiet_view> find_quiet_regions(const format::recording& recording);

}  // namespace tarn::analyse
