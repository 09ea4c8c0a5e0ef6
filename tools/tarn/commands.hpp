// The subcommands, a file each. Each function adds its subcommand, with a callback that does the work or throws
// `failure`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tarn::command {

// `after_dashes` are the words after the first "--" of the command line, which CLI11 never sees: they are PROGRAM's.
// It must outlive `application`.
void add_run(CLI::App& application, const std::vector<std::string>& after_dashes);

void add_record(CLI::App& application, const std::vector<std::string>& after_dashes);

void add_report(CLI::App& application);

void add_diff(CLI::App& application);

void add_gate(CLI::App& application);

void add_export(CLI::App& application);

void add_top(CLI::App& application, const std::vector<std::string>& after_dashes);

void add_lab(CLI::App& application);

void add_options(CLI::App& application);

void add_journal(CLI::App& application);

// Hidden: `tarn report` starts it.
void add_measure(CLI::App& application);

// Add it last: it describes the others.
void add_generate(CLI::App& application);

}  // namespace tarn::command
