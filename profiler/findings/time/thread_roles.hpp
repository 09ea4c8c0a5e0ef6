// Counts threads, and finds names for them, because a recording has numbers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "profiler/symbols/symbols.hpp"

namespace tarn::command {

// Returns the function that each thread runs, without arguments: the outermost one on most of its stacks that is not
// in the C or C++ library. It is empty if unknown. Resolves a few stacks of each thread.
std::vector<std::string> thread_roles(const format::recording& recording, analyse::symbols& symbols);

// Returns how many threads these are, by their numbers in the recording. The first thread of a program that another one
// has become by exec is the same.
std::size_t count_of_threads(const format::recording& recording, const std::set<std::uint32_t>& threads);
// Counts all that are in it. Of a program that ran already, the recording also names threads that had ended by then, so
// that only active_threads() count.
std::size_t count_of_threads(const format::recording& recording);

// Returns the threads that did something that was recorded.
std::set<std::uint32_t> active_threads(const format::recording& recording);

}  // namespace tarn::command
