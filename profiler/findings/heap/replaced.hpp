// Finds programs and libraries that were replaced after they were recorded.
#pragma once

#include <string>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::command {

// Returns the recorded files that have another build id now, or are gone.
std::vector<const format::module_facts*> unreadable_modules(const format::recording& recording);

// Returns one line that names a recorded file whose build id has changed or is gone; its functions have no names in a
// report. Returns an empty text if all files are unchanged.
std::string replaced_text(const format::recording& recording);

}  // namespace tarn::command
