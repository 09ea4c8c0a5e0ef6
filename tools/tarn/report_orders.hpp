// What `tarn report` says of the order in which locks are taken.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "format/recording.hpp"

namespace tarn::command {

// In a line; nothing where there is no inversion.
void print_orders_summary(const format::recording& in);

// As text: at most `top` inversions, and as many wait chains.
void print_orders(const format::recording& in, std::size_t top);

// The object `lock_orders`.
nlohmann::json json_of_orders(const format::recording& in, std::size_t top);

}  // namespace tarn::command
