#include "analyse/costs.hpp"

#include <nlohmann/json.hpp>

namespace tarn::analyse {
namespace {

using nlohmann::json;

constexpr std::array<const char*, server_count> server_names = {"alone", "malloc",   "drop_in",    "pooled",
                                                                "arena", "recycled", "shared_pool"};
constexpr std::array<const char*, pattern_count> pattern_names = {"soon", "busy", "burst", "cold", "handed", "met"};

// Returns the pattern to use if `to` was not measured: the nearest one that is usually not more expensive.
pattern nearest(pattern to) {
  switch (to) {
    case pattern::met: return pattern::handed;
    case pattern::handed: return pattern::cold;
    case pattern::cold: return pattern::burst;
    case pattern::burst: return pattern::busy;
    default: return pattern::soon;
  }
}

}  // namespace

const char* name(server of) { return server_names[static_cast<std::size_t>(of)]; }
const char* name(pattern of) { return pattern_names[static_cast<std::size_t>(of)]; }

costs::costs() : pairs() {
  for (auto& of_server : pairs) {
    for (auto& of_pattern : of_server) of_pattern.fill(none);
  }
}

double costs::pair(server by, pattern in, std::size_t bucket) const {
  for (;;) {
    const double price = pairs[static_cast<std::size_t>(by)][static_cast<std::size_t>(in)][bucket];
    if (price >= 0) return price;
    if (in == pattern::soon) return 0;
    in = nearest(in);
  }
}

json to_json(const costs& all) {
  json pairs = json::object();
  for (std::size_t by = 0; by < server_count; ++by) {
    for (std::size_t in = 0; in < pattern_count; ++in) {
      if (all.pairs[by][in][0] >= 0) pairs[server_names[by]][pattern_names[in]] = all.pairs[by][in];
    }
  }
  return {{"version", 1},
          {"machine", all.facts.machine},
          {"library", all.facts.library},
          {"tarn", all.facts.tarn},
          {"date", all.facts.date},
          {"pair_ns", pairs},
          {"copy_ns_per_byte", {all.copy_ns.low, all.copy_ns.high}},
          {"calls",
           {{"stretch", all.calls.stretch},
            {"buffered_ns", all.calls.buffered_ns},
            {"remembered_ns", all.calls.remembered_ns},
            {"plain_ns", all.calls.plain_ns}}},
          {"recorder_ns", {{"pair", all.recorder_ns}, {"frame", all.recorder_frame}, {"sampled", all.sampler_ns}}}};
}

costs costs_from(const json& text) {
  costs all;
  all.facts = {text.at("machine"), text.at("library"), text.at("tarn"), text.at("date")};
  const json& pairs = text.at("pair_ns");
  for (std::size_t by = 0; by < server_count; ++by) {
    if (!pairs.contains(server_names[by])) continue;
    const json& of = pairs.at(server_names[by]);
    for (std::size_t in = 0; in < pattern_count; ++in) {
      if (of.contains(pattern_names[in])) all.pairs[by][in] = of.at(pattern_names[in]).get<costs::by_size>();
    }
  }
  all.copy_ns = between(text.at("copy_ns_per_byte").at(0), text.at("copy_ns_per_byte").at(1));
  const json& calls = text.at("calls");
  all.calls = {calls.at("stretch"), calls.at("buffered_ns"), calls.at("remembered_ns"), calls.at("plain_ns")};
  all.recorder_ns = text.at("recorder_ns").at("pair");
  all.recorder_frame = text.at("recorder_ns").at("frame");
  all.sampler_ns = text.at("recorder_ns").at("sampled");
  return all;
}

}  // namespace tarn::analyse
