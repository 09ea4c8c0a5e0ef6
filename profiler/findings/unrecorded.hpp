// Describes the parts of a program that were not recorded, and the remedy.
#pragma once

#include <string>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::command {

// Returns a line for each item; no line where everything was recorded.
std::vector<std::string> unrecorded_text(const format::recording& recording);

}  // namespace tarn::command
