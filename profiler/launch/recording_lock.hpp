// Lets one `tarn record` at a time record a process.
#pragma once

#include <sys/types.h>

#include <string>

namespace tarn::command {

// Opens a file that stands for the process, and locks it as long as the descriptor is open. Throws a failure where
// another `tarn record` has locked it, which it names, or where the file cannot be opened.
int lock_for_recording(pid_t process, const std::string& path, int flags);

// Throws the failure that the process is recorded. `recorder` is the process that does it; 0 if it is not known.
[[noreturn]] void fail_in_use(pid_t process, pid_t recorder);

}  // namespace tarn::command
