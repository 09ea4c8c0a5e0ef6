// Finds names for threads, because a recording has numbers only.
#pragma once

#include <string>
#include <vector>

#include "profiler/symbols/symbols.hpp"

namespace tarn::command {

// Returns the function that each thread runs, without arguments: the outermost one on most of its stacks that is not
// in the C or C++ library. It is empty if unknown. Resolves a few stacks of each thread.
std::vector<std::string> thread_roles(const format::recording& recording, analyse::symbols& symbols);

}  // namespace tarn::command
