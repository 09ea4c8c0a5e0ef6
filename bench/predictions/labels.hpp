// Looks up a label in a table by a copy of a part of the line. Remedy: hoist, here to a view.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "predictions/work.hpp"

namespace predictions::labels {

struct hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using table = std::unordered_map<std::string, std::uint64_t, hash, std::equal_to<>>;

template <bool View>
[[gnu::noinline]] std::uint64_t value_in(const table& labels, const std::string& line) {
  const std::size_t end = line.find('=');
  if constexpr (View) {
    const auto position = labels.find(std::string_view(line).substr(0, end));
    return position == labels.end() ? 0 : position->second;
  } else {
    const auto position = labels.find(line.substr(0, end));
    return position == labels.end() ? 0 : position->second;
  }
}

template <bool View>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  table labels;
  std::vector<std::string> lines;
  for (int number = 0; number < 200; ++number) {
    std::string label = "configuration.section." + std::to_string(random.below(1000)) + ".value";
    lines.push_back(label + "=" + std::to_string(number));
    if (number % 4 != 0) labels.emplace(std::move(label), number);
  }
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round)
    sum = sum * 31 + value_in<View>(labels, lines[random.below(200)]);
  return sum;
}

}  // namespace predictions::labels
