// Observes a thread's system calls before they are made, by syscall user dispatch (Linux 5.11, x86-64).
#pragma once

namespace tarn::platform {

/// `number` is as in <sys/syscall.h>; `first` and `second` are arguments; `caller` is the call's return address. It
/// runs in a signal handler and must be safe there. Its own calls are not observed.
using call_listener = void (*)(long number, long first, long second, const void* caller) noexcept;

/// Calls `new_listener` before each system call of the calling thread, from now on. Returns false where the system has
/// no dispatch. Installs a handler of SIGSYS, which passes other SIGSYS on to the program's handler.
bool watch_calls(call_listener new_listener) noexcept;
void unwatch_calls() noexcept;

/// Stops observing the calling thread's calls for a scope.
class unwatched {
 public:
  unwatched() noexcept;
  ~unwatched();
  unwatched(const unwatched&) = delete;
  unwatched& operator=(const unwatched&) = delete;

 private:
  char before_;
};

/// Returns the name of a system call, such as "read"; null for a number that was unknown when this was compiled.
const char* call_name(long number) noexcept;

}  // namespace tarn::platform
