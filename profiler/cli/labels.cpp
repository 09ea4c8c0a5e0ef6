#include "profiler/cli/labels.hpp"

#include <map>

#include "profiler/base/failure.hpp"

namespace tarn::command {

CLI::Option* add_label_option(CLI::App& command, std::vector<std::string>& labels) {
  return command
      .add_option("--label", labels,
                  "written with each row or profile, to tell recordings apart: service, version, host, container "
                  "or a key of your own; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

exports::row_labels labels_of(const std::vector<std::string>& options) {
  std::map<std::string, std::string> values;
  for (const std::string& label : options) {
    const std::size_t sign = label.find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == label.size() || label.find(';') != std::string::npos)
      fail(exit_code::usage, "--label {}: expected KEY=VALUE without a semicolon, such as version=1.4", label);
    const std::string key = label.substr(0, sign);
    if (!values.try_emplace(key, label.substr(sign + 1)).second)
      fail(exit_code::usage, "--label {}: {} is given twice", label, key);
  }
  exports::row_labels labels;
  for (const auto& [key, value] : values) {
    if (key == "service")
      labels.service = value;
    else if (key == "version")
      labels.version = value;
    else if (key == "host")
      labels.host = value;
    else if (key == "container")
      labels.container = value;
    else
      labels.others.append(labels.others.empty() ? "" : ";").append(key).append("=").append(value);
  }
  return labels;
}

}  // namespace tarn::command
