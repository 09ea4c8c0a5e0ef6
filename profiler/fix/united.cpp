#include "profiler/fix/united.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <sstream>

namespace tarn::fix {
namespace {

// A part of a diff: the lines from `first` on are replaced; none of them for an insertion before the line `first`.
struct change {
  std::size_t first = 0;  // counts from 0
  std::vector<std::string> old_lines, new_lines;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream input(text);
  for (std::string line; std::getline(input, line);) lines.push_back(line);
  return lines;
}

std::optional<std::vector<change>> changes_of(const std::string& diff) {
  std::vector<change> changes;
  for (const std::string& line : lines_of(diff)) {
    if (line.starts_with("@@ ")) {
      std::size_t first = 0, count = 1;
      if (std::sscanf(line.c_str(), "@@ -%zu,%zu ", &first, &count) < 1) return std::nullopt;
      if (count != 0 && first == 0) return std::nullopt;
      changes.push_back({count == 0 ? first : first - 1, {}, {}});
    } else if (changes.empty()) {
      continue;  // the names of the files
    } else if (line.starts_with('-')) {
      changes.back().old_lines.push_back(line.substr(1));
    } else if (line.starts_with('+')) {
      changes.back().new_lines.push_back(line.substr(1));
    } else {
      return std::nullopt;  // the last line has no end
    }
  }
  return changes;
}

bool has_line_in_common(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  return std::any_of(first.begin(), first.end(), [&](const std::string& line) {
    return !line.empty() && !line.starts_with("#include") &&
           std::find(second.begin(), second.end(), line) != second.end();
  });
}

}  // namespace

std::optional<std::string> united_changes(const std::string& text, const std::vector<std::string>& diffs) {
  const std::vector<std::string> lines = lines_of(text);
  std::vector<std::vector<std::string>> inserted(lines.size() + 1);
  std::map<std::size_t, change> replaced;
  for (const std::string& diff : diffs) {
    const std::optional<std::vector<change>> changes = changes_of(diff);
    if (!changes) return std::nullopt;
    for (const change& next : *changes) {
      const std::size_t end = next.first + next.old_lines.size();
      if (end > lines.size() || !std::equal(next.old_lines.begin(), next.old_lines.end(),
                                            lines.begin() + static_cast<std::ptrdiff_t>(next.first))) {
        return std::nullopt;
      }
      if (next.old_lines.empty()) {
        std::vector<std::string>& earlier = inserted[next.first];
        if (earlier == next.new_lines) continue;
        if (has_line_in_common(earlier, next.new_lines)) return std::nullopt;
        for (const std::string& line : next.new_lines) {
          const bool is_present = !line.empty() && std::find(earlier.begin(), earlier.end(), line) != earlier.end();
          if (!is_present) earlier.push_back(line);
        }
        continue;
      }
      for (const auto& [first, earlier_change] : replaced) {
        if (first < end && next.first < first + earlier_change.old_lines.size()) return std::nullopt;
      }
      replaced.emplace(next.first, next);
    }
  }
  for (const auto& [first, next] : replaced) {
    for (std::size_t line = first + 1; line < first + next.old_lines.size(); ++line) {
      if (!inserted[line].empty()) return std::nullopt;
    }
  }
  std::string result;
  const auto add = [&](const std::vector<std::string>& added) {
    for (const std::string& line : added) result += line + '\n';
  };
  for (std::size_t line = 0; line <= lines.size();) {
    add(inserted[line]);
    const auto next = replaced.find(line);
    if (next != replaced.end()) {
      add(next->second.new_lines);
      line += next->second.old_lines.size();
    } else if (line++ < lines.size()) {
      result += lines[line - 1] + '\n';
    }
  }
  return result;
}

}  // namespace tarn::fix
