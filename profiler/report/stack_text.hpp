// Prints locations and call stacks in a report.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "profiler/advise/analysis.hpp"

namespace tarn::command {

// Writes the innermost lines of the stack of a site to standard output.
void print_stack(analyse::analysis& analysis, std::uint32_t site);

nlohmann::json json_of_location(const analyse::code_location& location);
nlohmann::json json_of_stack(analyse::analysis& analysis, std::uint32_t site);

}  // namespace tarn::command
