// Prints what `tarn report` says about system calls.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "profiler/advise/analysis.hpp"

namespace tarn::command {

// Returns whether any remedy is named.
bool calls_gain(const format::recording& recording);

// Prints a line or two; prints nothing where no system call was recorded.
void print_calls_summary(const format::recording& recording);

// Prints at most `top` sites with a remedy, as text.
void print_calls(const analyse::analysis& analysis, std::size_t top);

// Returns the array `syscalls`.
nlohmann::json json_of_calls(const analyse::analysis& analysis, std::size_t top);

}  // namespace tarn::command
