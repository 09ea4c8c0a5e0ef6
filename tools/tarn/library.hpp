// Where the libraries to preload are.
#pragma once

#include <string>

namespace tarn::command {

// The absolute path of the library called `name`: `given` if not empty, else beside this executable (installed tree or
// build tree). Throws a usage failure when there is none, or when LD_PRELOAD cannot name it.
std::string find_library(const std::string& name, const std::string& given);

}  // namespace tarn::command
