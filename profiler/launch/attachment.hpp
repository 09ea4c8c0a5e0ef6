// Loads the recorder into a process that runs, and lets it hook that process's functions.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>

namespace tarn::command {

// The time for which the one thread that did the work was stopped, and the region that the process counts in.
struct attachment {
  std::chrono::nanoseconds stopped{};
  std::string region;  // its path
  bool is_new = true;  // false: the process itself was recorded before, and continues in its region
  long unhooked = 0;   // format::unhooked_bit of functions whose calls are not all recorded
};

// Throws a failure with the reason why the process cannot be recorded from now on, and the cure.
void require_attachable(pid_t process);

// Loads `library` unless it is loaded already, and hooks the functions. `prepare` makes a region of the memory file of
// a path, or takes over its region.
attachment attach_to(pid_t process, const std::string& library,
                     const std::function<void(const std::string& path, bool is_new)>& prepare);

// Removes the hooks. Returns how long the thread that did it was stopped. Throws a failure if the recorder is no longer
// in the process.
std::chrono::nanoseconds detach_from(pid_t process);

// Returns whether the process has loaded the recorder and not become another program since.
bool has_recorder(pid_t process);

}  // namespace tarn::command
