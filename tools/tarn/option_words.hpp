// The option table in words, for every place that shows it: help, docs, man page, completion.
#pragma once

#include <span>
#include <string>

#include "base/options.hpp"

namespace tarn::command {

inline std::span<const base::option_info> all_options() { return base::option_table; }

// TARN_PURGE_DELAY_MS
std::string environment_words(const base::option_info& option);
// What may stand after the `=`: "milliseconds, 0 to 3600000".
std::string value_words(const base::option_info& option);
// The default as a user would write it; "none" where there is nothing to write.
std::string default_words(const base::option_info& option);
// Every option in lines of at most `width` columns, for a terminal.
std::string option_list(std::size_t width);

// `name` in words that the user gave; throws a usage failure that names the nearest option when there is none.
const base::option_info& option_named(const std::string& name);

}  // namespace tarn::command
