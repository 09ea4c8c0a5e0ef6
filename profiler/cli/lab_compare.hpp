// Compares two kept runs of the lab.
#pragma once

#include <string>

#include "profiler/lab/record.hpp"

namespace tarn::command {

// Returns, for each form of each sweep, the time of `after` over that of `before`, at most text_width columns wide.
std::string compare_text(const lab::kept_run& before, const lab::kept_run& after);

}  // namespace tarn::command
