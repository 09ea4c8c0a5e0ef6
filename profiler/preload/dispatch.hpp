// Dispatches all system calls of the program to the recorder, by the kernel's syscall user dispatch: each call that
// is made outside exempt.S raises SIGSYS. The handler counts it and lets the thread continue in exempt.S, which makes
// the call as the program would have: on its stack, with its signal mask, interrupted and restarted as usual.
#pragma once

namespace tarn::preload {

// Starts the dispatch for the calling thread and all threads that it starts. A failure is noted for `tarn record`.
// Call this once, and again in a child of fork.
void start_dispatch() noexcept;

}  // namespace tarn::preload
