#include "tarn/page_names.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tarn::command {
namespace {

using nlohmann::json;

bool says_nothing(const json& of) {
  switch (of.type()) {
    case json::value_t::null: return true;
    case json::value_t::boolean: return !of.get<bool>();
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
    case json::value_t::number_float: return of == 0;
    case json::value_t::string: return of.get_ref<const std::string&>().empty();
    case json::value_t::array:
    case json::value_t::object: return of.empty();
    default: return false;
  }
}

// Excludes the program itself, wherever it lies.
bool is_library(std::string_view module) {
  return (module.starts_with("/usr/") || module.starts_with("/lib")) && module.find(".so") != std::string_view::npos;
}

std::vector<analyse::place> places_of(const json& stack) {
  std::vector<analyse::place> all;
  for (const json& of : stack) {
    all.push_back({of.at("function"), of.at("file"), of.at("line"), of.at("module"), of.at("offset")});
  }
  return all;
}

// Never cuts in the middle of a character.
std::string cut_name(std::string text) {
  if (text.size() <= longest_page_name) return text;
  std::size_t end = longest_page_name;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("{}… ({} bytes)", text.substr(0, end), text.size());
}

}  // namespace

std::uint32_t page_names::string(std::string text) {
  text = cut_name(std::move(text));
  const auto [at, is_new] = known_strings_.try_emplace(text, static_cast<std::uint32_t>(strings_.size()));
  if (is_new) strings_.push_back(text);
  return at->second;
}

std::string page_names::instead_of(const char* kind, std::map<std::string, std::size_t>& known,
                                   const std::string& name) const {
  if (name.empty()) return name;
  return fmt::format("{} {}", kind, known.try_emplace(name, known.size() + 1).first->second);
}

std::pair<std::string, std::string> page_names::instead_of_place(const std::string& function, const std::string& file) {
  // A file with lines may hold templates of the program's own types, so only a module counts as a library.
  if (is_library(file)) return {function, file.substr(file.find_last_of('/') + 1)};
  return {instead_of("function", functions_, function), instead_of("file", files_, file)};
}

page_names::place_key page_names::place(const analyse::place& of) {
  std::string function = of.function, file = of.file, module = of.module;
  // A location without a line gives its offset in the module.
  const auto line = file.empty() ? static_cast<std::int64_t>(of.offset) : of.line;
  if (redacts_) {
    if (is_library(module)) {
      module = module.substr(module.find_last_of('/') + 1);
      file = file.substr(file.find_last_of('/') + 1);
    } else {
      function = instead_of("function", functions_, function);
      file = instead_of("file", files_, file);
      module = instead_of("module", modules_, module);
    }
  }
  return {string(std::move(function)), string(std::move(file)), line, string(std::move(module))};
}

std::uint32_t page_names::node(const std::vector<analyse::place>& stack) {
  std::uint32_t at = 0;
  for (std::size_t up = stack.size(); up-- > 0;) {  // outermost first
    const place_key key = place(stack[up]);
    const auto [where, is_new_place] = known_places_.try_emplace(key, static_cast<std::uint32_t>(places_.size()));
    if (is_new_place) places_.push_back(key);
    const std::pair step{at, where->second};
    const auto [next, is_new] = known_nodes_.try_emplace(step, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back(step);
    at = next->second;
  }
  return at;
}

void page_names::compact(json& of) {
  if (of.is_array()) {
    for (json& each : of) compact(each);
  } else if (of.is_object()) {
    for (auto each = of.begin(); each != of.end();) {
      if (each.key() == "stack" && each->is_array()) {
        *each = node(places_of(*each));
      } else {
        compact(*each);
      }
      each = says_nothing(*each) ? of.erase(each) : std::next(each);
    }
  } else if (of.is_string()) {
    if (of.get_ref<const std::string&>().size() > longest_page_name) of = cut_name(of.get<std::string>());
  }
}

json page_names::tables() const {
  json functions = json::array(), files = json::array(), lines = json::array(), modules = json::array();
  for (const auto& [function, file, line, module] : places_) {
    functions.push_back(function);
    files.push_back(file);
    lines.push_back(line);
    modules.push_back(module);
  }
  json parents = json::array(), places = json::array();
  for (const auto& [parent, place] : nodes_) {
    parents.push_back(parent);
    places.push_back(place);
  }
  return {{"strings", strings_},
          {"places", {{"function", functions}, {"file", files}, {"line", lines}, {"module", modules}}},
          {"nodes", {{"parent", parents}, {"place", places}}}};
}

}  // namespace tarn::command
