// Finds the libraries that belong to this executable.
#pragma once

#include <string>

namespace tarn::command {

// Returns the absolute path of the library called `name`: `chosen_path` if not empty, else the one beside this
// executable (in the installed tree or the build tree). Throws a failure if there is none, or if it is to be preloaded
// and LD_PRELOAD cannot name it.
std::string find_library(const std::string& name, const std::string& chosen_path, bool is_preloaded = true);

}  // namespace tarn::command
