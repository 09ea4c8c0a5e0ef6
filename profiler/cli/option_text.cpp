#include "profiler/cli/option_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "profiler/base/failure.hpp"
#include "profiler/cli/commands.hpp"

namespace tarn::command {

std::string environment_text(const base::option_info& option) {
  return std::string(base::environment_name(option).view());
}

std::string value_text(const base::option_info& option) {
  switch (option.kind) {
    case base::option_kind::milliseconds: return fmt::format("milliseconds, {} to {}", option.minimum, option.maximum);
    case base::option_kind::number: return fmt::format("a number, {} to {}", option.minimum, option.maximum);
    case base::option_kind::bytes: return "bytes (K, M, G, KiB, MiB, GiB may follow)";
    case base::option_kind::flag: return "0 or 1";
    case base::option_kind::path: return "a file";
    case base::option_kind::choice: break;
  }
  std::string text;
  for (const char letter : option.choices) text += letter == '|' ? std::string(", ") : std::string(1, letter);
  return text;
}

std::string default_text(const base::option_info& option) {
  return option.default_text.empty() ? "none" : std::string(option.default_text);
}

std::string option_list(std::size_t width) {
  constexpr std::size_t indent = 6;
  std::string list;
  for (const base::option_info& option : all_options()) {
    list += fmt::format("  {}: {}; default {}", option.name, value_text(option), default_text(option));
    std::size_t column = width;  // the help starts on a line of its own
    std::istringstream help_text{std::string(option.help)};
    for (std::string word; help_text >> word; column += word.size() + 1) {
      if (column + 1 + word.size() > width) {
        list += '\n' + std::string(indent, ' ');
        column = indent;
      } else {
        list += ' ';
      }
      list += word;
    }
    list += '\n';
  }
  return list;
}

const base::option_info& option_named(const std::string& name) {
  if (const auto id = base::find_option(name)) return base::info(*id);
  if (const auto nearest = base::nearest_option(name)) {
    fail(exit_code::usage, "unknown option {}; did you mean {}?", name, base::info(*nearest).name);
  }
  fail(exit_code::usage, "unknown option {}; see tarn options", name);
}

std::string help_formatter::make_usage(const CLI::App* command, std::string name) const {
  std::string text = Formatter::make_usage(command, std::move(name));
  std::string required;
  for (const CLI::Option* const option : command->get_options()) {
    if (option->get_required() && !option->get_positional())
      required += fmt::format("{}{} ", option->get_name(), make_option_opts(option));
  }
  if (const std::size_t position = text.find("[OPTIONS]"); position != std::string::npos)
    text.insert(position, required);
  return text;
}

std::string help_formatter::make_option_opts(const CLI::Option* option) const {
  if (!option->get_option_text().empty()) return ' ' + option->get_option_text();
  if (option->get_type_size() == 0) return "";
  std::string type = option->get_type_name();
  if (const std::size_t range = type.find(" in ["); range != std::string::npos)
    type.resize(std::min(range, type.rfind(':', range)));
  if (const std::size_t sizes = type.find(":SIZE ["); sizes != std::string::npos) type.resize(sizes);
  if (option->get_positional() && type == "TEXT") type.clear();  // its name says it
  const bool is_repeated = option->get_expected_max() == CLI::detail::expected_max_vector_size;
  return (type.empty() ? "" : ' ' + type) + (is_repeated ? " ..." : "");
}

std::string refuse_negative(const std::string& number) {
  return number.starts_with('-') ? "'" + number + "' is below 0" : "";
}

void refuse_empty_values(CLI::App& command) {
  for (CLI::Option* const option : command.get_options())
    option->check([](const std::string& value) { return value.empty() ? "the value is empty" : std::string(); });
  for (CLI::App* const part : command.get_subcommands([](const CLI::App*) { return true; })) refuse_empty_values(*part);
}

std::string refuse_unless_positive(const std::string& number) {
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (end == number.c_str() || (value > 0 && std::isfinite(value))) return "";
  return "'" + number + "' is " + (std::isnan(value) ? "not a number" : value > 0 ? "too large" : "not above 0");
}

}  // namespace tarn::command
