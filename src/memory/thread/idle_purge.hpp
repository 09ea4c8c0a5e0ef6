// Gives free memory back to the system while the program makes no calls: a program that frees much and then waits
// makes no further call in which that could be done.
//
// A helper (platform/helper.hpp) checks all spaces every quarter of `purge_delay_ms`, and ends as soon as none of
// them has memory that is due later. The thread that frees enough memory to justify a helper starts it. No helper
// starts if the option `background_purge` is 0.
#pragma once

#include <sys/types.h>

namespace tarn::threads {

/// Sets the helper up; called once at process start, after the engine's fork handlers are installed.
void install_idle_purge() noexcept;

/// Ends the helper, and waits until it is gone, because its code is about to be unmapped. No other helper starts
/// afterwards.
void end_idle_purge() noexcept;

/// Calls a function that forks without the handlers of pthread_atfork (_Fork), and does what the handlers here would
/// do: the child of a process with one thread may then allocate. Returns the function's result. Safe in signal
/// handlers.
pid_t fork_beside_helper(pid_t (*fork)()) noexcept;

/// Returns true if heap::visit_now() can be called: the kernel has barriers, and the program has not restricted itself
/// to few system calls.
bool may_visit() noexcept;

/// Ends the helper, and prevents helpers in this scope; it waits for the end at most a second. The C library changes
/// the identity only of the threads that it knows, and the kernel makes some changes only in a process with one thread,
/// so there must be no helper then. Safe in signal handlers and in a child of vfork, where it does nothing, because the
/// helper is the parent's. Costs some 0.1 ms if a helper runs, else a system call.
class helper_pause {
 public:
  helper_pause() noexcept;
  ~helper_pause();
  helper_pause(const helper_pause&) = delete;
  helper_pause& operator=(const helper_pause&) = delete;

  /// Prevents helpers for the rest of the process.
  void make_final() const noexcept;

 private:
  bool is_counted_;
};

}  // namespace tarn::threads
