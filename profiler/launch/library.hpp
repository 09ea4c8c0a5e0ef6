// Finds the libraries to preload.
#pragma once

#include <string>

namespace tarn::command {

// Returns the absolute path of the library called `name`: `chosen_path` if not empty, else the one beside this
// executable (in the installed tree or the build tree). Throws a failure if there is none, or if LD_PRELOAD cannot
// name it.
std::string find_library(const std::string& name, const std::string& chosen_path);

}  // namespace tarn::command
