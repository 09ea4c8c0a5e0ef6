// Numbers and names in the columns of `tarn top`.
#pragma once

#include <string>

#include "analyse/live.hpp"

namespace tarn::command {

// At most eight columns: 0, 12.3, 1,234, 56.7k, 8.9M
std::string short_number(double value);
std::string short_bytes(double value);
// "-" where it is not a number.
std::string number_words(double value, const analyse::live_column& in);
// What may stand on a terminal: a name may have any bytes.
std::string printable(const std::string& text);

}  // namespace tarn::command
