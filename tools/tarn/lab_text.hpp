// One experiment of the lab as text for a terminal.
#pragma once

#include <string>

#include "lab/result.hpp"

namespace tarn::command {

// At most page_width columns, its last line ended.
std::string lab_text(const lab::result& of);

// `text` in lines of at most `columns`, each after `indent`; its last line ended.
std::string wrapped(const std::string& text, const std::string& indent, std::size_t columns);

}  // namespace tarn::command
