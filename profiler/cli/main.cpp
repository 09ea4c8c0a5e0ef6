// The tarn command: reads the command line, runs one subcommand, and turns a failure into one line and an exit code.
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tarn/version.hpp>
#include "profiler/base/failure.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/launch/library.hpp"

namespace {

using tarn::command::exit_code;

// Does not use fmt, which throws when standard error is closed: the exit code must be right even then.
int report(exit_code code, const char* message) noexcept {
  std::fprintf(stderr, "tarn: %s\n", message);
  return static_cast<int>(code);
}

// Turns CLI11's message (an English sentence) into one line that starts in lower case, like all others; a name in
// capitals, such as FILE, stays.
std::string one_line(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  const auto is_capital = [&](std::size_t index) {
    return index < message.size() && message[index] >= 'A' && message[index] <= 'Z';
  };
  if (is_capital(0) && !is_capital(1)) message[0] = static_cast<char>(message[0] - 'A' + 'a');
  return message;
}

// Cuts a text at each of the separators in turn. Returns nothing if one of them is missing.
std::vector<std::string> cut(std::string_view text, std::initializer_list<std::string_view> separators) {
  std::vector<std::string> parts;
  for (const std::string_view separator : separators) {
    const std::size_t position = text.find(separator);
    if (position == std::string_view::npos) return {};
    parts.emplace_back(text.substr(0, position));
    text.remove_prefix(position + separator.size());
  }
  parts.emplace_back(text);
  return parts;
}

// Replaces CLI11's wording, such as "Could not convert: --top = x", by ours.
std::string text_of(const CLI::ParseError& error, const CLI::App& application) {
  // CLI11 names all unexpected arguments, from the last one to the first.
  if (const std::vector<std::string> unexpected = application.remaining(true);
      dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !unexpected.empty())
    return fmt::format("{} {}", unexpected.front().starts_with('-') ? "unknown option" : "unexpected argument",
                       unexpected.front());
  const std::string text = one_line(error.what());
  using parts = std::vector<std::string>;
  if (const parts part = cut(text, {"ould not convert: ", " = "}); !part.empty())
    return fmt::format("{}: '{}' is not a number", part[1], part[2]);
  if (const parts part = cut(text, {": 1 required ", " missing"}); !part.empty())
    return fmt::format("{} needs a value: {} {}", part[0], part[0], part[1]);
  if (const parts part = cut(text, {" excludes "}); !part.empty())
    return fmt::format("{} and {} exclude each other: give one of them", part[0], part[1]);
  if (parts part = cut(text, {": ", " not in {", "}"}); !part.empty()) {
    for (std::size_t comma = 0; (comma = part[2].find(',', comma)) != std::string::npos; comma += 2)
      part[2].replace(comma, 1, ", ");
    return fmt::format("{}: there is no '{}', but {}", part[0], part[1], part[2]);
  }
  return text;
}

// Names the optional component that is installed beside the command.
std::string version_text() {
  std::string components;
  try {
    tarn::command::find_library("libtarn-tidy.so", "", false);
    components = " (with tarn-fix)";
  } catch (const tarn::command::failure&) {
  }
  return fmt::format("tarn {}.{}.{}{}", TARN_VERSION_MAJOR, TARN_VERSION_MINOR, TARN_VERSION_PATCH, components);
}

// Turns `tarn help [COMMAND …]` into the option of that command.
void replace_help(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "help") return;
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
}

int run(std::vector<std::string> arguments) {
  // For other commands only options end there, which CLI11 knows.
  constexpr std::array<std::string_view, 3> of_programs = {"run", "record", "top"};
  const bool has_program =
      !arguments.empty() && std::find(of_programs.begin(), of_programs.end(), arguments.front()) != of_programs.end();
  const auto dashes = has_program ? std::find(arguments.begin(), arguments.end(), "--") : arguments.end();
  const std::vector<std::string> after_dashes(dashes, arguments.end());
  arguments.erase(dashes, arguments.end());

  replace_help(arguments);

  std::string description = fmt::format("{}.", tarn::command::purpose);
  description[0] = 'F';
  CLI::App application(description, "tarn");
  application.formatter(std::make_shared<tarn::command::help_formatter>());  // the subcommands inherit it
  application.set_version_flag("--version", version_text);
  application.require_subcommand(1);
  tarn::command::add_run(application, after_dashes);
  tarn::command::add_record(application, after_dashes);
  tarn::command::add_report(application);
  tarn::command::add_diff(application);
  tarn::command::add_gate(application);
  tarn::command::add_fix(application);
  tarn::command::add_export(application);
  tarn::command::add_fleet(application);
  tarn::command::add_top(application, after_dashes);
  tarn::command::add_lab(application);
  tarn::command::add_options(application);
  tarn::command::add_journal(application);
  tarn::command::add_measure(application);
  tarn::command::add_generate(application);
  tarn::command::refuse_empty_values(application);
  const auto formatter = std::make_shared<tarn::command::help_formatter>();
  formatter->column_width(14);  // so that each subcommand has one line of 80 columns
  application.formatter(formatter);
  application.footer(
      "Begin with:\n"
      "  tarn record -- PROGRAM    # writes tarn.rec\n"
      "  tarn report               # shows what it holds\n"
      "tarn help COMMAND describes a command; the guides are in share/doc/tarn/guide.\n");

  if (!arguments.empty() && !arguments.front().starts_with('-') &&
      application.get_subcommands([&](const CLI::App* subcommand) { return subcommand->check_name(arguments.front()); })
          .empty()) {
    tarn::command::fail(exit_code::usage, "there is no subcommand '{}'; see tarn --help", arguments.front());
  }
  std::reverse(arguments.begin(), arguments.end());  // the order in which CLI11 takes a vector
  try {
    application.parse(std::move(arguments));
  } catch (const CLI::Success& success) {  // --help and --version
    return application.exit(success);
  } catch (const CLI::RuntimeError& subcommand_exit) {  // a subcommand ended and has printed its message
    return subcommand_exit.get_exit_code();
  } catch (const CLI::ParseError& error) {
    const auto subcommands = application.get_subcommands();
    const std::string help =
        subcommands.empty() ? "tarn --help" : fmt::format("tarn {} --help", subcommands.front()->get_name());
    return report(exit_code::usage, fmt::format("{}; see {}", text_of(error, application), help).c_str());
  }
  return 0;
}

int run_to_exit_code(std::vector<std::string> arguments) noexcept {
  try {
    const int code = run(std::move(arguments));
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), "standard output");
  } catch (const tarn::command::failure& failure) {
    return report(failure.code(), failure.what());
  } catch (const std::bad_alloc&) {
    return report(exit_code::no_memory, "out of memory");
  } catch (const std::system_error& error) {
    return report(error.code() == std::errc::not_enough_memory ? exit_code::no_memory : exit_code::io_error,
                  error.what());
  } catch (const std::exception& error) {
    return report(exit_code::io_error, error.what());
  }
}

// Returns whether the command reads line tables on a stack that is too small for it (ulimit -s): libdw has arrays of
// 150 KiB there. Commands that start programs stay in the first thread, which gets the signals.
bool needs_larger_stack(const std::vector<std::string>& arguments) {
  constexpr rlim_t enough_bytes = 1 << 20;
  constexpr std::array<std::string_view, 5> names = {"report", "diff", "gate", "export", "fix"};
  rlimit limit{};
  return !arguments.empty() && std::find(names.begin(), names.end(), arguments.front()) != names.end() &&
         ::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < enough_bytes;
}

struct command_run {
  std::vector<std::string> arguments;
  int code = 0;
};

// Runs the command in a thread with a stack of its own, whose size no limit bounds.
int run_on_larger_stack(std::vector<std::string> arguments) {
  constexpr std::size_t stack_bytes = std::size_t{8} << 20;
  command_run work{std::move(arguments)};
  const auto start = [](void* data) -> void* {
    auto& run_in_thread = *static_cast<command_run*>(data);
    run_in_thread.code = run_to_exit_code(std::move(run_in_thread.arguments));
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread{};
  ::pthread_attr_init(&attributes);
  const bool has_begun = ::pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
                         ::pthread_create(&thread, &attributes, start, &work) == 0;
  ::pthread_attr_destroy(&attributes);
  if (!has_begun) return run_to_exit_code(std::move(work.arguments));
  ::pthread_join(thread, nullptr);
  return work.code;
}

// Takes the numbers of standard streams that are closed, so that no recording gets one of them and what is printed.
// They fail as closed ones do, and PROGRAM has them closed.
void take_closed_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) < 0)  // open() takes the lowest number
      (void)::open("/dev/null", (number == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

}  // namespace

int main(int count, char** arguments) {
  take_closed_streams();
  std::vector<std::string> texts(arguments + (count > 0 ? 1 : 0), arguments + count);
  return needs_larger_stack(texts) ? run_on_larger_stack(std::move(texts)) : run_to_exit_code(std::move(texts));
}
