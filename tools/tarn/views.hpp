// All sites of a recording with their names.
#pragma once

#include <vector>

#include "analyse/analysis.hpp"

namespace tarn::command {

// Shows on a terminal how far it is when that takes more than a second.
std::vector<analyse::site_view> all_views(analyse::analysis& of);

}  // namespace tarn::command
