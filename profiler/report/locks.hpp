// Prints what `tarn report` says about locks.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "profiler/format/recording.hpp"

namespace tarn::command {

// Returns whether any remedy is named.
bool locks_gain(const format::recording& recording);

// Prints a line or two; prints nothing where no lock was recorded.
void print_locks_summary(const format::recording& recording);

// Prints at most `top` locks with a remedy, as text.
void print_locks(const format::recording& recording, std::size_t top);

// Returns the array `locks`.
nlohmann::json json_of_locks(const format::recording& recording, std::size_t top);

}  // namespace tarn::command
