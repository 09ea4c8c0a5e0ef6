// Reads the call stack of CPython's functions, which have no frames of their own on the C stack: one activation of the
// interpreter's loop runs a Python function and those that it calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/records/python_codes.hpp"
#include "profiler/preload/stacks/stack.hpp"

namespace tarn::preload {

struct walk_workspace;

// The Python frames of the calling thread, the innermost first, as addresses of recorded code objects.
struct python_stack {
  static constexpr std::size_t max_activations = 32;
  struct activation {
    std::uintptr_t address;  // in the C frame of the interpreter's loop
    std::size_t end;         // the number of frames up to its last one
  };

  std::uint64_t hash = 0;  // of all that follows; 0: there are no frames
  std::size_t frame_count = 0, activation_count = 0;
  std::uintptr_t frames[format::max_frames];
  activation activations[max_activations];
};

// Set once the process is known to be a CPython whose stacks can be read.
extern constinit std::atomic<bool> is_python;  // NOLINT(bugprone-dynamic-static-initializers): constinit
inline bool runs_python() noexcept { return is_python.load(std::memory_order_relaxed); }

// Returns whether the address is in the module of the interpreter.
bool is_in_interpreter(std::uintptr_t address) noexcept;

// Finds out whether the program is one. It takes the loader's lock, and may allocate: call it in the first constructor
// or where the program is stopped.
void look_for_python() noexcept;

// Reads the frames of the calling thread, which is called from `caller`. `met` is the thread's own memory of code
// objects, or null: then each one is asked for. It allocates nothing, and locks only to record a code object.
void read_python_stack(const caller& caller, const stack_limits& limits, met_python_codes* met,
                       python_stack& result) noexcept;

// Walks the stack as walk() does, with the workspace's Python frames in place of those of the interpreter's loop. Of
// the interpreter's own functions only those inside the innermost Python function stay. The result is in `frames` of
// the workspace.
std::size_t walk_with_python(const caller& caller, const stack_limits& limits, walk_workspace& workspace,
                             stack_reads& reads) noexcept;

}  // namespace tarn::preload
