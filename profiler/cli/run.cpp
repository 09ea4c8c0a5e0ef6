// `tarn run`: starts a program on the drop-in in place of this process, so that the exit code, the signals and the
// terminal are the program's own.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "profiler/base/failure.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/cli/option_text.hpp"
#include "profiler/launch/library.hpp"
#include "profiler/launch/program.hpp"
#include "profiler/launch/start.hpp"

namespace tarn::command {
namespace {

struct run_request {
  std::string stats;
  std::string stats_file;
  std::string library;
  std::vector<std::string> settings;  // NAME=VALUE, as the user gave it
};

// Holds an option's value for the new program's environment, checked as the drop-in will check it.
struct setting {
  const base::option_info* option;
  std::string value;
};

setting checked_setting(const std::string& name, const std::string& value) {
  const base::option_info& option = option_named(name);
  base::options values;
  base::text_buffer<256> reason;
  if (!base::parse_option(values, option.id, value, reason)) {
    fail(exit_code::usage, "option {}={}: {}", name, value, std::string(reason.view()));
  }
  return {&option, value};
}

std::vector<setting> settings_of(const run_request& request) {
  std::vector<setting> settings;
  if (!request.stats_file.empty()) {
    if (request.stats.empty()) settings.push_back(checked_setting("stats", "text"));
    settings.push_back(checked_setting("stats_file", request.stats_file));
  }
  if (!request.stats.empty()) settings.push_back(checked_setting("stats", request.stats));
  for (const std::string& text : request.settings) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      const base::option_info& option = option_named(text);
      fail(exit_code::usage, "option {} needs a value, such as {}={}", text, text, default_text(option));
    }
    settings.push_back(checked_setting(text.substr(0, equals), text.substr(equals + 1)));
  }
  return settings;
}

// Empties the file now, so that a wrong name is an error and an old report is gone; each process appends its own
// report.
std::string prepared_stats_file(const std::string& file_name) {
  if (file_name.empty()) return file_name;
  const std::string path =
      std::filesystem::absolute(file_name).string();  // the program may start others in another folder
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
  if (file < 0) fail(exit_code::io_error, "stats_file {}: {}", file_name, system_error_text(errno));
  ::close(file);
  return path;
}

[[noreturn]] void run(const run_request& request, const std::vector<std::string>& arguments) {
  std::vector<setting> settings = settings_of(request);
  constexpr auto file = "libtarn-malloc.so";
  const std::string library = find_library(file, request.library);
  const std::string program = find_program(arguments.front());
  const start method = check_preloadable(arguments.front(), program, file);

  for (setting& setting : settings) {
    if (setting.option->id == base::option_id::stats_file) setting.value = prepared_stats_file(setting.value);
    set_environment(environment_text(*setting.option), setting.value);
  }
  preload(library);
  execute(arguments, program, method);
}

// Prints CLI11's help, with the facts it cannot know: the program's arguments never reach it, and --stats takes a
// value only after =.
class run_formatter : public help_formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: tarn run [OPTIONS] -- PROGRAM [ARGS...]\n";
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return option->check_name("--stats") ? "--stats[=text|json|openmetrics]"
                                         : CLI::Formatter::make_option_name(option, is_positional);
  }
};

}  // namespace

void add_run(CLI::App& application, const std::vector<std::string>& after_dashes) {
  CLI::App* const command =
      application.add_subcommand("run", "Run a program on Tarn's heaps instead of the system's malloc.");
  command->formatter(std::make_shared<run_formatter>());
  command->prefix_command();
  const auto request = std::make_shared<run_request>();
  command->add_flag("--stats{text}", request->stats,
                    "print heap statistics when the program exits: text, JSON or OpenMetrics");
  command
      ->add_option("--stats-file", request->stats_file,
                   "write the statistics to FILE, which is emptied first; implies --stats")
      ->type_name("FILE");
  command->add_option("--option", request->settings, "set an option listed below; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  command
      ->add_option("--lib", request->library, "libtarn-malloc.so to use; default the one installed with this command")
      ->type_name("PATH");
  command->footer("Options for --option, also read from the environment (limit is TARN_LIMIT there):\n" +
                  option_list(100) +
                  "\nThe exit code is the program's own; 2 for a wrong command line, 126 if the program cannot run on\n"
                  "Tarn, 127 if it is not found; share/doc/tarn/reference/exit-codes.md has the others.\n"
                  "A program that a signal kills, or that calls _exit, prints no statistics.");
  command->callback([request, command, &after_dashes] { run(*request, program_arguments(*command, after_dashes)); });
}

}  // namespace tarn::command
