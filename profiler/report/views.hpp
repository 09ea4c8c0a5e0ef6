// Makes the list of all sites of a recording, with their names.
#pragma once

#include <vector>

#include "profiler/advise/analysis.hpp"

namespace tarn::command {

// Shows its progress on a terminal if it takes more than a second.
std::vector<analyse::site_view> all_views(analyse::analysis& analysis);

}  // namespace tarn::command
