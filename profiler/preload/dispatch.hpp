// Dispatches all system calls of the program to the recorder, by the kernel's syscall user dispatch: each call that
// is made outside exempt.S raises SIGSYS. The handler counts it and lets the thread continue in exempt.S, which makes
// the call as the program would have: on its stack, with its signal mask, interrupted and restarted as usual.
#pragma once

namespace tarn::preload {

// Starts the dispatch for the calling thread and all threads that it starts. A failure is noted for `tarn record`.
// Call this once, and again in a child of fork.
void start_dispatch() noexcept;

// These turn the dispatch of the calling thread's calls on and off (profiler/preload/windows.hpp chooses when), and
// return an errno as its negative. They use only calls that every filter allows with which calls are dispatched.
long turn_dispatch_on() noexcept;
long turn_dispatch_off() noexcept;
// Makes the handler of SIGSYS ours again where the program has set another one by an instruction of its own.
void keep_handler() noexcept;

}  // namespace tarn::preload
