#include "profiler/lab/json.hpp"

#include <nlohmann/json.hpp>

namespace tarn::lab {
namespace {

using nlohmann::ordered_json;

// Five digits are all that a clock provides, and keep the file small.
double round_digits(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", number);
  return std::strtod(text, nullptr);
}

ordered_json as_json(const spread& spread) {
  return {
      {"median", round_digits(spread.median)}, {"low", round_digits(spread.low)}, {"high", round_digits(spread.high)}};
}

ordered_json curves(const std::vector<original_curve>& sources) {
  ordered_json list = ordered_json::array();
  for (const original_curve& curve : sources) {
    ordered_json points = ordered_json::array();
    for (const auto& [x, y] : curve.points) points.push_back({round_digits(x), round_digits(y)});
    list.push_back({{"name", curve.name}, {"unit", curve.unit}, {"points", points}});
  }
  return list;
}

ordered_json sweep_json(const result& result, std::size_t sweep_index) {
  const sweep& sweep = result.definition->sweeps[sweep_index];
  ordered_json ratios = ordered_json::array();
  for (const ratio& ratio : sweep.ratios) {
    ordered_json points = ordered_json::array();
    for (const std::uint64_t x : result.axes[sweep_index]) {
      if (const auto y = result.ratio(sweep_index, ratio.dividend, ratio.divisor, x))
        points.push_back({x, round_digits(*y)});
    }
    if (!points.empty()) ratios.push_back({{"name", ratio.name}, {"unit", "times"}, {"points", points}});
  }
  ordered_json exponents = ordered_json::object();
  for (const form& form : result.forms) {
    const auto exponent = sweep.x_names.empty() ? result.exponent(sweep_index, form.name) : std::nullopt;
    if (exponent) exponents[form.name] = round_digits(*exponent);
  }
  return {{"name", sweep.name},
          {"title", sweep.title},
          {"x", sweep.x_label},
          {"y", sweep.y_label},
          {"values", result.axes[sweep_index]},
          {"originals", curves(sweep.originals)},
          {"ratios", ratios},
          {"original_ratios", curves(sweep.original_ratios)},
          {"exponents", exponents},
          {"names", sweep.x_names}};
}

ordered_json row_json(const result& result, const row& row) {
  ordered_json counts = ordered_json::object();
  for (const auto& [name, values] : row.counts) counts[name] = round_digits(spread_of(values).median);
  ordered_json rounds = ordered_json::array();
  for (const double ns : row.ns) rounds.push_back(round_digits(ns));
  ordered_json ns = as_json(spread_of(row.ns));
  ns["rounds"] = rounds;
  return {{"sweep", result.definition->sweeps[row.sweep].name},
          {"x", row.x},
          {"form", row.form},
          {"ns", ns},
          {"processor_ns", round_digits(spread_of(row.processor_ns).median)},
          {"counts", counts}};
}

ordered_json experiment_json(const result& result) {
  ordered_json forms = ordered_json::array(), sweeps = ordered_json::array(), rows = ordered_json::array();
  for (const form& form : result.forms)
    forms.push_back({{"name", form.name}, {"role", name_of(form.origin)}, {"settings", form.environment}});
  for (std::size_t sweep_index = 0; sweep_index < result.axes.size(); ++sweep_index)
    sweeps.push_back(sweep_json(result, sweep_index));
  for (const row& row : result.rows) rows.push_back(row_json(result, row));
  ordered_json document = {
      {"name", result.definition->name},
      {"source", result.definition->source},
      {"claim", result.definition->claim},
      {"claimed", result.definition->claimed},
      {"why", result.definition->why},
      {"unit", result.definition->unit},
      {"parameters", result.parameters},
      {"rounds", result.rounds},
      {"seconds", round_digits(result.seconds)},
      {"forms", forms},
      {"sweeps", sweeps},
      {"shown_counts", result.definition->counts},
      {"rows", rows},
      {"skipped", result.skipped},
      {"verdict", {{"holds", name_of(result.judgement.outcome)}, {"text", result.judgement.text}}}};
  if (!result.failure.empty()) document["failure"] = result.failure;
  return document;
}

}  // namespace

const char* name_of(role value) { return value == role::original ? "original" : value == role::peer ? "peer" : "ours"; }

const char* name_of(claim_outcome value) {
  return value == claim_outcome::yes      ? "yes"
         : value == claim_outcome::partly ? "partly"
         : value == claim_outcome::no     ? "no"
                                          : "unknown";
}

ordered_json as_json(const std::vector<result>& list, bool is_quick,
                     const std::vector<std::pair<std::string, std::string>>& machine) {
  ordered_json facts = ordered_json::object(), experiments = ordered_json::array();
  for (const auto& [name, value] : machine) facts[name] = value;
  for (const result& result : list) experiments.push_back(experiment_json(result));
  return {{"format", json_version}, {"quick", is_quick}, {"machine", facts}, {"experiments", experiments}};
}

}  // namespace tarn::lab
