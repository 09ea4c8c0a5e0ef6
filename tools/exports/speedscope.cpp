#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "exports/formats.hpp"
#include "exports/frames.hpp"

namespace tarn::exports {
namespace {

using nlohmann::json;

// The format's word for plain numbers is "none".
const char* unit_words(unit of) { return of == unit::count ? "none" : words(of); }

std::string text_of(const json& of) { return of.dump(-1, ' ', false, json::error_handler_t::replace); }

// Writes the object without its last bracket, so that more can follow.
std::string opened(const json& of) {
  std::string text = text_of(of);
  text.back() = ',';
  return text;
}

}  // namespace

void write_speedscope(const profile& of, const sink& to) {
  frames known(of);
  std::vector<std::vector<std::uint32_t>> stacks;
  stacks.reserve(of.samples().size());
  for (const sample& each : of.samples()) stacks.push_back(known.of(each));
  to(opened({{"$schema", "https://www.speedscope.app/file-format-schema.json"},
             {"name", program_name(of.recorded())},
             {"exporter", "tarn"},
             {"activeProfileIndex", 0}}) +
     "\"profiles\":[");
  const char* before = "";
  for (const measure which : of.used()) {
    std::vector<std::uint64_t> weights;
    for (const sample& each : of.samples()) {
      if (each.counted[which] != 0) weights.push_back(each.counted[which]);
    }
    to(std::exchange(before, ",") +
       opened({{"type", "sampled"},
               {"name", measures[which].words},
               {"unit", unit_words(measures[which].in)},
               {"startValue", 0},
               {"endValue", std::accumulate(weights.begin(), weights.end(), std::uint64_t{0})},
               {"weights", std::move(weights)}}) +
       "\"samples\":[");
    const char* between = "";
    for (std::size_t at = 0; at < stacks.size(); ++at) {
      if (of.samples()[at].counted[which] == 0) continue;
      to(std::exchange(between, ",") + json(stacks[at]).dump());
    }
    to("]}");
  }
  json all_frames = json::array();
  for (const frame& each : known.all()) {
    json one = {{"name", each.name}};
    if (!each.file.empty()) one["file"] = each.file;
    if (each.line > 0) one["line"] = each.line;
    all_frames.push_back(std::move(one));
  }
  to("],\"shared\":" + text_of({{"frames", std::move(all_frames)}}) + "}");
}

}  // namespace tarn::exports
