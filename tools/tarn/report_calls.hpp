// What `tarn report` says of system calls.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "analyse/analysis.hpp"

namespace tarn::command {

// Whether any remedy is named.
bool calls_gain(const format::recording& in);

// In a line or two; nothing where none were recorded.
void print_calls_summary(const format::recording& in);

// As text, at most `top` sites with a remedy.
void print_calls(const analyse::analysis& of, std::size_t top);

// The array `syscalls`.
nlohmann::json json_of_calls(const analyse::analysis& of, std::size_t top);

}  // namespace tarn::command
