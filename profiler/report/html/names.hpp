// Holds the names of the HTML report. Each text, location and stack stands there once; everything else refers to it
// by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/symbols/symbols.hpp"

namespace tarn::command {

// Longer names are cut here, and say so.
constexpr std::size_t longest_html_name = 4096;

class html_names {
 public:
  // If `hides_names`, directories are left out, and names of functions and files that belong to no installed library
  // are replaced by numbers.
  explicit html_names(bool hides_names) : hides_names_(hides_names) {}

  // Returns the node number of a stack, whose innermost location comes first.
  std::uint32_t node(const std::vector<analyse::code_location>& stack);

  // Returns the replacements for a function and its file, or the names themselves if they belong to a library.
  std::pair<std::string, std::string> pseudonyms(const std::string& function, const std::string& file);

  // Replaces each array `stack` in `value`, at any depth, by the number of its node, and leaves out members that are 0,
  // false, null or empty.
  void compact(nlohmann::json& value);

  // Writes `strings`, `locations` and `nodes`, with everything that compact() has seen. docs/reference/page-data.md has
  // the schema.
  nlohmann::json tables() const;

 private:
  using location_key = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::uint32_t>;

  std::uint32_t string(std::string text);
  location_key key_of(const analyse::code_location& key_of);
  std::string pseudonym(const char* kind, std::map<std::string, std::size_t>& numbers, const std::string& name) const;

  bool hides_names_;
  std::vector<std::string> strings_{""};
  std::unordered_map<std::string, std::uint32_t> known_strings_{{"", 0}};
  std::vector<location_key> locations_;
  std::map<location_key, std::uint32_t> known_locations_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> nodes_{{0, 0}};  // parent, location; node 0 is the root
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_nodes_;
  std::map<std::string, std::size_t> functions_, files_, modules_;  // redacted names
};

}  // namespace tarn::command
