#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "profiler/export/formats.hpp"
#include "profiler/export/frames.hpp"

namespace tarn::exports {
namespace {

using nlohmann::json;

// The format's word for plain numbers is "none".
const char* unit_name(unit unit) { return unit == unit::count ? "none" : name(unit); }

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

// Writes the object without its last bracket, so that more can follow.
std::string without_last_bracket(const json& value) {
  std::string text = text_of(value);
  text.back() = ',';
  return text;
}

}  // namespace

void write_speedscope(const profile& profile, const sink& output) {
  frames frames(profile);
  std::vector<std::vector<std::uint32_t>> stacks;
  stacks.reserve(profile.samples().size());
  for (const sample& sample : profile.samples()) stacks.push_back(frames.stack_of(sample));
  output(without_last_bracket({{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                               {"name", program_name(profile.recording())},
                               {"exporter", "tarn"},
                               {"activeProfileIndex", 0}}) +
         "\"profiles\":[");
  const char* before = "";
  for (const measure weight : profile.used_measures()) {
    std::vector<std::uint64_t> weights;
    for (const sample& sample : profile.samples()) {
      if (sample.sums[weight] != 0) weights.push_back(sample.sums[weight]);
    }
    output(std::exchange(before, ",") +
           without_last_bracket({{"type", "sampled"},
                                 {"name", measures[weight].description},
                                 {"unit", unit_name(measures[weight].value_unit)},
                                 {"startValue", 0},
                                 {"endValue", std::accumulate(weights.begin(), weights.end(), std::uint64_t{0})},
                                 {"weights", std::move(weights)}}) +
           "\"samples\":[");
    const char* separator = "";
    for (std::size_t index = 0; index < stacks.size(); ++index) {
      if (profile.samples()[index].sums[weight] == 0) continue;
      output(std::exchange(separator, ",") + json(stacks[index]).dump());
    }
    output("]}");
  }
  json all_frames = json::array();
  for (const frame& frame : frames.list()) {
    json entry = {{"name", frame.name}};
    if (!frame.file.empty()) entry["file"] = frame.file;
    if (frame.line > 0) entry["line"] = frame.line;
    all_frames.push_back(std::move(entry));
  }
  output("],\"shared\":" + text_of({{"frames", std::move(all_frames)}}) + "}");
}

}  // namespace tarn::exports
