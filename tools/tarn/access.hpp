// Whether another process may be read, and in words a person can act on why not.
#pragma once

#include <sys/types.h>

namespace tarn::command {

// Throws a usage failure unless /proc shows this user what `process` has open and was started with.
void require_readable(pid_t process);

// Its memory is kept more closely than that. Throws a usage failure for the errno value with which the system refused.
[[noreturn]] void fail_unreadable_memory(pid_t process, int error);

}  // namespace tarn::command
