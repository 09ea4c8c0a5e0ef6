#include "lab/json.hpp"

#include <nlohmann/json.hpp>

namespace tarn::lab {
namespace {

using nlohmann::ordered_json;

// Five digits are all that a clock provides, and keep the file small.
double rounded(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", number);
  return std::strtod(text, nullptr);
}

ordered_json as_json(const spread& of) {
  return {{"median", rounded(of.median)}, {"low", rounded(of.low)}, {"high", rounded(of.high)}};
}

ordered_json curves(const std::vector<original_curve>& of) {
  ordered_json all = ordered_json::array();
  for (const original_curve& each : of) {
    ordered_json points = ordered_json::array();
    for (const auto& [x, y] : each.points) points.push_back({rounded(x), rounded(y)});
    all.push_back({{"name", each.name}, {"unit", each.unit}, {"points", points}});
  }
  return all;
}

ordered_json sweep_json(const result& of, std::size_t at) {
  const sweep& in = of.of->sweeps[at];
  ordered_json ratios = ordered_json::array();
  for (const ratio& each : in.ratios) {
    ordered_json points = ordered_json::array();
    for (const std::uint64_t x : of.axes[at]) {
      if (const auto y = of.ratio(at, each.over, each.under, x)) points.push_back({x, rounded(*y)});
    }
    if (!points.empty()) ratios.push_back({{"name", each.name}, {"unit", "times"}, {"points", points}});
  }
  ordered_json exponents = ordered_json::object();
  for (const form& each : of.forms) {
    const auto own = in.x_names.empty() ? of.exponent(at, each.name) : std::nullopt;
    if (own) exponents[each.name] = rounded(*own);
  }
  return {{"name", in.name},        {"title", in.title},
          {"x", in.x_label},        {"y", in.y_label},
          {"values", of.axes[at]},  {"originals", curves(in.originals)},
          {"ratios", ratios},       {"original_ratios", curves(in.original_ratios)},
          {"exponents", exponents}, {"names", in.x_names}};
}

ordered_json row_json(const result& of, const row& each) {
  ordered_json counts = ordered_json::object();
  for (const auto& [name, values] : each.counts) counts[name] = rounded(spread_of(values).median);
  ordered_json rounds = ordered_json::array();
  for (const double ns : each.ns) rounds.push_back(rounded(ns));
  ordered_json ns = as_json(spread_of(each.ns));
  ns["rounds"] = rounds;
  return {{"sweep", of.of->sweeps[each.sweep].name},
          {"x", each.x},
          {"form", each.form},
          {"ns", ns},
          {"processor_ns", rounded(spread_of(each.processor_ns).median)},
          {"counts", counts}};
}

ordered_json experiment_json(const result& of) {
  ordered_json forms = ordered_json::array(), sweeps = ordered_json::array(), rows = ordered_json::array();
  for (const form& each : of.forms)
    forms.push_back({{"name", each.name}, {"role", name_of(each.is)}, {"settings", each.environment}});
  for (std::size_t at = 0; at < of.axes.size(); ++at) sweeps.push_back(sweep_json(of, at));
  for (const row& each : of.rows) rows.push_back(row_json(of, each));
  ordered_json made = {{"name", of.of->name},
                       {"source", of.of->source},
                       {"claim", of.of->claim},
                       {"claimed", of.of->claimed},
                       {"why", of.of->why},
                       {"unit", of.of->unit},
                       {"parameters", of.parameters},
                       {"rounds", of.rounds},
                       {"seconds", rounded(of.seconds)},
                       {"forms", forms},
                       {"sweeps", sweeps},
                       {"shown_counts", of.of->counts},
                       {"rows", rows},
                       {"skipped", of.skipped},
                       {"verdict", {{"holds", name_of(of.told.whether)}, {"words", of.told.words}}}};
  if (!of.failure.empty()) made["failure"] = of.failure;
  return made;
}

}  // namespace

const char* name_of(role each) { return each == role::original ? "original" : each == role::peer ? "peer" : "ours"; }

const char* name_of(holds each) {
  return each == holds::yes ? "yes" : each == holds::partly ? "partly" : each == holds::no ? "no" : "unknown";
}

ordered_json as_json(const std::vector<result>& all, bool is_quick,
                     const std::vector<std::pair<std::string, std::string>>& machine) {
  ordered_json facts = ordered_json::object(), experiments = ordered_json::array();
  for (const auto& [name, value] : machine) facts[name] = value;
  for (const result& each : all) experiments.push_back(experiment_json(each));
  return {{"format", json_version}, {"quick", is_quick}, {"machine", facts}, {"experiments", experiments}};
}

}  // namespace tarn::lab
