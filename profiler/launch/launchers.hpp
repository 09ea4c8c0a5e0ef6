// Recognises programs whose purpose is to start another program.
#pragma once

#include <string>

namespace tarn::command {

// Returns whether the program at this path is a shell, or one of the tools that prepare something, start a program,
// and wait for it: `sh`, `env`, `timeout`. A script is a launcher if its interpreter is one.
bool is_launcher(const std::string& path);

// Returns whether a launcher only replaces itself by its program, in the same process, as env does.
bool execs_its_program(const std::string& path);

}  // namespace tarn::command
