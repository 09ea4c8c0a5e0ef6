// Formats one experiment of the lab as text for a terminal.
#pragma once

#include <string>

#include "profiler/lab/result.hpp"

namespace tarn::command {

// Returns lines of at most text_width columns, with a line end after the last.
std::string lab_text(const lab::result& result);

// Returns `text` in lines of at most `columns`, each after `indent`, with a line end after the last.
std::string wrap_text(const std::string& text, const std::string& indent, std::size_t columns);

}  // namespace tarn::command
