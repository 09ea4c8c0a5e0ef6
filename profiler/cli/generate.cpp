// `tarn generate man|completion`: prints the files that the build installs beside the command, made from the same
// definitions as its help. The help does not list it, because users get the results.
#include <fmt/format.h>
#include <tarn/version.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/cli/commands.hpp"
#include "profiler/cli/option_text.hpp"

namespace tarn::command {
namespace {

// Escapes text for roff: hyphens stay copyable, no line is taken for a request, and all is ASCII.
std::string roff(std::string_view original) {
  std::string text(original);
  constexpr std::string_view ellipsis = "…";
  for (std::size_t position = 0; (position = text.find(ellipsis)) != std::string::npos;)
    text.replace(position, ellipsis.size(), "...");
  std::string escaped;
  for (const char letter : text) {
    const bool starts_line = escaped.empty() || escaped.back() == '\n';
    if (starts_line && (letter == '.' || letter == '\'')) escaped += "\\&";
    if (letter == '-') {
      escaped += "\\-";
    } else if (letter == '\\') {
      escaped += "\\e";
    } else {
      escaped += letter;
    }
  }
  return escaped;
}

// Returns the option as the user writes it, --stats included, with the type of its value.
std::string flag_text(const CLI::Option& option) {
  if (option.check_name("--stats")) return "--stats[=text|json|openmetrics]";
  if (option.get_positional()) return option.get_name(true);
  std::string type = option.get_type_name();
  type = type.substr(0, type.find(':'));  // without what a validator adds
  return option.get_name(false, true) + (option.get_expected_min() == 0 || type.empty() ? "" : " " + type);
}

std::vector<const CLI::App*> shown_commands(const CLI::App& application) {
  return application.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

// A command, or a part of one such as `journal tail`, with its name behind "tarn".
struct described_command {
  std::string name;
  const CLI::App* command;
};

// Returns the command, unless it needs one of its parts, and its parts.
std::vector<described_command> described_parts(const CLI::App& command) {
  std::vector<described_command> result;
  if (command.get_require_subcommand_min() == 0) result.push_back({command.get_name(), &command});
  for (const CLI::App* const part : shown_commands(command))
    result.push_back({command.get_name() + ' ' + part->get_name(), part});
  return result;
}

// Returns the lines of a command's usage as its help has them, with the name in bold.
std::string synopsis(const CLI::App& command, const std::string& name, std::string& separator) {
  std::string lines;
  const auto formatter = std::dynamic_pointer_cast<const CLI::Formatter>(command.get_formatter());
  std::istringstream usage(formatter->make_usage(&command, "tarn " + name));
  for (std::string line; std::getline(usage, line);) {
    const std::size_t start = line.find("tarn " + name);
    if (start == std::string::npos) continue;
    lines += fmt::format("{}.B tarn {}\n{}\n", separator, roff(name), roff(line.substr(start + 6 + name.size())));
    separator = ".br\n";
  }
  return lines;
}

std::string man_page(const CLI::App& application) {
  std::string page = fmt::format(".TH TARN 1 \"\" \"tarn {}.{}.{}\"\n.ad l\n.SH NAME\ntarn \\- {}\n",
                                 TARN_VERSION_MAJOR, TARN_VERSION_MINOR, TARN_VERSION_PATCH, purpose);
  page += ".SH SYNOPSIS\n";
  std::string separator;
  for (const CLI::App* const command : shown_commands(application)) {
    // The usage of a command that can do without its parts has them, too.
    for (const described_command& described : described_parts(*command)) {
      if (described.command == command || command->get_require_subcommand_min() != 0)
        page += synopsis(*described.command, described.name, separator);
    }
  }
  page += ".SH COMMANDS\n";
  for (const CLI::App* const command : shown_commands(application)) {
    for (const described_command& described : described_parts(*command)) {
      page += fmt::format(".SS tarn {}\n{}\n", roff(described.name), roff(described.command->get_description()));
      for (const CLI::Option* const option : described.command->get_options())
        page += fmt::format(".TP\n.B {}\n{}\n", roff(flag_text(*option)), roff(option->get_description()));
    }
  }
  page += ".SH OPTIONS FOR \\-\\-option, AND ENVIRONMENT\n";
  for (const base::option_info& option : all_options()) {
    page +=
        fmt::format(".TP\n.BR {} \" (\" {} )\n{}\nValue: {}. Default: {}.\n", roff(option.name),
                    environment_text(option), roff(option.help), roff(value_text(option)), roff(default_text(option)));
  }
  page +=
      ".SH EXIT STATUS\nThat of PROGRAM. Otherwise: 1 a check failed (a limit is broken, a journal is damaged);\n"
      "2 wrong command line; 3 a file or a process cannot be read or written; 4 no memory;\n"
      "5 a library, a helper program or a feature is missing; 126 PROGRAM cannot run on Tarn;\n"
      "127 PROGRAM is not found; 130 interrupted.\n";
  return page;
}

// Returns the values that may follow the `=` of an option, where that is a short list.
std::string completed_values(const base::option_info& option) {
  if (option.kind == base::option_kind::flag) return "0 1";
  std::string values;
  for (const char letter : option.choices) values += letter == '|' ? ' ' : letter;
  return values;
}

// Returns the words of which the option takes one, as CLI::IsMember describes them; empty where it takes another value.
std::string completed_members(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return "";
  std::string members = type.substr(begin + 1, end - begin - 1);
  std::replace(members.begin(), members.end(), ',', ' ');
  return members;
}

// Returns all names of an option, as alternatives of a pattern of the shell behind the command's name.
std::string patterns_of(const std::string& command, const CLI::Option& option) {
  std::string patterns;
  const auto add = [&](const std::string& name) {
    patterns += fmt::format("{}'{} {}'", patterns.empty() ? "" : " | ", command, name);
  };
  for (const std::string& name : option.get_lnames()) add("--" + name);
  for (const std::string& name : option.get_snames()) add("-" + name);
  return patterns;
}

std::string completion(const CLI::App& application) {
  std::string commands, flags, parts, pairs, names, values, arguments;
  for (const CLI::App* const command : shown_commands(application)) {
    commands += command->get_name() + ' ';
    std::string names_of_parts;
    for (const CLI::App* const part : shown_commands(*command)) names_of_parts += part->get_name() + ' ';
    for (const CLI::App* const part : shown_commands(*command))
      pairs += fmt::format("    '{0} {1}') command='{0} {1}' ;;\n", command->get_name(), part->get_name());
    if (!names_of_parts.empty())
      parts += fmt::format("    '{}') _tarn_reply '{}' \"$word\" ;;\n", command->get_name(), names_of_parts);
    std::vector<described_command> described_commands = described_parts(*command);
    if (command->get_require_subcommand_min() != 0) described_commands.push_back({command->get_name(), command});
    for (const described_command& described : described_commands) {
      std::string flags_of_command;
      for (const CLI::Option* const option : described.command->get_options()) {
        for (const std::string& name : option->get_lnames()) flags_of_command += "--" + name + ' ';
        const std::string patterns = patterns_of(described.name, *option);
        if (option->get_expected_min() == 0 || patterns.empty()) continue;
        const std::string choice = completed_members(*option);
        arguments += choice.empty() ? fmt::format("    {}) return ;;\n", patterns)  // bash offers files
                                    : fmt::format("    {}) _tarn_reply '{}' \"$word\"; return ;;\n", patterns, choice);
      }
      flags += fmt::format("    '{}') _tarn_reply '{}' \"$word\" ;;\n", described.name, flags_of_command);
    }
  }
  for (const base::option_info& option : all_options()) {
    names += fmt::format("{}= ", option.name);
    const std::string choices = completed_values(option);
    if (!choices.empty()) values += fmt::format("      {}) _tarn_reply '{}' \"$value\" ;;\n", option.name, choices);
  }
  return fmt::format(R"bash(# bash completion for tarn; made by `tarn generate completion`
_tarn_reply() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2"); }}
_tarn() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} position value
  COMPREPLY=()
  for ((position = 1; position < COMP_CWORD; position++)); do
    if [ "${{COMP_WORDS[position]}}" = -- ]; then # what follows is the program's
      [ "$((position + 1))" -lt "$COMP_CWORD" ] || mapfile -t COMPREPLY < <(compgen -c -- "$word")
      return
    fi
  done
  if [ "$COMP_CWORD" -eq 1 ]; then
    _tarn_reply '{commands}--help --version' "$word"
    return
  fi
  if [ "$before" = = ] || [ "$word" = = ]; then # bash splits NAME=VALUE into three words
    value=$word position=$((COMP_CWORD - 2))
    [ "$word" != = ] || value='' position=$((COMP_CWORD - 1))
    case ${{COMP_WORDS[position]#--}} in
{values}    esac
    return
  fi
  case $before in
    --option)
      compopt -o nospace 2>/dev/null
      _tarn_reply '{names}' "$word"
      return
      ;;
  esac
  if [ "$COMP_CWORD" -eq 2 ] && [[ $word != -* ]]; then
    case $command in
{parts}    esac
    [ "${{#COMPREPLY[@]}}" -eq 0 ] || return
  fi
  case "$command ${{COMP_WORDS[2]}}" in
{pairs}  esac
  case "$command $before" in
{arguments}  esac
  [[ $word == -* ]] || return
  case $command in
{flags}  esac
}}
complete -o default -F _tarn tarn
)bash",
                     fmt::arg("commands", commands), fmt::arg("values", values), fmt::arg("names", names),
                     fmt::arg("flags", flags), fmt::arg("parts", parts), fmt::arg("pairs", pairs),
                     fmt::arg("arguments", arguments));
}

}  // namespace

void add_generate(CLI::App& application) {
  CLI::App* const command = application.add_subcommand("generate", "Print the man page or the bash completion.");
  command->group("");  // hides it in the help
  command->require_subcommand(1);
  command->add_subcommand("man")->callback([&application] { fmt::print("{}", man_page(application)); });
  command->add_subcommand("completion")->callback([&application] { fmt::print("{}", completion(application)); });
}

}  // namespace tarn::command
