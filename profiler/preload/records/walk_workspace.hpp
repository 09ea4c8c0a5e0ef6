// Holds what a walk of a thread's stack needs, apart from that stack: a thread or fiber may have little of it left.
#pragma once

#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/records/python_stack.hpp"
#include "profiler/preload/stacks/stack.hpp"

namespace tarn::preload {

// The workspace of one thread, for one walk at a time. Only who holds an `entry` of that thread may use it: a signal's
// handler that interrupts a walk does not.
struct walk_workspace {
  std::uintptr_t frames[format::max_frames];  // the result
  std::uintptr_t parts[format::max_frames];   // of which the result is made
  std::uintptr_t stacks[format::max_frames];  // the stack pointer of each part
  stack_reads reads;                          // where no cache has room for them
  python_stack python;
  python_chain chain;  // of it, where it cannot be remembered
};

}  // namespace tarn::preload
