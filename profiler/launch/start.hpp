// Starts a program with a library of ours preloaded, for `tarn run` and `tarn record`.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "profiler/launch/program.hpp"

namespace tarn::command {

// Returns PROGRAM and its arguments: those from the first argument that is no option of `command`, or else those behind
// "--". Throws a failure for an unknown option.
std::vector<std::string> program_arguments(const CLI::App& command, const std::vector<std::string>& after_dashes);

// Throws a failure when there is no memory for the variable.
void set_environment(const std::string& name, const std::string& value);

// Puts `library` in front of the libraries that LD_PRELOAD already names.
void preload(const std::string& library);

// Replaces this process by the program. Throws cannot_run.
[[noreturn]] void execute(const std::vector<std::string>& arguments, const std::string& program, start method);

}  // namespace tarn::command
