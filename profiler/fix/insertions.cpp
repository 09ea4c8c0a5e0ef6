#include "profiler/fix/insertions.hpp"

#include <set>
#include <sstream>

namespace tarn::fix {

std::optional<std::string> united_insertions(const std::string& text) {
  enum class part { common, first, base, second };
  part now = part::common;
  std::set<std::string> first_lines;
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("<<<<<<< ")) {
      now = part::first;
      first_lines.clear();
    } else if (now == part::first && line.starts_with("||||||| ")) {
      now = part::base;
    } else if (now == part::base && line == "=======") {
      now = part::second;
    } else if (now == part::second && line.starts_with(">>>>>>> ")) {
      now = part::common;
    } else {
      if (now == part::base || (now == part::second && first_lines.count(line) != 0)) return std::nullopt;
      if (now == part::first) first_lines.insert(line);
      result += line + "\n";
    }
  }
  return now == part::common ? std::optional(result) : std::nullopt;
}

}  // namespace tarn::fix
