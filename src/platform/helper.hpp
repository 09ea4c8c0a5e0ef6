// A helper: a short-lived thread that is started from inside malloc or free.
//
// pthread_create() cannot be called there: it allocates, it takes locks of the C library that the caller may hold
// (free() runs under its lock of thread stacks), and it makes every atomic of a single-threaded program slower forever
// (__libc_single_threaded). Only the kernel knows a helper as a thread; the C library does not. The helper has a stack
// and a thread control block of its own, so that errno and the stack protector work, and it blocks all signals.
//
// The work must therefore use no thread_local variable, allocate nothing, and call no function of the C library except
// system calls. The other rules are in docs/design/giving-back.md.
#pragma once

#include <cstdint>

namespace tarn::platform {

/// Starts a thread that calls `work` once and ends. There is one at a time: returns false while the last one has not
/// ended, if the system refuses a thread, and in sanitizer builds, whose runtimes must know all threads. Any thread may
/// call it. Costs about 15 µs.
[[nodiscard]] bool start_helper(void (*work)() noexcept) noexcept;

/// Forgets the parent's helper, in a forked child.
void forget_helper() noexcept;

/// Waits until this process has no thread that is a helper, for about `max_ms`. Returns false if it still has one.
/// Safe in signal handlers.
[[nodiscard]] bool wait_for_helper_end(std::uint32_t max_ms) noexcept;

}  // namespace tarn::platform
