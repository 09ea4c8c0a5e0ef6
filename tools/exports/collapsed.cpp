#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exports/formats.hpp"
#include "exports/frames.hpp"
#include "exports/text.hpp"

namespace tarn::exports {
namespace {

// A semicolon ends a frame, and a control character may end a line.
std::string one_frame(std::string_view text) {
  std::string name = well_formed(text);
  for (char& each : name) {
    const auto code = static_cast<unsigned char>(each);
    if (each == ';') each = ':';
    if (code < 0x20 || code == 0x7f) each = ' ';
  }
  return name;
}

// Ranks the values in their order; equal ones have the same rank.
std::vector<std::uint32_t> places_in_order(const std::vector<std::string>& names) {
  std::map<std::string_view, std::uint32_t> order;
  for (const std::string& each : names) order.try_emplace(each);
  std::uint32_t next = 0;
  for (auto& [name, place] : order) place = next++;
  std::vector<std::uint32_t> places;
  for (const std::string& each : names) places.push_back(order.at(each));
  return places;
}

}  // namespace

void write_collapsed(const profile& of, measure which, const sink& to) {
  frames known(of);
  std::vector<std::vector<std::uint32_t>> stacks;
  for (const sample& each : of.samples()) {
    stacks.push_back(each.counted[which] == 0 ? std::vector<std::uint32_t>() : known.of(each));
  }
  std::vector<std::string> names;
  for (const frame& each : known.all()) names.push_back(one_frame(each.name));
  const std::vector<std::uint32_t> places = places_in_order(names);
  std::vector<const std::string*> in_order(names.size());
  for (std::size_t at = 0; at < names.size(); ++at) in_order[places[at]] = &names[at];
  // The lines are sorted, so that two exports can be compared, and sorted by numbers, because the lines of a large
  // recording take hundreds of megabytes.
  std::map<std::vector<std::uint32_t>, std::uint64_t> lines;
  for (std::size_t at = 0; at < stacks.size(); ++at) {
    if (stacks[at].empty()) continue;
    for (std::uint32_t& number : stacks[at]) number = places[number];
    lines[std::move(stacks[at])] += of.samples()[at].counted[which];
  }
  for (const auto& [stack, count] : lines) {
    std::string line;
    for (const std::uint32_t place : stack) {
      if (!line.empty()) line += ';';
      line += *in_order[place];
    }
    to(line + ' ' + std::to_string(count) + '\n');
  }
}

}  // namespace tarn::exports
