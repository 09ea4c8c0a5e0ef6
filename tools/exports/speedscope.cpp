#include <nlohmann/json.hpp>

#include "exports/formats.hpp"
#include "exports/frames.hpp"

namespace tarn::exports {
namespace {

using nlohmann::json;

// Its word for numbers of things is none.
const char* unit_words(unit of) { return of == unit::count ? "none" : words(of); }

}  // namespace

std::string as_speedscope(const profile& of) {
  frames known(of);
  std::vector<std::vector<std::uint32_t>> stacks;
  stacks.reserve(of.samples().size());
  for (const sample& each : of.samples()) stacks.push_back(known.of(each));
  json profiles = json::array();
  for (const measure which : of.used()) {
    json samples = json::array(), weights = json::array();
    std::uint64_t whole = 0;
    for (std::size_t at = 0; at < stacks.size(); ++at) {
      const std::uint64_t count = of.samples()[at].counted[which];
      if (count == 0) continue;
      samples.push_back(stacks[at]);
      weights.push_back(count);
      whole += count;
    }
    profiles.push_back({{"type", "sampled"},
                        {"name", measures[which].words},
                        {"unit", unit_words(measures[which].in)},
                        {"startValue", 0},
                        {"endValue", whole},
                        {"samples", std::move(samples)},
                        {"weights", std::move(weights)}});
  }
  json all_frames = json::array();
  for (const frame& each : known.all()) {
    json one = {{"name", each.name}};
    if (!each.file.empty()) one["file"] = each.file;
    if (each.line > 0) one["line"] = each.line;
    all_frames.push_back(std::move(one));
  }
  const json file = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                     {"name", program_name(of.recorded())},
                     {"exporter", "tarn"},
                     {"activeProfileIndex", 0},
                     {"shared", {{"frames", std::move(all_frames)}}},
                     {"profiles", std::move(profiles)}};
  return file.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace tarn::exports
