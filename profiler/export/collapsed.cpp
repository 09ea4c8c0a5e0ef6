#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/export/formats.hpp"
#include "profiler/export/frames.hpp"
#include "profiler/export/utf8.hpp"

namespace tarn::exports {
namespace {

// A semicolon ends a frame, and a control character may end a line.
std::string one_frame(std::string_view text) {
  std::string name = well_formed(text);
  for (char& character : name) {
    const auto code = static_cast<unsigned char>(character);
    if (character == ';') character = ':';
    if (code < 0x20 || code == 0x7f) character = ' ';
  }
  return name;
}

// Ranks the values in their order; equal ones have the same rank.
std::vector<std::uint32_t> ranks_of(const std::vector<std::string>& names) {
  std::map<std::string_view, std::uint32_t> order;
  for (const std::string& name : names) order.try_emplace(name);
  std::uint32_t next = 0;
  for (auto& [name, index] : order) index = next++;
  std::vector<std::uint32_t> ranks;
  for (const std::string& name : names) ranks.push_back(order.at(name));
  return ranks;
}

}  // namespace

void write_collapsed(const profile& profile, measure weight, const sink& output) {
  frames frames(profile);
  std::vector<std::vector<std::uint32_t>> stacks;
  for (const sample& sample : profile.samples()) {
    stacks.push_back(sample.sums[weight] == 0 ? std::vector<std::uint32_t>() : frames.stack_of(sample));
  }
  std::vector<std::string> names;
  for (const frame& frame : frames.list()) names.push_back(one_frame(frame.name));
  const std::vector<std::uint32_t> ranks = ranks_of(names);
  std::vector<const std::string*> in_order(names.size());
  for (std::size_t index = 0; index < names.size(); ++index) in_order[ranks[index]] = &names[index];
  // The lines are sorted, so that two exports can be compared, and sorted by numbers, because the lines of a large
  // recording take hundreds of megabytes.
  std::map<std::vector<std::uint32_t>, std::uint64_t> lines;
  for (std::size_t index = 0; index < stacks.size(); ++index) {
    if (stacks[index].empty()) continue;
    for (std::uint32_t& number : stacks[index]) number = ranks[number];
    lines[std::move(stacks[index])] += profile.samples()[index].sums[weight];
  }
  for (const auto& [stack, count] : lines) {
    std::string line;
    for (const std::uint32_t index : stack) {
      if (!line.empty()) line += ';';
      line += *in_order[index];
    }
    output(line + ' ' + std::to_string(count) + '\n');
  }
}

}  // namespace tarn::exports
