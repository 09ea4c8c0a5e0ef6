// Which file a program's name means, and whether it can run on the drop-in.
#pragma once

#include <string>

namespace tarn::command {

// The file that execvp(3) would run for `name`: itself if it has a slash, else the first match in PATH. Throws
// not_found or cannot_run.
std::string find_program(const std::string& name);

// Returns if the loader will put a preloaded library into `path`, following `#!` lines as the kernel does. Otherwise
// throws cannot_run with the reason: no program at all, statically linked, set-uid, another architecture …
// `name` is what the user called it. The result says how to start it.
enum class start { directly, through_shell };  // the latter for a text without `#!`, as execvp(3) does
start check_preloadable(const std::string& name, const std::string& path);

}  // namespace tarn::command
