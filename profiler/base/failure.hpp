// Ends a subcommand early, with one line on standard error and an exit code.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace tarn::command {

// Every exit code of the command; docs/reference/exit-codes.md documents them. 126, 127 and 130 are those of shells,
// env(1) and nohup(1) for the same cases.
enum class exit_code : int {
  check_failed = 1,          // a limit is broken, a journal is damaged, or an experiment failed
  usage = 2,                 // the command line is wrong
  io_error = 3,              // a file or a process cannot be read or written, or has the wrong content
  no_memory = 4,             // there is no memory, or a limit on it (ulimit) is too low
  missing = 5,               // a library, a helper program, a terminal or a feature of this system or build is missing
  undecided = 6,             // tarn gate: no limit is broken, and the samples do not decide all
  no_compile_commands = 10,  // tarn fix: the build folder has no usable compile_commands.json
  other_build = 11,          // tarn fix: the program is not the recorded build
  newer_source = 12,         // tarn fix: a source is newer than the program or the recording
  dirty_tree = 13,           // tarn fix: no repository, or changes that are not committed
  other_llvm = 14,           // tarn fix: clang-tidy cannot load the plugin
  plain_fails = 15,          // tarn fix: a command fails without a patch
  too_noisy = 16,            // tarn fix: no gain is shown, and runs of one show gains and losses
  cannot_run = 126,          // PROGRAM exists but cannot run, or cannot run on Tarn
  not_found = 127,           // PROGRAM does not exist
  interrupted = 130,         // a signal ended the command before PROGRAM ran, or tarn fix
};

// main catches it and prints "tarn: " and the message.
class failure : public std::runtime_error {
 public:
  failure(exit_code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  exit_code code() const noexcept { return code_; }

 private:
  exit_code code_;
};

template <class... Arguments>
[[noreturn]] void fail(exit_code code, fmt::format_string<Arguments...> message, Arguments&&... arguments) {
  throw failure(code, fmt::format(message, std::forward<Arguments>(arguments)...));
}

// Prints to standard error. Where nobody takes the text, such as a full disk, that changes nothing: the exit code is
// that of the program.
template <class... Arguments>
void print_error(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  const std::string formatted = fmt::format(text, std::forward<Arguments>(arguments)...);
  std::fwrite(formatted.data(), 1, formatted.size(), stderr);
}

// Returns the system's text for an errno value, such as "No such file or directory".
inline std::string system_error_text(int error_number) { return std::strerror(error_number); }

}  // namespace tarn::command
