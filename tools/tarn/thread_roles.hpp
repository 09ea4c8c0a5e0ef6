// What a thread is called: a recording has numbers only.
#pragma once

#include <string>
#include <vector>

#include "format/recording.hpp"

namespace tarn::command {

// Of each thread the function it runs, without arguments: the outermost on most of its stacks that is not of the
// C or C++ library. Empty where none is known. Resolves a few stacks of each thread.
std::vector<std::string> thread_roles(const format::recording& in);

}  // namespace tarn::command
