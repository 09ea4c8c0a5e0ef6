// What `tarn report` says of locks.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "format/recording.hpp"

namespace tarn::command {

// As text, at most `top` of them; nothing where none were recorded.
void print_locks(const format::recording& in, std::size_t top);

// The array `locks`.
nlohmann::json json_of_locks(const format::recording& in, std::size_t top);

}  // namespace tarn::command
