// A helper: a thread for a moment, started from inside malloc or free.
//
// pthread_create() cannot be called there: it allocates, it takes locks of the C library that
// the caller may hold (free() runs under its lock of thread stacks), and it makes every atomic
// of a single-threaded program slower forever (__libc_single_threaded). A helper is a thread
// of the kernel alone. It has a stack and a thread control block of its own, so that errno and
// the stack protector work; it blocks all signals; and the C library does not know it.
//
// The work must therefore use no thread_local variable, allocate nothing, and call nothing of
// the C library but system calls. The other rules are in docs/design/giving-back.md.
#pragma once

#include <cstdint>

namespace tarn::platform {

/// Starts a thread that calls `work` once and ends. One at a time: false while the last one has
/// not ended, when the system refuses a thread, and in sanitizer builds, whose runtimes must know
/// all threads. Any thread. About 15 µs.
[[nodiscard]] bool start_helper(void (*work)() noexcept) noexcept;

/// In a forked child, where no helper lives.
void forget_helper() noexcept;

/// Waits until this process has no thread that is a helper, for about `max_ms`. Returns false if it still has one.
/// Safe in signal handlers.
[[nodiscard]] bool wait_for_helper_end(std::uint32_t max_ms) noexcept;

}  // namespace tarn::platform
