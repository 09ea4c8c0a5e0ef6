// What `tarn report` says of system calls.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "format/recording.hpp"

namespace tarn::command {

// As text, at most `top` sites; nothing where none were recorded.
void print_calls(const format::recording& in, std::size_t top);

// The array `syscalls`.
nlohmann::json json_of_calls(const format::recording& in, std::size_t top);

}  // namespace tarn::command
