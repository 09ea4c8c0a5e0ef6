// Prints a call stack in a report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "profiler/symbols/symbols.hpp"

namespace tarn::command {

// Writes its innermost lines to standard output.
void print_stack(const std::vector<analyse::code_location>& stack);

nlohmann::json json_of_stack(const std::vector<analyse::code_location>& stack);

}  // namespace tarn::command
