// Writes what `tarn diff` compared, as JSON and as an HTML report.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/cli/diff.hpp"
#include "profiler/report/html/file.hpp"
#include "profiler/report/html/names.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command::comparison {
namespace {

using nlohmann::json;

json json_of(const range& bounds) { return {bounds.low, bounds.high}; }

json json_of(const std::optional<analyse::use>& use) {
  if (!use) return nullptr;
  return {{"operation", use->operation},  {"function", use->function}, {"file", use->file},
          {"count", use->count},          {"error", use->error()},     {"time_ns", use->nanoseconds},
          {"waiting_ns", use->waiting_ns}};
}

json json_of(const analyse::use_difference& uses, std::size_t top) {
  json changes = json::array();
  for (std::size_t index = 0; index < std::min(top, uses.changes.size()); ++index) {
    changes.push_back({{"before", json_of(uses.changes[index].before)},
                       {"after", json_of(uses.changes[index].after)},
                       {"is_relevant", uses.changes[index].is_relevant}});
  }
  const auto sums = [](const analyse::use& side) {
    return json{
        {"count", side.count}, {"error", side.error()}, {"time_ns", side.nanoseconds}, {"waiting_ns", side.waiting_ns}};
  };
  return {{"before", sums(uses.before)}, {"after", sums(uses.after)}, {"changes", changes}};
}

json json_of(const std::optional<location_sums>& sums) {
  if (!sums) return nullptr;
  return {{"function", sums->function},
          {"file", sums->file},
          {"line", sums->line},
          {"category", analyse::name(sums->category)},
          {"allocations", sums->allocations},
          {"error", sums->error()},
          {"bytes", sums->bytes},
          {"copied_bytes", sums->copied},
          {"remote_frees", sums->remote_frees},
          {"peak_bytes", sums->peak_bytes},
          {"end_bytes", sums->end_bytes},
          {"now_ns", json_of(sums->now_ns)},
          {"remedy", sums->remedy}};
}

const char* name_of(analyse::count_outcome outcome) {
  switch (outcome) {
    case analyse::count_outcome::fewer_gone: return "fewer";
    case analyse::count_outcome::more_gone: return "more";
    case analyse::count_outcome::as_predicted: return "as predicted";
    case analyse::count_outcome::not_taken: break;
  }
  return "not taken";
}

json json_of(const change& change) {
  json predicted;
  if (const analyse::offer* const offer = change.judged_offer()) {
    predicted = {{"name", analyse::name(offer->predicted.remedy)},
                 {"is_taken", change.is_taken},
                 {"saved_ns", json_of(offer->predicted.saved_ns)},
                 {"saved_allocations", change.predicted_allocations()},
                 {"outcome", name_of(change.outcome())}};
  }
  return {{"before", json_of(change.before)},
          {"after", json_of(change.after)},
          {"model_saved_ns", json_of(change.model_saved_ns())},
          {"predicted", predicted}};
}

json json_of(const memory_difference& memory, std::size_t top) {
  json changes = json::array();
  for (std::size_t index = 0; index < std::min(top, memory.changes.size()); ++index)
    changes.push_back(
        {{"before", json_of(memory.changes[index].before)}, {"after", json_of(memory.changes[index].after)}});
  const auto sums = [](const analyse::memory_findings& side) {
    return json{{"peak_bytes", side.peak_bytes},
                {"end_bytes", side.end_bytes},
                {"peak_range", {side.peak_range.low, side.peak_range.high}},
                {"end_range", {side.end_range.low, side.end_range.high}}};
  };
  return {{"before", sums(memory.earlier)}, {"after", sums(memory.later)}, {"changes", changes}};
}

json json_of(const whole_comparison& comparison, const diff_request& request, std::size_t top) {
  const auto& [before, after, difference, memory, kinds] = comparison;
  json categories = json::object(), changes = json::array();
  for (std::size_t index = 0; index < analyse::category_count; ++index) {
    categories[analyse::name(static_cast<analyse::heap_category>(index))] = {{"before", difference.before[index]},
                                                                             {"after", difference.after[index]}};
  }
  for (std::size_t index = 0; index < std::min(top, difference.changes.size()); ++index) {
    changes.push_back(json_of(difference.changes[index]));
  }
  const json saved = is_cpu_comparable(before, after, request) ? json_of(saved_cpu(comparison, request).ns) : json();
  json result = {{"version", 3},
                 {"allocations", categories},
                 {"heap_ns", {{"before", json_of(difference.before_ns)}, {"after", json_of(difference.after_ns)}}},
                 {"saved_cpu_ns", saved},
                 {"predicted_ns", json_of(predicted_of(difference).ns)},
                 {"notes", notes_on(comparison, request)},
                 {"changes", changes},
                 {"memory", json_of(memory, top)}};
  for (const compared_uses& kind : kinds) result[kind.member] = kind.is_in_both() ? json_of(kind.uses, top) : json();
  return result;
}

// Replaces the names of functions and files by numbers, the same before and after; drops the texts of remedies, which
// contain code.
void redact(json& changes, html_names& names) {
  for (json& change : changes) {
    for (const char* const side : {"before", "after"}) {
      json& description = change[side];
      if (description.is_null()) continue;
      auto [function, file] = names.pseudonyms(description["function"], description["file"]);
      description["function"] = std::move(function);
      description["file"] = std::move(file);
      description.erase("remedy");
    }
  }
}

}  // namespace

void print_json(const whole_comparison& comparison, const diff_request& request) {
  fmt::print("{}\n", json_of(comparison, request, request.top).dump(1, ' ', false, json::error_handler_t::replace));
}

void write_difference(const whole_comparison& comparison, const diff_request& request) {
  json difference = json_of(comparison, request, std::numeric_limits<std::size_t>::max());
  difference["before"] = request.hides_names ? "program" : command_line_of(comparison.before.analysis.recording());
  difference["after"] = request.hides_names ? "program" : command_line_of(comparison.after.analysis.recording());
  html_names names(request.hides_names);
  if (request.hides_names) {
    redact(difference["changes"], names);
    redact(difference["memory"]["changes"], names);
    for (const char* const member : {"cpu", "waits", "locks", "syscalls"}) {
      if (!difference[member].is_null()) redact(difference[member]["changes"], names);
    }
  }
  names.compact(difference);
  html_file page(request.page);
  page.add(json{{"kind", "difference"}, {"redacted", request.hides_names}, {"difference", difference}}.dump(
      -1, ' ', false, json::error_handler_t::replace));
  page.end();
}

}  // namespace tarn::command::comparison
