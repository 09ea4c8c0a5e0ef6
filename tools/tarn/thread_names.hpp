#pragma once

#include "format/recording.hpp"

namespace tarn::command {

// Gives the threads that still run the names that the kernel has for them; the others keep theirs. One small file is
// read for each.
void name_threads(format::recording& of);

}  // namespace tarn::command
