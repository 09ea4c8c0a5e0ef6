// The system calls of a thread, seen before they are made: syscall user dispatch, of Linux 5.11 on x86-64.
#pragma once

namespace tarn::platform {

/// `number` as in <sys/syscall.h>; `first` and `second` are arguments; `from` is where the call returns to. Runs in a
/// signal handler: must be safe there. Its own calls are not seen.
using call_listener = void (*)(long number, long first, long second, const void* from) noexcept;

/// From now on `heard` is told of the calling thread's calls, each of which is then made. False: the system has no such
/// thing. SIGSYS is taken, and passed on when it means something else.
bool watch_calls(call_listener heard) noexcept;
void unwatch_calls() noexcept;

/// The calling thread's calls are not seen in this scope.
class unwatched {
 public:
  unwatched() noexcept;
  ~unwatched();
  unwatched(const unwatched&) = delete;
  unwatched& operator=(const unwatched&) = delete;

 private:
  char before_;
};

/// "read"; null for a number that was not known when this was compiled.
const char* call_name(long number) noexcept;

}  // namespace tarn::platform
