#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "profiler/base/failure.hpp"
#include "profiler/fix/tidy.hpp"

namespace tarn::fix {
namespace {

struct diagnostic {
  std::string position, kind, text;  // position: FILE:LINE
};

// Reads "FILE:LINE:COLUMN: KIND: TEXT".
std::optional<diagnostic> diagnostic_in(std::string_view line) {
  for (const std::string_view kind : {"warning", "error", "note"}) {
    const std::size_t start = line.find(": " + std::string(kind) + ": ");
    if (start == std::string_view::npos) continue;
    const std::string_view position = line.substr(0, start);
    const std::size_t column = position.rfind(':');
    if (column == std::string_view::npos || position.find(':') == column) continue;
    return diagnostic{std::string(position.substr(0, column)), std::string(kind),
                      std::string(line.substr(start + kind.size() + 4))};
  }
  return std::nullopt;
}

}  // namespace

std::vector<unit> units_of(std::string_view text, const std::string& path) {
  const nlohmann::json entries = nlohmann::json::parse(text, nullptr, false);
  std::vector<unit> units;
  for (const nlohmann::json& entry : entries.is_array() ? entries : nlohmann::json::array()) {
    if (!entry.is_object()) continue;
    const auto member = [&](const char* name) {
      const auto value = entry.find(name);
      return value != entry.end() && value->is_string() ? value->get<std::string>() : std::string();
    };
    const std::filesystem::path folder = member("directory");
    if (!member("file").empty()) units.push_back({std::filesystem::weakly_canonical(folder / member("file")), folder});
  }
  if (units.empty())
    command::fail(command::exit_code::no_compile_commands,
                  "{}: names no source file; for CMake, configure with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON", path);
  return units;
}

std::string with_whole_paths(std::string_view output, const std::string& folder) {
  std::string result;
  for (std::size_t begin = 0; begin < output.size();) {
    const std::size_t end = std::min(output.find('\n', begin), output.size());
    std::string line(output.substr(begin, end - begin));
    begin = end + 1;
    const std::optional<diagnostic> next = diagnostic_in(line);
    if (next && !next->position.starts_with('/')) {
      const std::string path = next->position.substr(0, next->position.rfind(':'));
      line.replace(0, path.size(), std::filesystem::weakly_canonical(std::filesystem::path(folder) / path).string());
    }
    result += line + '\n';
  }
  return result;
}

std::string with_paths(std::string_view edits, const std::function<std::string(const std::string&)>& new_path) {
  constexpr std::string_view key = "FilePath:";
  std::string result;
  std::istringstream lines{std::string(edits)};
  for (std::string line; std::getline(lines, line); result += line + '\n') {
    const std::size_t start = line.find(key);
    const std::size_t begin = start == std::string::npos ? start : line.find('\'', start);
    if (begin == std::string::npos || line.back() != '\'') continue;
    const std::string path = line.substr(begin + 1, line.size() - begin - 2);
    if (!path.empty()) line.replace(begin + 1, path.size(), new_path(path));
  }
  return result;
}

const char* name(certainty level) {
  constexpr std::array names = {"silent", "no edit", "review", "safe", "failed"};
  return names[static_cast<std::size_t>(level)];
}

std::vector<std::string> units_with(std::string_view rules, const std::string& file) {
  // A rule of make: TARGET: UNIT HEADER ..., on several lines that end with a backslash.
  std::vector<std::string> units;
  std::istringstream rule_text{std::string(rules)};
  std::string unit;
  bool is_counted = false;
  for (std::string word; rule_text >> word;) {
    if (word == "\\") continue;
    if (word.ends_with(':')) {
      unit.clear();
      is_counted = false;
      continue;
    }
    word = std::filesystem::weakly_canonical(word);
    if (unit.empty()) unit = word;
    if (word == file && !is_counted) {
      units.push_back(unit);
      is_counted = true;
    }
  }
  return units;
}

verdict verdict_of(std::string_view output, std::string_view check, bool must_agree) {
  // A diagnostic ends with its checks: "[CHECK]", or "[CHECK,CHECK]" where several say the same.
  const auto is_of_check = [&](const std::string& text) {
    const std::size_t start = text.rfind(" [");
    if (start == std::string::npos || !text.ends_with(']')) return false;
    const std::string names = "," + text.substr(start + 2, text.size() - start - 3) + ",";
    return names.find("," + std::string(check) + ",") != std::string::npos;
  };
  verdict result;
  std::vector<std::string> places;
  std::string other_code;
  bool takes_notes = false;
  for (std::size_t begin = 0; begin < output.size();) {
    const std::size_t end = std::min(output.find('\n', begin), output.size());
    std::optional<diagnostic> next = diagnostic_in(output.substr(begin, end - begin));
    begin = end + 1;
    if (!next) continue;
    if (next->kind == "note") {
      // Each unit that includes a header has the notes of its lines.
      std::string note = next->position + ": " + next->text;
      const bool is_new = std::find(result.notes.begin(), result.notes.end(), note) == result.notes.end();
      if (takes_notes && is_new) result.notes.push_back(std::move(note));
      continue;
    }
    takes_notes = false;
    const bool is_of_this_check = is_of_check(next->text);
    verdict next_verdict{certainty::proven, next->text.substr(0, next->text.rfind(" [")), next->position, {}};
    if (!is_of_this_check) {
      if (next->kind != "error") continue;
      next_verdict.level = certainty::failed;
      next_verdict.text = "clang-tidy cannot compile it: " + next->position + ": " + next_verdict.text;
    } else if (next_verdict.text.starts_with("silent: ")) {
      other_code = next->position;
      continue;
    } else if (next_verdict.text.starts_with("no edit: ")) {
      next_verdict.level = certainty::no_edit;
      next_verdict.text.erase(0, 9);
    } else if (next_verdict.text.starts_with("review: ")) {
      next_verdict.level = certainty::review;
      next_verdict.text.erase(0, 8);
    }
    if (next_verdict.level == certainty::proven && is_of_this_check &&
        std::find(places.begin(), places.end(), next->position) == places.end())
      places.push_back(next->position);
    // An error counts most, then an edit to review, a proven edit, and none.
    const auto weight = [&](certainty level) {
      if (must_agree && level == certainty::no_edit) return 4;
      return std::array{0, 1, 3, 2, 5}[static_cast<std::size_t>(level)];
    };
    if (weight(next_verdict.level) <= weight(result.level)) continue;
    result = std::move(next_verdict);
    takes_notes = is_of_this_check;
  }
  result.places = std::move(places);
  result.other_code = std::move(other_code);
  return result;
}

verdict united_verdict(const std::vector<verdict>& unit_verdicts) {
  using enum certainty;
  verdict result;
  std::vector<std::string> places;
  std::string other_code;
  for (const verdict& next : unit_verdicts) {
    const bool is_first = result.level == silent;
    const bool is_less_certain = next.level == failed || (result.level != failed && next.level < result.level);
    if (next.level != silent && (is_first || is_less_certain)) result = next;
    for (const std::string& position : next.places) {
      if (std::find(places.begin(), places.end(), position) == places.end()) places.push_back(position);
    }
    if (other_code.empty()) other_code = next.other_code;
  }
  if (!other_code.empty() && (result.level == proven || result.level == review)) {
    result.level = no_edit;
    result.text = "another inclusion or unit has other code in this line";
    result.notes = {other_code + ": " + result.text};
  }
  result.places = std::move(places);
  return result;
}

}  // namespace tarn::fix
