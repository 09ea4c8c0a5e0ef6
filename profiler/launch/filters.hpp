// Tells whether the filters of system calls of a process (seccomp) let the recorder in.
#pragma once

#include "profiler/launch/remote_process.hpp"

namespace tarn::command {

// Throws a failure where a filter of the process forbids a call that the recorder makes, or may do so. The kernel shows
// filters to a user with CAP_SYS_ADMIN who has none. In a container whose filter this process has, too, it tries the
// calls out.
void require_allowed_calls(const remote_process& process);

}  // namespace tarn::command
