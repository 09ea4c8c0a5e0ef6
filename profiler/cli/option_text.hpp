// Formats the option table as text, for every place that shows it: help, docs, man page, completion.
#pragma once

#include <span>
#include <string>

#include "base/options.hpp"

namespace tarn::command {

inline std::span<const base::option_info> all_options() { return base::option_table; }

// Returns TARN_PURGE_DELAY_MS.
std::string environment_text(const base::option_info& option);
// Returns the description of an option's values: "milliseconds, 0 to 3600000".
std::string value_text(const base::option_info& option);
// Returns the default as a user writes it, or "none".
std::string default_text(const base::option_info& option);
// Returns every option in lines of at most `width` columns, for a terminal.
std::string option_list(std::size_t width);

// Returns what is wrong with a number that a user gave, if it is below 0; else an empty text.
std::string refuse_negative(const std::string& number);
// Likewise if it is not above 0 or not finite. Leaves a text that is no number to CLI11.
std::string refuse_unless_positive(const std::string& number);

// Finds the option that a user named; throws a failure that names the most similar option if there is none.
const base::option_info& option_named(const std::string& name);

}  // namespace tarn::command
