#pragma once

#include <string>

#include "profiler/export/profile.hpp"

namespace tarn::command {

// Sends the profile to a Pyroscope server at `url` (http or https, without the path), as `name`, or under the
// program's name if that is empty. Throws a failure if the server cannot be reached or refuses it, or if there
// is no curl.
void push(const exports::profile& profile, const std::string& url, const std::string& name);

}  // namespace tarn::command
