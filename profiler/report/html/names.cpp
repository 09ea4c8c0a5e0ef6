#include "profiler/report/html/names.hpp"

#include <fmt/format.h>

#include "profiler/symbols/names.hpp"

namespace tarn::command {
namespace {

using nlohmann::json;

bool is_default(const json& value) {
  switch (value.type()) {
    case json::value_t::null: return true;
    case json::value_t::boolean: return !value.get<bool>();
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
    case json::value_t::number_float: return value == 0;
    case json::value_t::string: return value.get_ref<const std::string&>().empty();
    case json::value_t::array:
    case json::value_t::object: return value.empty();
    default: return false;
  }
}

// Excludes the program itself, wherever it lies.
bool is_library(std::string_view module) {
  return (module.starts_with("/usr/") || module.starts_with("/lib")) && module.find(".so") != std::string_view::npos;
}

std::vector<analyse::code_location> locations_of(const json& stack) {
  std::vector<analyse::code_location> locations;
  for (const json& frame : stack) {
    locations.push_back(
        {frame.at("function"), frame.at("file"), frame.at("line"), frame.at("module"), frame.at("offset")});
  }
  return locations;
}

// Shortens a long name, at the border of a character.
std::string cut_name(std::string text) {
  if (text.size() <= longest_html_name) return text;
  std::size_t end = longest_html_name;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("{}… ({} bytes)", text.substr(0, end), text.size());
}

}  // namespace

std::uint32_t html_names::string(std::string text) {
  text = cut_name(std::move(text));
  const auto [entry, is_new] = known_strings_.try_emplace(text, static_cast<std::uint32_t>(strings_.size()));
  if (is_new) strings_.push_back(text);
  return entry->second;
}

std::string html_names::pseudonym(const char* kind, std::map<std::string, std::size_t>& numbers,
                                  const std::string& name) const {
  if (name.empty()) return name;
  return fmt::format("{} {}", kind, numbers.try_emplace(name, numbers.size() + 1).first->second);
}

std::pair<std::string, std::string> html_names::pseudonyms(const std::string& function, const std::string& file) {
  // A file with lines may hold templates of the program's own types, so only a module counts as a library.
  if (is_library(file)) return {function, analyse::file_name(file)};
  return {pseudonym("function", functions_, function), pseudonym("file", files_, file)};
}

html_names::location_key html_names::key_of(const analyse::code_location& key_of) {
  std::string function = key_of.function, file = key_of.file, module = key_of.module;
  // A location without a line gives its offset in the module.
  const auto line = file.empty() ? static_cast<std::int64_t>(key_of.offset) : key_of.line;
  if (hides_names_) {
    if (is_library(module)) {
      module = analyse::file_name(module);
      file = analyse::file_name(file);
    } else {
      function = pseudonym("function", functions_, function);
      file = pseudonym("file", files_, file);
      module = pseudonym("module", modules_, module);
    }
  }
  return {string(std::move(function)), string(std::move(file)), line, string(std::move(module))};
}

std::uint32_t html_names::node(const std::vector<analyse::code_location>& stack) {
  std::uint32_t node = 0;
  for (std::size_t frame = stack.size(); frame-- > 0;) {  // outermost first
    const location_key key = key_of(stack[frame]);
    const auto [location_entry, is_new_location] =
        known_locations_.try_emplace(key, static_cast<std::uint32_t>(locations_.size()));
    if (is_new_location) locations_.push_back(key);
    const std::pair step{node, location_entry->second};
    const auto [next, is_new] = known_nodes_.try_emplace(step, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back(step);
    node = next->second;
  }
  return node;
}

void html_names::compact(json& value) {
  if (value.is_array()) {
    for (json& element : value) compact(element);
  } else if (value.is_object()) {
    for (auto element = value.begin(); element != value.end();) {
      if (element.key() == "stack" && element->is_array()) {
        *element = node(locations_of(*element));
      } else {
        compact(*element);
      }
      // The holder 0 is the first thread, and no holder is null.
      const bool is_thread = element.key() == "holder" && element->is_number();
      element = is_default(*element) && !is_thread ? value.erase(element) : std::next(element);
    }
  } else if (value.is_string()) {
    if (value.get_ref<const std::string&>().size() > longest_html_name) value = cut_name(value.get<std::string>());
  }
}

json html_names::tables() const {
  json functions = json::array(), files = json::array(), lines = json::array(), modules = json::array();
  for (const auto& [function, file, line, module] : locations_) {
    functions.push_back(function);
    files.push_back(file);
    lines.push_back(line);
    modules.push_back(module);
  }
  json parents = json::array(), locations = json::array();
  for (const auto& [parent, location] : nodes_) {
    parents.push_back(parent);
    locations.push_back(location);
  }
  return {{"strings", strings_},
          {"locations", {{"function", functions}, {"file", files}, {"line", lines}, {"module", modules}}},
          {"nodes", {{"parent", parents}, {"location", locations}}}};
}

}  // namespace tarn::command
