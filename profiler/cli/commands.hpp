// Declares the subcommands; each has a file of its own. Each function adds its subcommand with a callback that does
// the work or throws `failure`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tarn::command {

// What `tarn` is for, in its help and its man page; README.md begins with nearly the same words.
constexpr const char* purpose = "find where the threads of a program lose time, and what removes these waits";

// Shows an option without the range of its number and without the options that it excludes or needs: the message on a
// wrong command line says these. The usage has the options that a command cannot do without.
class help_formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* command, std::string name) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
};

// `after_dashes` holds the arguments after the first "--" of the command line, which CLI11 never sees: they belong to
// PROGRAM. It must outlive `application`.
void add_run(CLI::App& application, const std::vector<std::string>& after_dashes);

void add_record(CLI::App& application, const std::vector<std::string>& after_dashes);

void add_report(CLI::App& application);

void add_diff(CLI::App& application);

void add_gate(CLI::App& application);

void add_fix(CLI::App& application);

void add_export(CLI::App& application);

void add_fleet(CLI::App& application);

void add_top(CLI::App& application, const std::vector<std::string>& after_dashes);

void add_lab(CLI::App& application);

void add_options(CLI::App& application);

void add_journal(CLI::App& application);

// Adds a hidden subcommand that `tarn report` starts.
void add_measure(CLI::App& application);

// Lets each option of the command and of its parts refuse an empty value, which most often is a variable that a script
// has not set.
void refuse_empty_values(CLI::App& command);

// Returns PROGRAM and its arguments: those from the first argument that is no option of `command`, or else those behind
// "--". Throws a failure for an unknown option.
std::vector<std::string> program_arguments(const CLI::App& command, const std::vector<std::string>& after_dashes);

// Must be added last, because it describes the others.
void add_generate(CLI::App& application);

}  // namespace tarn::command
