// The program's system calls, all of them, by the kernel's syscall user dispatch: each one that is made outside of
// exempt.S comes to us as a signal, SIGSYS. Its handler counts it and lets the thread go on in exempt.S, which makes
// the call where the program would have made it: on its stack, with its signal mask, interrupted and restarted as ever.
#pragma once

namespace tarn::record {

// Begins, for the calling thread and all that it starts; what cannot be is noted for `tarn record`. Once,
// and again in a child of fork.
void start_dispatch() noexcept;

}  // namespace tarn::record
