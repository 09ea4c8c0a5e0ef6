// Replaces arguments of system calls that would take SIGSYS from us: the kernel gets a changed copy, and the
// program's register has its own value again when the call returns. A SIGSYS that the kernel forces while it is
// blocked ends the process.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/base/kernel_signals.hpp"
#include "profiler/preload/count_calls.hpp"

namespace tarn::preload {

struct substitution {
  format::call_cell* cell = nullptr;
  std::uint8_t argument = 0;  // 0 to 5
  long original = 0;
  std::uint64_t copy[4] = {};
  bool is_used = false;
};

// tarn_call carries one value in a register: a cell, a substitution with the lowest bit set, or nothing; and in the
// highest bits, which no address of ours has, the calls that this one stands for.
constexpr std::uintptr_t is_substitution = 1;
constexpr unsigned weight_bits_at = 52;
constexpr std::uintptr_t address_bits = (std::uintptr_t{1} << weight_bits_at) - 2;

inline std::uintptr_t carried_value(counted_call call, const substitution* replacement = nullptr) noexcept {
  const std::uintptr_t address = replacement == nullptr
                                     ? reinterpret_cast<std::uintptr_t>(call.cell)
                                     : reinterpret_cast<std::uintptr_t>(replacement) | is_substitution;
  return address | std::uintptr_t{call.weight} << weight_bits_at;
}
inline substitution* substitution_of(std::uintptr_t carried) noexcept {
  return (carried & is_substitution) == 0 ? nullptr : reinterpret_cast<substitution*>(carried & address_bits);
}
inline format::call_cell* cell_of(std::uintptr_t carried) noexcept {
  if (const substitution* const replacement = substitution_of(carried)) return replacement->cell;
  return reinterpret_cast<format::call_cell*>(carried & address_bits);
}
inline std::uint64_t weight_of(std::uintptr_t carried) noexcept { return carried >> weight_bits_at; }

// Returns the substitution of a call that needs one, and puts its copy into `arguments`; otherwise null. Call it in the
// handler of SIGSYS, with all other signals blocked.
substitution* substitute(long number, long* arguments) noexcept;
// Restores the program's argument after the call.
void restore(substitution& substitution, long number, long* arguments, long result) noexcept;

// Resets the lock in a child of fork.
void begin_substitutions_anew() noexcept;

// Returns true if this function answers the call instead of the kernel; `result` is then the result of the call.
bool answer(long number, const long* arguments, long& result) noexcept;

// Unblocks SIGSYS in the mask that the end of a handler restores.
void unblock(ucontext_t& frame) noexcept;

// Smaller signal stacks are replaced, as the handler of SIGSYS uses them too.
constexpr std::uint64_t enough_signal_stack = 32 << 10;

// Takes back the replacement of the calling thread's signal stack, for other threads. The thread is about to end and
// then has no signal stack.
void give_back_signal_stack() noexcept;

// Takes an action for SIGSYS as the program's, which pass_on() follows.
void adopt_action(const kernel_action& action) noexcept;

// Passes a SIGSYS that is not ours to the program, as the program would have got it.
void pass_on(int signal, void* information, void* context) noexcept;

}  // namespace tarn::preload
