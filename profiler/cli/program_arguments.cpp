#include <cstddef>

#include "profiler/base/failure.hpp"
#include "profiler/cli/commands.hpp"

namespace tarn::command {

std::vector<std::string> program_arguments(const CLI::App& command, const std::vector<std::string>& after_dashes) {
  std::vector<std::string> arguments = command.remaining();
  if (!arguments.empty() && arguments.front().starts_with('-')) {
    fail(exit_code::usage, "unknown argument {}; see tarn {} --help", arguments.front(), command.get_name());
  }
  const std::size_t skipped =
      arguments.empty() && !after_dashes.empty() ? 1 : 0;  // a later "--" belongs to the program
  arguments.insert(arguments.end(), after_dashes.begin() + static_cast<std::ptrdiff_t>(skipped), after_dashes.end());
  if (arguments.empty()) {
    fail(exit_code::usage, "no program to run; write tarn {} [OPTIONS] -- PROGRAM [ARGS...]", command.get_name());
  }
  return arguments;
}

}  // namespace tarn::command
