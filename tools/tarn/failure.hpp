// Ends a subcommand early, with one line on standard error and an exit code.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace tarn::command {

// The exit codes are those of shells, env(1) and nohup(1) for the same cases.
enum class exit_code : int {
  damaged = 1,       // the checked thing is not as it should be
  usage = 2,         // the command line is wrong, or something that Tarn itself needs is missing
  cannot_run = 126,  // PROGRAM exists but cannot be run, or not on Tarn
  not_found = 127,   // PROGRAM does not exist
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
[[noreturn]] void fail(exit_code code, fmt::format_string<Arguments...> words, Arguments&&... arguments) {
  throw failure(code, fmt::format(words, std::forward<Arguments>(arguments)...));
}

// Returns the system's text for an errno value, such as "No such file or directory".
std::string system_words(int error_number);

}  // namespace tarn::command
