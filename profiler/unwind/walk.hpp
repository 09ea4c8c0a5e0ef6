// Walks a call stack by rows of call frame information, in the memory of this process or in a copy of another one's.
//
// This code runs inside the recorded program, too: it allocates nothing, throws nothing and calls no library.
#pragma once

#include <sys/ucontext.h>

#include <cstddef>
#include <cstdint>

#include "profiler/unwind/call_frames.hpp"

namespace tarn::unwind {

// The registers of the calling code, with the values that they have when the call returns.
struct caller {
  std::uintptr_t address;  // the return address
  std::uintptr_t stack;
  std::uintptr_t frame;
};

#if defined(__x86_64__)
// These are offsets in the ucontext_t that the kernel puts there: its registers, by their numbers in gregset_t.
inline constexpr std::uintptr_t saved_frame = offsetof(ucontext_t, uc_mcontext.gregs[REG_RBP]),
                                saved_stack = offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]),
                                saved_address = offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]);
static_assert(saved_frame < saved_address && saved_stack < saved_address);
#endif

// Holds the frame pointer of the current frame and its origin. It counts as read only when a step uses it.
template <class Memory>
class frame_pointer {
 public:
  frame_pointer(std::uintptr_t value, Memory& memory) noexcept : value_(value), memory_(memory) {}
  void restore(std::uintptr_t value, std::uintptr_t address) noexcept {
    value_ = value, address_ = address, is_noted_ = false;
  }
  std::uintptr_t use() noexcept {
    if (address_ == in_register) {
      memory_.note_frame_register();
    } else if (!is_noted_) {
      memory_.note(address_, value_);
      is_noted_ = true;
    }
    return value_;
  }

 private:
  static constexpr std::uintptr_t in_register = UINTPTR_MAX;
  std::uintptr_t value_;
  Memory& memory_;
  std::uintptr_t address_ = in_register;  // where the value was saved
  bool is_noted_ = false;
};

// Writes the return addresses to `frames`, innermost first, and returns their number: at least 1, at most `limit`. It
// uses the rows that `row_of` returns for an address, and frame pointers through code that has none. `Memory` has:
//   has(address)           whether a word can be read; read(address) reads it
//   reaches(stack)         whether a stack pointer may lie there, with nothing above it that is read
//   room_above(stack)      how far above it a frame may lie that is known only from a frame pointer
//   enter_interrupted(stack, frame_end)  whether the walk may continue at the stack pointer that a signal interrupted,
//                          where `frame_end` is the last word of the signal's frame that was read
//   note(address, value), note_frame_register()  called for each value that the result depends on
//   note_frame(index, stack)  if there is one: called for each frame but the first, with its stack pointer
template <class Memory, class RowOf>
std::size_t walk(const caller& first, Memory& memory, RowOf row_of, std::uintptr_t* frames,
                 std::size_t limit) noexcept {
  constexpr std::uintptr_t word = sizeof(std::uintptr_t);
  frames[0] = first.address;
  std::size_t count = 1;
  std::uintptr_t address = first.address, stack = first.stack;
  frame_pointer frame(first.frame, memory);
  while (count < limit) {
    // Looks up an address inside the call instruction, as the next instruction may be another function's.
    const row step = row_of(address - 1);
    std::uintptr_t next;  // the caller's stack pointer
    std::uintptr_t return_at;
    if (step.rule == row::from_stack || step.rule == row::from_frame) {
      next = (step.rule == row::from_stack ? stack : frame.use()) + static_cast<std::uintptr_t>(step.up);
      return_at = next + 8 * static_cast<std::uintptr_t>(step.return_at);
      const std::uintptr_t frame_at = next + 8 * static_cast<std::uintptr_t>(step.frame_at);
      // Goes strictly upwards, so that the walk ends; every word that is read lies in between.
      if (next <= stack || !memory.reaches(next) || return_at < stack || return_at > next - word) break;
      if (step.is_frame_saved) {
        if (frame_at < stack || frame_at > next - word || !memory.has(frame_at)) break;
        frame.restore(memory.read(frame_at), frame_at);
      }
#if defined(__x86_64__)
    } else if (step.rule == row::signal) {
      const std::uintptr_t frame_at = stack + saved_frame, stack_at = stack + saved_stack;
      return_at = stack + saved_address;
      if (!memory.has(frame_at) || !memory.has(stack_at) || !memory.has(return_at)) break;
      next = memory.read(stack_at);
      // If the walk may not continue there, this is no frame of a signal and only looks like one.
      if (!memory.enter_interrupted(next, return_at)) break;
      memory.note(stack_at, next);
      memory.note(return_at, memory.read(return_at));
      frame.restore(memory.read(frame_at), frame_at);
      // An interrupted function stands at its next instruction; all others stand behind their call.
      address = memory.read(return_at) + 1;
      stack = next;
      if constexpr (requires { memory.note_frame(count, stack); }) memory.note_frame(count, stack);
      frames[count++] = address;
      continue;
#endif
    } else if (step.rule == row::unknown) {
      // Code made at run time and assembler have no rows. If they keep a frame pointer, it points to two words.
      const std::uintptr_t frame_start = frame.use();
      if (frame_start < stack || frame_start % word != 0 || frame_start - stack > memory.room_above(stack) - 2 * word)
        break;
      if (!memory.has(frame_start) || !memory.has(frame_start + word)) break;
      next = frame_start + 2 * word;
      return_at = frame_start + word;
      frame.restore(memory.read(frame_start), frame_start);
    } else {
      break;
    }
    if (!memory.has(return_at)) break;
    address = memory.read(return_at);
    memory.note(return_at, address);
    stack = next;
    if (address == 0) break;
    if constexpr (requires { memory.note_frame(count, stack); }) memory.note_frame(count, stack);
    frames[count++] = address;
  }
  return count;
}

}  // namespace tarn::unwind
