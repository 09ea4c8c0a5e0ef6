#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "profiler/lab/run.hpp"

namespace tarn::lab {
namespace {

const parameter* find_parameter(const experiment& searched, std::string_view key) {
  for (const parameter& sweep : searched.parameters) {
    if (sweep.name == key) return &sweep;
  }
  for (const sweep& sweep : searched.sweeps) {
    if (sweep.axis.name == key) return &sweep.axis;
  }
  return nullptr;
}

std::vector<std::uint64_t> read_numbers(const parameter& parameter, std::string_view text,
                                        const std::string& display_name) {
  const auto refuse = [&] {
    throw problem(fmt::format("--set {}: {} from {} to {}", display_name, parameter.is_list ? "numbers" : "a number",
                              parameter.minimum, parameter.maximum));
  };
  std::vector<std::uint64_t> numbers;
  for (std::size_t begin = 0, end = 0; end != text.npos; begin = end + 1) {
    end = text.find(',', begin);
    const std::string_view word = text.substr(begin, end == text.npos ? end : end - begin);
    std::uint64_t number = 0;
    const auto [stopped, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || stopped != word.data() + word.size() || number < parameter.minimum ||
        number > parameter.maximum)
      refuse();
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
  }
  if ((numbers.size() > 1 && !parameter.is_list) || numbers.size() > 32) refuse();
  return numbers;
}

}  // namespace

std::map<std::string, settings> read_settings(const std::vector<const experiment*>& experiments,
                                              const std::vector<std::string>& assignments) {
  std::map<std::string, settings> settings_by_experiment;
  for (const std::string& word : assignments) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos) throw problem(fmt::format("--set {}: not [EXPERIMENT.]KEY=NUMBER[,NUMBER…]", word));
    const std::string_view name_given = std::string_view(word).substr(0, equals);
    const std::size_t dot = name_given.find('.');
    const std::string_view key = dot == name_given.npos ? name_given : name_given.substr(dot + 1);
    bool is_known = false;
    for (const experiment* const experiment : experiments) {
      if (dot != name_given.npos && experiment->name != name_given.substr(0, dot)) continue;
      const parameter* const parameter = find_parameter(*experiment, key);
      if (parameter == nullptr) continue;
      settings_by_experiment[experiment->name][std::string(key)] =
          read_numbers(*parameter, std::string_view(word).substr(equals + 1), word);
      is_known = true;
    }
    if (!is_known) throw problem(fmt::format("--set {}: no chosen experiment has it; tarn lab --list names all", word));
  }
  return settings_by_experiment;
}

}  // namespace tarn::lab
