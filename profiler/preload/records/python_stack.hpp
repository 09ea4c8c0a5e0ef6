// Reads the call stack of CPython's functions, which have no frames of their own on the C stack: one activation of the
// interpreter's loop runs a Python function and those that it calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

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

// The CPython that runs the program.
struct python_interpreter {
  using state_function = void* (*)();
  using ending_function = int (*)();
  python_types types;
  state_function state_of_thread;  // PyGILState_GetThisThreadState(): the thread's own value
  ending_function is_ending;       // _Py_IsFinalizing(): then the states of other threads are freed

  // Returns the state of the calling thread, or 0 where it must not be read.
  std::uintptr_t readable_state() const noexcept {
    return is_ending() != 0 ? 0 : reinterpret_cast<std::uintptr_t>(state_of_thread());
  }
};
extern constinit python_interpreter cpython;  // NOLINT(bugprone-dynamic-static-initializers): constinit

inline bool is_in_python_block(const format::python_layout& layout, std::uintptr_t block,
                               std::uintptr_t frame) noexcept {
  return frame - block < python_word(block + sizeof block) - layout.frame_bytes;
}

// Set once the process is known to be a CPython whose stacks can be read.
extern constinit std::atomic<bool> is_python;  // NOLINT(bugprone-dynamic-static-initializers): constinit
inline bool runs_python() noexcept { return is_python.load(std::memory_order_relaxed); }

// Returns whether the address is in the module of the interpreter.
bool is_in_interpreter(std::uintptr_t address) noexcept;

// Finds out whether the program is one. It takes the loader's lock, and may allocate: call it in the first constructor
// or where the program is stopped.
void look_for_python() noexcept;

// Reads the frames of the calling thread, which is called from `caller`. `met` is the thread's own memory of code
// objects, or null: then each one is asked for. `spare_chain` is for a chain that cannot be remembered. It allocates
// nothing, and locks only to record a code object.
void read_python_stack(const caller& caller, const stack_limits& limits, met_python_codes* met,
                       python_chain& spare_chain, python_stack& result) noexcept;

constexpr std::size_t python_activation_bytes = 32;
inline bool is_python_on_stack(std::uintptr_t activation, const caller& caller, const stack_limits& limits) noexcept {
  return caller.stack >= limits.low && activation < limits.high - python_activation_bytes;
}

// Does what known_python_stack() does for one layout, whose numbers are part of the instructions: loading them takes as
// long as their use.
template <std::size_t row>
[[gnu::always_inline]] inline std::uint64_t known_stack_of(const caller& caller, const stack_limits& limits,
                                                           met_python_codes& met) noexcept {
  constexpr const format::python_layout& layout = format::python_layouts[row];
  const std::uintptr_t state = cpython.readable_state();
  if (state == 0) return 0;
  const std::uintptr_t activation = python_word(state + layout.thread_activation);
  if (activation <= caller.stack || !is_python_on_stack(activation, caller, limits)) return 0;
  const std::uintptr_t frame = python_word(activation + layout.activation_frame);
  const std::uintptr_t newest_block = python_word(state + layout.thread_frames);
  if (newest_block == 0 || frame % sizeof frame != 0 ||
      (!is_in_python_block(layout, newest_block, frame) && !met.frames.has(newest_block, frame)))
    return 0;
  const std::uint64_t freed = freed_python_codes.load(std::memory_order_relaxed);
  const python_chain& chain = met.chains.slot_of(frame, python_word(frame + layout.frame_instruction));
  return chain.is_unchanged<row>(activation, frame, freed) ? chain.hash() : 0;
}

// Returns the hash that read_python_stack() would find, if nothing has changed since it found it; otherwise 0. It takes
// some nanoseconds, locks nothing and asks nobody.
[[gnu::always_inline]] inline std::uint64_t known_python_stack(const caller& caller, const stack_limits& limits,
                                                               met_python_codes& met) noexcept {
  return [&]<std::size_t... rows>(std::index_sequence<rows...>) {
    std::uint64_t hash = 0;
    (void)((cpython.types.layout == &format::python_layouts[rows] &&
            (hash = known_stack_of<rows>(caller, limits, met), true)) ||
           ...);
    return hash;
  }(std::make_index_sequence<std::size(format::python_layouts)>());
}

// Walks the stack as walk() does, with the workspace's Python frames in place of those of the interpreter's loop. Of
// the interpreter's own functions only those inside the innermost Python function stay. The result is in `frames` of
// the workspace.
std::size_t walk_with_python(const caller& caller, const stack_limits& limits, walk_workspace& workspace,
                             stack_reads& reads) noexcept;

}  // namespace tarn::preload
