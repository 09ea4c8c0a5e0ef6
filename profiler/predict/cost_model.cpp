#include "profiler/predict/cost_model.hpp"

#include <nlohmann/json.hpp>

namespace tarn::analyse {
namespace {

using nlohmann::json;

constexpr std::array allocator_names = {"alone", "malloc", "drop_in", "pooled", "arena", "recycled", "shared_pool"};
static_assert(allocator_names.size() == allocator_count);
constexpr std::array pattern_names = {"soon", "busy", "burst", "cold", "handed", "met"};
static_assert(pattern_names.size() == pattern_count);

// Returns the pattern to use if `pattern` was not measured: the nearest one that is usually not more expensive.
lifetime_pattern nearest_pattern(lifetime_pattern pattern) {
  switch (pattern) {
    case lifetime_pattern::met: return lifetime_pattern::handed;
    case lifetime_pattern::handed: return lifetime_pattern::cold;
    case lifetime_pattern::cold: return lifetime_pattern::burst;
    case lifetime_pattern::burst: return lifetime_pattern::busy;
    default: return lifetime_pattern::soon;
  }
}

}  // namespace

const char* name(allocator_kind allocator) { return allocator_names[static_cast<std::size_t>(allocator)]; }
const char* name(lifetime_pattern pattern) { return pattern_names[static_cast<std::size_t>(pattern)]; }

cost_model::cost_model() : pairs() {
  for (auto& of_allocator : pairs) {
    for (auto& of_pattern : of_allocator) of_pattern.fill(unmeasured);
  }
}

double cost_model::pair_ns(allocator_kind allocator, lifetime_pattern pattern, std::size_t bucket) const {
  for (;;) {
    const double price = pairs[static_cast<std::size_t>(allocator)][static_cast<std::size_t>(pattern)][bucket];
    if (price >= 0) return price;
    if (pattern == lifetime_pattern::soon) return 0;
    pattern = nearest_pattern(pattern);
  }
}

json to_json(const cost_model& costs) {
  json pairs = json::object();
  for (std::size_t allocator = 0; allocator < allocator_count; ++allocator) {
    for (std::size_t pattern = 0; pattern < pattern_count; ++pattern) {
      if (costs.pairs[allocator][pattern][0] >= 0)
        pairs[allocator_names[allocator]][pattern_names[pattern]] = costs.pairs[allocator][pattern];
    }
  }
  return {{"version", 1},
          {"machine", costs.facts.machine},
          {"library", costs.facts.library},
          {"tarn", costs.facts.tarn},
          {"date", costs.facts.date},
          {"pair_ns", pairs},
          {"copy_ns_per_byte", {costs.copy_ns.low, costs.copy_ns.high}},
          {"calls",
           {{"stretch", costs.calls.slowdown},
            {"buffered_ns", costs.calls.buffered_ns},
            {"remembered_ns", costs.calls.cached_ns},
            {"plain_ns", costs.calls.plain_ns}}}};
}

cost_model cost_model_from(const json& text) {
  cost_model costs;
  costs.facts = {text.at("machine"), text.at("library"), text.at("tarn"), text.at("date")};
  const json& pairs = text.at("pair_ns");
  for (std::size_t allocator = 0; allocator < allocator_count; ++allocator) {
    if (!pairs.contains(allocator_names[allocator])) continue;
    const json& costs_of_allocator = pairs.at(allocator_names[allocator]);
    for (std::size_t pattern = 0; pattern < pattern_count; ++pattern) {
      if (costs_of_allocator.contains(pattern_names[pattern]))
        costs.pairs[allocator][pattern] = costs_of_allocator.at(pattern_names[pattern]).get<cost_model::by_size>();
    }
  }
  costs.copy_ns = ordered_range(text.at("copy_ns_per_byte").at(0), text.at("copy_ns_per_byte").at(1));
  const json& calls = text.at("calls");
  costs.calls = {calls.at("stretch"), calls.at("buffered_ns"), calls.at("remembered_ns"), calls.at("plain_ns")};
  return costs;
}

}  // namespace tarn::analyse
