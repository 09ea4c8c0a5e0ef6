// The option --label.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "profiler/export/formats.hpp"

namespace tarn::command {

CLI::Option* add_label_option(CLI::App& command, std::vector<std::string>& labels);
// Returns the labels of the command line. Throws a failure where one is no KEY=VALUE, or is given twice.
exports::row_labels labels_of(const std::vector<std::string>& options);

}  // namespace tarn::command
