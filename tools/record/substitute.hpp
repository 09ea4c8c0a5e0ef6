// Arguments of system calls that would take SIGSYS from us: the kernel gets a changed copy, and the program's register
// has its own again when the call returns. A SIGSYS that the kernel forces while it is blocked ends the process.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "format/region.hpp"

namespace tarn::record {

struct substitution {
  format::call_cell* cell = nullptr;
  std::uint8_t argument = 0;  // 0 to 5
  long original = 0;
  std::uint64_t copy[4] = {};
  bool used = false;
};

// What tarn_call carries in a register: a cell, or a substitution with this bit set, or nothing.
constexpr std::uintptr_t is_substitution = 1;

inline format::call_cell* cell_of(std::uintptr_t carried) noexcept {
  if ((carried & is_substitution) != 0) return reinterpret_cast<substitution*>(carried & ~is_substitution)->cell;
  return reinterpret_cast<format::call_cell*>(carried);
}

// The copy for a call, where it needs one: then `words` has its address. In the handler of SIGSYS, all else blocked.
substitution* substitute(long number, long* words) noexcept;
// After the call; gives the program's argument back.
void restore(substitution& of, long number, long* words, long result) noexcept;

// In a child of fork.
void begin_substitutions_anew() noexcept;

// Whether the call is answered without the kernel: then `result` is what it returns.
bool answer(long number, const long* words, long& result) noexcept;

// In what the end of a handler restores.
void unblock(ucontext_t& frame) noexcept;

// A SIGSYS that is not of ours, given to the program as it would have got it.
void pass_on(int signal, void* information, void* context) noexcept;

}  // namespace tarn::record
