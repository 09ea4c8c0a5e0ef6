// Finds programs that contain malloc or operator new, which the recorder does not see.
#pragma once

#include <string>

#include "profiler/format/recording.hpp"

namespace tarn::command {

// Returns the file of the last program, or its library, that contains them; null if the recorder saw everything. A
// file with malloc comes before one with the operators alone.
const format::module_facts* own_malloc_in(const format::recording& recording);

// Returns whether the heap was recorded: it was requested, and malloc was the recorder's.
bool records_heap(const format::recording& recording);

// Returns "server has a malloc of its own: its heap was not recorded", for a result of own_malloc_in().
std::string own_malloc_text(const format::module_facts& module);

// Returns "server allocates from heaps of libtarn.a, too, …", with the cure, if a recorded file of the last program
// contains them and the heap was to be recorded; else an empty text. The malloc of `tarn run` is recorded.
std::string unrecorded_heaps_text(const format::recording& recording);

}  // namespace tarn::command
