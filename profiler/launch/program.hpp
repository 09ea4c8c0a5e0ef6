// Finds the file of a program's name, and checks whether the program can run on the drop-in.
#pragma once

#include <string>

namespace tarn::command {

// Returns the file that execvp(3) would run for `name`: the name itself if it has a slash, else the first match in
// PATH. Throws not_found or cannot_run.
std::string find_program(const std::string& name);

// Returns if the loader will preload a library into `path`, following `#!` lines as the kernel does; the result says
// how to start the program. Otherwise throws cannot_run with the reason: no program at all, statically linked,
// set-uid, another architecture … The reason names `name`, as the user wrote it, and `library`, the file name of the
// library to preload.
enum class start { directly, through_shell };  // through_shell: a text file without `#!`, as execvp(3) does
start check_preloadable(const std::string& name, const std::string& path, const char* library);

}  // namespace tarn::command
