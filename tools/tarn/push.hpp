#pragma once

#include <string>

#include "exports/profile.hpp"

namespace tarn::command {

// Sends the profile to a Pyroscope server at `url` (http or https, without the path), as `name`; where that is empty,
// by the program's name. Throws a usage failure where the server cannot be reached or refuses it, or curl is not here.
void push(const exports::profile& of, const std::string& url, const std::string& name);

}  // namespace tarn::command
