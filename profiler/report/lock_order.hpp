// Prints what `tarn report` says about the order in which locks are taken.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "profiler/format/recording.hpp"

namespace tarn::command {

// Prints one line; prints nothing where there is no inversion.
void print_orders_summary(const format::recording& recording);

// Prints at most `top` inversions and at most `top` wait chains, as text.
void print_orders(const format::recording& recording, std::size_t top);

// Returns the object `lock_orders`.
nlohmann::json json_of_orders(const format::recording& recording, std::size_t top);

}  // namespace tarn::command
