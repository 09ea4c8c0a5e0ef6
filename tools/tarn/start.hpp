// How a program is started with a library of ours preloaded: what `tarn run` and `tarn record` have in common.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "tarn/program.hpp"

namespace tarn::command {

// PROGRAM and its arguments: from the first word that is no option of `command`, else what follows the "--". Throws
// a usage failure for an option that is not known.
std::vector<std::string> program_words(const CLI::App& command, const std::vector<std::string>& after_dashes);

// Throws a usage failure when there is no memory for it.
void set_environment(const std::string& name, const std::string& value);

// Puts `library` before what LD_PRELOAD already names.
void preload(const std::string& library);

// Becomes the program. Throws cannot_run.
[[noreturn]] void execute(const std::vector<std::string>& words, const std::string& program, start how);

}  // namespace tarn::command
