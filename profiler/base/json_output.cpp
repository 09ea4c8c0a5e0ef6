#include "profiler/base/json_output.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace tarn::command {

std::string json_text(const nlohmann::json& value, std::size_t depth) {
  const std::string text = value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string indented;
  indented.reserve(text.size() + text.size() / 4);
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t end = std::min(text.find('\n', position), text.size() - 1) + 1;
    indented.append(text, position, end - position);
    if (indented.back() == '\n') indented.append(depth, ' ');  // within a string it is "\\n"
    position = end;
  }
  return indented;
}

void json_output::object(const nlohmann::json& members, std::size_t depth, std::string_view large,
                         const std::function<void()>& put_large) {
  const std::string line_end = '\n' + std::string(depth, ' ');
  std::string_view before = "{";
  for (const auto& [name, value] : members.items()) {
    put(std::exchange(before, ","));
    put(line_end);
    put(" \"" + name + "\": ");
    name == large ? put_large() : put(json_text(value, depth + 1));
  }
  put(line_end + "}");
}

void json_output::begin_element(std::size_t number, std::size_t depth) {
  put((number == 0 ? "[\n" : ",\n") + std::string(depth, ' '));
}

void json_output::end_array(std::size_t count, std::size_t depth) {
  if (count == 0) return put("[]");
  put('\n' + std::string(depth, ' ') + ']');
}

}  // namespace tarn::command
