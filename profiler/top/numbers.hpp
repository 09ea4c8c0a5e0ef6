// Formats numbers and names for the columns of `tarn top`.
#pragma once

#include <string>

#include "profiler/findings/live.hpp"

namespace tarn::command {

// Uses at most eight columns: 0, 12.3, 1,234, 56.7k, 8.9M
std::string short_number(double value);
std::string short_bytes(double value);
// Returns "-" for a NaN.
std::string number_text(double value, const analyse::live_column& column);
// Makes a name safe for a terminal: it may have any bytes.
std::string printable(const std::string& text);

}  // namespace tarn::command
