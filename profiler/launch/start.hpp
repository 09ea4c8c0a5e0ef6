// Starts a program with a library of ours preloaded, for `tarn run` and `tarn record`.
#pragma once

#include <string>
#include <vector>

#include "profiler/launch/program.hpp"

namespace tarn::command {

// Throws a failure when there is no memory for the variable.
void set_environment(const std::string& name, const std::string& value);

// Puts `library` in front of the libraries that LD_PRELOAD already names, but a malloc behind a recorder, which
// records what a malloc behind it serves.
void preload(const std::string& library);

// Replaces this process by the program. Throws cannot_run.
[[noreturn]] void execute(const std::vector<std::string>& arguments, const std::string& program, start method);

}  // namespace tarn::command
