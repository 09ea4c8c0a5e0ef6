// The call stack of an allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::record {

// The registers of the program's code that called us, as they are when the call returns.
struct caller {
  std::uintptr_t address;  // that it returns to
  std::uintptr_t stack;
  std::uintptr_t frame;
};

// Of the function in which it stands: one that the program calls, compiled with a frame pointer.
#define TARN_CALLER()                                                   \
  ::tarn::record::caller {                                              \
    reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),      \
        reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa()),        \
        *static_cast<const std::uintptr_t*>(__builtin_frame_address(0)) \
  }

// The calling thread's stack, found once for each thread. May allocate (from the program's heap).
struct stack_limits {
  std::uintptr_t low = 0, high = 0;
};
stack_limits own_stack() noexcept;

// What a walk's result came from, beside the program's code: the caller's address and stack pointer, its frame pointer
// if that matters, and these words of the stack.
struct stack_reads {
  static constexpr std::uint32_t most = 80;
  std::uint32_t count;  // above `most`: not all of them are here
  bool frame_matters;
  std::uint32_t at[most];  // bytes above the stack pointer
  std::uintptr_t word[most];

  void note(std::uintptr_t offset, std::uintptr_t value) noexcept {
    if (count < most && offset <= UINT32_MAX) {
      at[count] = static_cast<std::uint32_t>(offset);
      word[count++] = value;
    } else {
      count = most + 1;
    }
  }
};

// Return addresses, innermost first, at most format::most_frames; at least the first. By call frame information, and
// by frame pointers through code that has none. On a stack that is not the thread's own (a fiber's, a signal's) the
// first only, as nothing tells where such a stack ends. Reads nothing outside of `limits`.
std::size_t walk(const caller& from, const stack_limits& limits, std::uintptr_t* frames, stack_reads& reads) noexcept;

}  // namespace tarn::record
