// Replaces arguments of system calls that would take SIGSYS from us: the kernel gets a changed copy, and the
// program's register has its own value again when the call returns. A SIGSYS that the kernel forces while it is
// blocked ends the process.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "profiler/format/region.hpp"

namespace tarn::preload {

struct substitution {
  format::call_cell* cell = nullptr;
  std::uint8_t argument = 0;  // 0 to 5
  long original = 0;
  std::uint64_t copy[4] = {};
  bool used = false;
};

// tarn_call carries one value in a register: a cell, a substitution with this bit set, or nothing.
constexpr std::uintptr_t is_substitution = 1;

inline format::call_cell* cell_of(std::uintptr_t carried) noexcept {
  if ((carried & is_substitution) != 0) return reinterpret_cast<substitution*>(carried & ~is_substitution)->cell;
  return reinterpret_cast<format::call_cell*>(carried);
}

// Returns the substitution of a call that needs one, and puts its copy into `arguments`; otherwise null. Call it in the
// handler of SIGSYS, with all other signals blocked.
substitution* substitute(long number, long* arguments) noexcept;
// Restores the program's argument after the call.
void restore(substitution& substitution, long number, long* arguments, long result) noexcept;

// Resets the lock in a child of fork.
void begin_substitutions_anew() noexcept;

// Returns true when the call is answered here instead of by the kernel; `result` is then what it returns.
bool answer(long number, const long* arguments, long& result) noexcept;

// Unblocks SIGSYS in the mask that the end of a handler restores.
void unblock(ucontext_t& frame) noexcept;

// Passes a SIGSYS that is not ours to the program, as the program would have got it.
void pass_on(int signal, void* information, void* context) noexcept;

}  // namespace tarn::preload
