// Walks the call stack of an event.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/unwind/walk.hpp"

namespace tarn::preload {

using unwind::caller;

// Makes the caller of the enclosing function, which the program calls and which is compiled with a frame pointer.
#define TARN_CALLER()                                                   \
  ::tarn::preload::caller {                                             \
    reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),      \
        reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa()),        \
        *static_cast<const std::uintptr_t*>(__builtin_frame_address(0)) \
  }

// The limits of a thread's stack.
struct stack_limits {
  std::uintptr_t low = 0, high = 0;
};
// Returns the limits of the stack of the process's first thread.
stack_limits main_stack() noexcept;

// Holds what the result of a walk depends on, besides the program's code: the caller's address and stack pointer, its
// frame pointer if that matters, and these words of the stack.
struct stack_reads {
  static constexpr std::uint32_t limit = 80;
  std::uint32_t count;  // above `limit`: not all of them are here
  bool depends_on_frame;
  std::uint32_t offsets[limit];  // bytes above the stack pointer
  std::uintptr_t values[limit];

  // Marks the result as one that these words cannot find again.
  void forget() noexcept { count = limit + 1; }
  void note(std::uintptr_t offset, std::uintptr_t value) noexcept {
    if (count < limit && offset <= UINT32_MAX) {
      offsets[count] = static_cast<std::uint32_t>(offset);
      values[count++] = value;
    } else {
      forget();
    }
  }
};

// Writes the return addresses to `frames`, innermost first, and returns their number: at least 1, at most
// format::max_frames. It uses call frame information, and frame pointers through code that has none. `limits` are
// those of the thread's own stack; on any other one (a fiber's, a signal's) it asks the kernel for each page whether
// it can be read, at some 100 ns each. From a signal's stack the walk continues where the signal interrupted the
// program. `stacks` gets the stack pointer of each frame, unless it is null.
std::size_t walk(const caller& caller, const stack_limits& limits, std::uintptr_t* frames, stack_reads& reads,
                 std::uintptr_t* stacks = nullptr) noexcept;

}  // namespace tarn::preload
