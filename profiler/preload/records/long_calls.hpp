// Counts each long system call of the C library's waiting functions, inside and outside of windows (windows.hpp).
//
// A window sees few of the calls that a thread makes while its weight is large. One wait may take longer than all other
// calls of a thread, so an estimate of the time would say little. The wrappers of these functions read the clock before
// and after the call (waiting_functions.cpp). A long call counts once, with its time, inside and outside of windows.
// All other calls count through windows only. So both counts stay unbiased.
#pragma once

#include <cstdint>

#include "profiler/format/clock.hpp"
#include "profiler/format/region.hpp"
#include "profiler/preload/stacks/stack.hpp"

namespace tarn::preload {

// A call of so many ticks of the processor's clock is long: 0.7 ms at 3 GHz.
constexpr std::uint64_t long_ticks = std::uint64_t{1} << 21;

// The call that the wrapper on the calling thread's stack is making, and the parts of it that a window has counted.
struct awaited_call {
  static constexpr std::uint32_t no_call = ~std::uint32_t{0};
  std::uint32_t number = no_call;  // of the system call
  bool is_in_window = false;       // the window counts it
  bool follows_equal_call = false;
  format::call_cell* cell = nullptr;  // counts it when the call has ended; null: nothing is left to count
  std::uint64_t requested_bytes = 0;
};
extern constinit thread_local awaited_call own_awaited_call;  // NOLINT(bugprone-dynamic-static-initializers)

// Calls a function of the C library that waits in a system call of a futex. It may be cancelled. Its arguments are
// words, which the ABI passes in the same way as those that it declares.
using futex_function = long (*)(long, long, long);
#if defined(__x86_64__)
long await_futex(futex_function function, const caller& caller, const long (&arguments)[3]);
#else
inline long await_futex(futex_function function, const caller&, const long (&arguments)[3]) {
  return function(arguments[0], arguments[1], arguments[2]);
}
#endif

// Forgets the sites of the calling thread's waits, in a child of fork, which has a region of its own.
#if defined(__x86_64__)
void begin_waits_anew() noexcept;
#else
inline void begin_waits_anew() noexcept {}
#endif

}  // namespace tarn::preload
