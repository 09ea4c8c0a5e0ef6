// Finds programs and libraries that were replaced after they were recorded.
#pragma once

#include <string>

#include "profiler/format/recording.hpp"

namespace tarn::command {

// Returns one line that names a recorded file with another build id now, or none; empty if each is as it was recorded.
// Its functions have no names in a report then.
std::string replaced_text(const format::recording& recording);

}  // namespace tarn::command
