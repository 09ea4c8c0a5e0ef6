// Prints locations and call stacks in a report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include <vector>

#include "profiler/advise/analysis.hpp"

namespace tarn::command {

// Returns the index of the frame that called the stack's own frame; the number of frames where none is known.
std::size_t caller_index(const std::vector<analyse::code_location>& stack);

// Writes the innermost lines of the stack of a site to standard output.
void print_stack(analyse::analysis& analysis, std::uint32_t site);

nlohmann::json json_of_location(const analyse::code_location& location);
nlohmann::json json_of_stack(analyse::analysis& analysis, std::uint32_t site);

}  // namespace tarn::command
