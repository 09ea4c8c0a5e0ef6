// Prints what `tarn report` says about regions that were to be quiet (tarn::quiet_region).
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "profiler/format/recording.hpp"

namespace tarn::command {

// Prints one line; prints nothing where no region was entered.
void print_quiet_summary(const format::recording& recording);

// Prints the regions with violations, with at most `top` call stacks each.
void print_quiet_regions(const format::recording& recording, std::size_t top);

// Returns the array `quiet_regions`.
nlohmann::json json_of_quiet_regions(const format::recording& recording, std::size_t top);

}  // namespace tarn::command
