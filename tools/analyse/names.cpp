#include "analyse/names.hpp"

namespace tarn::analyse {
namespace {

// Returns the position after the parenthesis that closes the first one.
std::size_t past_parentheses(std::string_view text) {
  int depth = 0;
  for (std::size_t at = text.find('('); at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at + 1;
  }
  return text.size();
}

bool is_by_line(std::string_view function) {
  return function.starts_with(lambda_at) || function.starts_with(function_object_at);
}

std::string without_templates(std::string_view function) {
  std::string made;
  int depth = 0;
  for (const char each : function) {
    if (each == '<') ++depth;
    if (depth == 0) made += each;
    if (each == '>' && depth > 0) --depth;
  }
  return made;
}

}  // namespace

std::string_view qualified(std::string_view function) {
  if (is_by_line(function)) return function;
  constexpr std::string_view anonymous = "(anonymous namespace)";
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t at = 0; at < function.size(); ++at) {
    const std::string_view rest = function.substr(at);
    if (depth == 0 && (rest.starts_with("decltype (") || rest.starts_with("decltype("))) {
      at += past_parentheses(rest) - 1;
    } else if (rest.starts_with(anonymous)) {
      at += anonymous.size() - 1;
    } else if (depth == 0 && (rest.front() == '(' || rest.starts_with("operator"))) {
      break;
    } else if (rest.front() == '<') {
      ++depth;
    } else if (rest.front() == '>') {
      --depth;
    } else if (rest.front() == ' ' && depth == 0) {
      start = at + 1;
    }
  }
  return function.substr(start);
}

std::string without_arguments(const std::string& function) {
  const std::string_view name = qualified(function);
  if (is_by_line(name)) return function;
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '<') ++depth;
    if (name[at] == '>') --depth;
    if (name[at] == '(' && depth <= 0 && !name.substr(at).starts_with("(anonymous namespace)") && at != 0) {
      return std::string(name.substr(0, at));
    }
  }
  return std::string(name);
}

bool ends_in(std::string_view text, std::string_view end, std::string_view separator) {
  if (!text.ends_with(end)) return false;
  const std::string_view before = text.substr(0, text.size() - end.size());
  return before.empty() || before.ends_with(separator);
}

bool is_called(std::string_view function, std::string_view wanted) {
  return ends_in(function, wanted, "::") || ends_in(without_templates(function), wanted, "::");
}

std::string_view argument_of(std::string_view function, std::string_view prefix) {
  const std::size_t found = function.find(prefix);
  if (found == std::string_view::npos) return {};
  const std::string_view rest = function.substr(found + prefix.size());
  int depth = 0;
  for (std::size_t at = 0; at < rest.size(); ++at) {
    if (depth == 0 && (rest[at] == ',' || rest[at] == '>')) return rest.substr(0, at);
    if (rest[at] == '<' || rest[at] == '(') ++depth;
    if (rest[at] == '>' || rest[at] == ')') --depth;
  }
  return {};
}

}  // namespace tarn::analyse
