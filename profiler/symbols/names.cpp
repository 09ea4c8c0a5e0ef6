#include "profiler/symbols/names.hpp"

namespace tarn::analyse {
namespace {

// Returns the position after the bracket that closes the first one.
std::size_t past(std::string_view text, char opening, char closing) {
  int depth = 0;
  for (std::size_t index = text.find(opening); index < text.size(); ++index) {
    if (text[index] == opening) ++depth;
    if (text[index] == closing && --depth == 0) return index + 1;
  }
  return text.size();
}

bool is_by_line(std::string_view function) {
  return function.starts_with(lambda_at) || function.starts_with(function_object_at);
}

std::string without_templates(std::string_view function) {
  std::string result;
  int depth = 0;
  for (const char character : function) {
    if (character == '<') ++depth;
    if (depth == 0) result += character;
    if (character == '>' && depth > 0) --depth;
  }
  return result;
}

}  // namespace

std::string_view qualified_name(std::string_view function) {
  if (is_by_line(function)) return function;
  constexpr std::string_view anonymous = "(anonymous namespace)";
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t index = 0; index < function.size(); ++index) {
    const std::string_view remainder = function.substr(index);
    if (depth == 0 && (remainder.starts_with("decltype (") || remainder.starts_with("decltype("))) {
      index += past(remainder, '(', ')') - 1;
    } else if (remainder.starts_with(anonymous)) {
      index += anonymous.size() - 1;
    } else if (depth == 0 && (remainder.front() == '(' || remainder.starts_with("operator"))) {
      break;
    } else if (remainder.front() == '<') {
      ++depth;
    } else if (remainder.front() == '>') {
      --depth;
    } else if (remainder.front() == ' ' && depth == 0) {
      start = index + 1;
    }
  }
  return function.substr(start);
}

// A function may be local to one with arguments: `f(int)::{lambda(char)#1}::operator()(char) const`.
std::string without_arguments(const std::string& function) {
  constexpr std::string_view anonymous = "(anonymous namespace)", call = "operator()";
  const std::string_view name = qualified_name(function);
  if (is_by_line(name)) return function;
  std::string result;
  int depth = 0;
  for (std::size_t index = 0; index < name.size();) {
    const std::string_view remainder = name.substr(index);
    std::size_t length = 1;
    if (remainder.front() == '<') ++depth;
    if (remainder.front() == '>') --depth;
    if (depth <= 0 && remainder.front() == '{') {
      length = past(remainder, '{', '}');
    } else if (depth <= 0 && remainder.starts_with(call)) {
      length = call.size();
    } else if (remainder.starts_with(anonymous)) {
      length = anonymous.size();
    } else if (depth <= 0 && remainder.front() == '(' && index != 0) {
      const std::size_t scope = remainder.find("::", past(remainder, '(', ')'));
      const std::string_view qualifiers = remainder.substr(0, scope).substr(past(remainder, '(', ')'));
      if (scope == std::string_view::npos || qualifiers.find_first_of("(<") != std::string_view::npos) return result;
      index += scope;
      continue;
    }
    result += remainder.substr(0, length);
    index += length;
  }
  return result;
}

std::string from_rust(std::string_view function) {
  std::string result(function);
  if (result.starts_with('<')) {
    int depth = 0;
    std::size_t end = 0, trait = std::string::npos;  // the bracket that closes the first one, and the " as " inside
    for (; end < result.size(); ++end) {
      if (result[end] == '<') ++depth;
      const bool is_arrow = result[end] == '>' && result[end - 1] == '-';  // of a function's result
      if (result[end] == '>' && !is_arrow && --depth == 0) break;
      if (depth == 1 && std::string_view(result).substr(end).starts_with(" as ")) trait = end;
    }
    if (end == result.size()) return result;
    const std::string type = result.substr(1, std::min(trait, end) - 1);
    const bool is_path = type.find("::") != std::string::npos && type.find_first_of("&*[( ") >= type.find('<');
    const std::size_t start = is_path || trait == std::string::npos ? 1 : trait + std::string_view(" as ").size();
    result = result.substr(start, (start == 1 ? std::min(trait, end) : end) - start) + result.substr(end + 1);
  }
  for (std::size_t index = 0; (index = result.find("::<", index)) != std::string::npos;) result.erase(index, 2);
  return result;
}

bool ends_in(std::string_view text, std::string_view end, std::string_view separator) {
  if (!text.ends_with(end)) return false;
  const std::string_view before = text.substr(0, text.size() - end.size());
  return before.empty() || before.ends_with(separator);
}

bool is_called(std::string_view function, std::string_view name) {
  return ends_in(function, name, "::") || ends_in(without_templates(function), name, "::");
}

std::string_view argument_of(std::string_view function, std::string_view prefix) {
  const std::size_t start = function.find(prefix);
  if (start == std::string_view::npos) return {};
  const std::string_view remainder = function.substr(start + prefix.size());
  int depth = 0;
  for (std::size_t index = 0; index < remainder.size(); ++index) {
    if (depth == 0 && (remainder[index] == ',' || remainder[index] == '>')) return remainder.substr(0, index);
    if (remainder[index] == '<' || remainder[index] == '(') ++depth;
    if (remainder[index] == '>' || remainder[index] == ')') --depth;
  }
  return {};
}

}  // namespace tarn::analyse
