// A system call of the program, counted.
#pragma once

#include <cstdint>

#include "format/region.hpp"
#include "record/stack.hpp"

namespace tarn::record {

// Before it is made, in the handler of SIGSYS with all signals blocked: `from` is the `syscall` instruction's place,
// `words` the six arguments. Null when it is not counted, or cannot be.
format::call_cell* call_begins(const caller& from, long number, const long* words) noexcept;

// After it: adds what came of it. Uses general registers only, as the program's others are in use. Other signals may
// come in between, with calls of their own to the same cell.
void call_ended(format::call_cell& to, std::uint64_t began, long number, const long* words, long result) noexcept;

}  // namespace tarn::record
