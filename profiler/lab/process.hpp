// Runs a program to its end, and keeps its output.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "profiler/base/helper_program.hpp"

namespace tarn::lab {

using process_result = command::helper_result;

// Runs words[0] (a path, or a name in PATH) with our environment, without variables that tune an allocator, and with
// `environment` (NAME=VALUE) added. It has no standard input. Threads: one at a time.
process_result run_program(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                           std::chrono::seconds longest);

// Returns the last non-empty line of a program's errors, for a message of one line.
std::string last_line(const std::string& errors);

}  // namespace tarn::lab
