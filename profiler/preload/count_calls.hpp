// Counts the program's system calls.
#pragma once

#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/stacks/stack.hpp"
#include "profiler/preload/threads.hpp"

namespace tarn::preload {

// Counts a call before it is made, in the handler of SIGSYS with all signals blocked. `caller` is the location of the
// `syscall` instruction; `arguments` are its six arguments.
struct counted_call {
  format::call_cell* cell = nullptr;  // null when the call is not counted
  std::uint16_t weight = 0;           // the calls that it stands for
};
counted_call call_begins(const caller& caller, long number, const long* arguments) noexcept;

// Counts a call that was long, and that no window counts, after it was made (long_calls.hpp). `caller` is the caller of
// the C library's function, whose arguments and result these are.
void count_long_call(thread& self, const caller& caller, std::uint32_t number, const long* arguments, long result,
                     std::uint64_t ticks) noexcept;

// Adds the result of a call after it was made. It uses only general registers, as the program's other registers are
// in use. Handlers of other signals may interrupt it, and their calls may count in the same cell.
void call_ended(format::call_cell& cell, std::uint64_t weight, std::uint64_t began, long number, const long* arguments,
                long result) noexcept;

}  // namespace tarn::preload
