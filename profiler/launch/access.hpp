// Checks whether this user may read another process, and explains a refusal to the user.
#pragma once

#include <sys/types.h>

namespace tarn::command {

// Throws a failure where /proc is not mounted, as in a bare chroot.
void require_proc();

// Throws a failure unless /proc shows this user the open files and the environment of `process`.
void require_readable(pid_t process);

// Reports that the memory of a process cannot be read, which the system guards more closely than /proc. Throws a
// failure for the errno value of the refusal.
[[noreturn]] void fail_unreadable_memory(pid_t process, int error);

// Reports that a process cannot be traced (ptrace(2)). Throws a failure for the errno value of the refusal.
[[noreturn]] void fail_untraceable(pid_t process, int error);

// Returns the process that traces this one; 0 if none does.
pid_t tracer_of(pid_t process);

// Returns the process that the thread belongs to; 0 if there is no such thread.
pid_t process_of_thread(pid_t thread);

}  // namespace tarn::command
