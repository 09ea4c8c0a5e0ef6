// What `tarn report` says of locks.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "format/recording.hpp"

namespace tarn::command {

// Whether any remedy is named.
bool locks_gain(const format::recording& in);

// In a line or two; nothing where none were recorded.
void print_locks_summary(const format::recording& in);

// As text, at most `top` of those with a remedy.
void print_locks(const format::recording& in, std::size_t top);

// The array `locks`.
nlohmann::json json_of_locks(const format::recording& in, std::size_t top);

}  // namespace tarn::command
