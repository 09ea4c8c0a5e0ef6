// Describes what of a program was not recorded, and what helps.
#pragma once

#include <string>
#include <vector>

#include "format/recording.hpp"
#include "tarn/region_file.hpp"

namespace tarn::command {

// Returns what the region knows of it by now, and the reason.
format::unrecorded_facts unrecorded_in(const region_file& region);

// Returns a line for each item; no line where everything was recorded.
std::vector<std::string> unrecorded_text(const format::unrecorded_facts& facts);

}  // namespace tarn::command
