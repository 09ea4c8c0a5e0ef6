// Programs that have malloc or operator new of their own, which the recorder does not see.
#pragma once

#include <string>

#include "format/recording.hpp"

namespace tarn::command {

// Of the program that ran last: its file, or a library, that has; null where the recorder saw all. One with malloc
// before one with the operators alone.
const format::module_facts* own_heap_in(const format::recording& in);

// Whether the heap was recorded: it was asked for, and malloc was the recorder's.
bool records_heap(const format::recording& in);

// "server has a malloc of its own: its heap was not recorded"; of what own_heap_in() finds.
std::string own_heap_words(const format::module_facts& of);

}  // namespace tarn::command
