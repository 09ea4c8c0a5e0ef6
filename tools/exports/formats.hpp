// The formats (docs/export.md says what each carries). Each function gives the whole file. Names of a recording may be
// any bytes: in JSON what is no UTF-8 is replaced, in lines of text what would end a frame or a line.
#pragma once

#include <string>

#include "exports/profile.hpp"

namespace tarn::exports {

// One measure: a line for each stack, "thread;main;…;function;[category] 123".
std::string as_collapsed(const profile& of, measure which);

// https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources: a profile for each measure.
std::string as_speedscope(const profile& of);

// Firefox's processed profile, version 60: a process for each measure, with a track for each thread.
std::string as_firefox(const profile& of);

// https://github.com/google/pprof/blob/main/proto/profile.proto, not compressed.
std::string as_pprof(const profile& of);

}  // namespace tarn::exports
