// Prints a report for programs; docs/reference/report-json.md has the schema.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/advise/verdict.hpp"
#include "profiler/base/json_output.hpp"
#include "profiler/findings/heap/own_malloc.hpp"
#include "profiler/findings/heap/replaced.hpp"
#include "profiler/findings/limits.hpp"
#include "profiler/predict/recording_cost.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"

namespace tarn::command {
namespace {

using analyse::code_location;
using analyse::range;
using format::counter;
using nlohmann::json;

json json_of(const range& range) { return {range.low, range.high}; }

json prediction_json(const analyse::analysis& analysis, const analyse::site_view& view) {
  json remedies = json::array();
  for (const analyse::offer& offer : view.offers) {
    remedies.push_back({{"name", analyse::name(offer.predicted.remedy)},
                        {"remaining_ns", json_of(offer.predicted.ns)},
                        {"saved_ns", json_of(offer.predicted.saved_ns)},
                        {"at_least", offer.predicted.saves_more},
                        {"saved_share", json_of(analysis.share(offer.predicted.saved_ns))},
                        {"calls_saved", offer.predicted.calls_saved},
                        {"advice", offer.suggestion.text},
                        {"code", offer.suggestion.code},
                        {"note", offer.suggestion.note}});
  }
  return {{"now_ns", json_of(view.predicted.now_ns)},
          {"share", json_of(analysis.share(view.predicted.now_ns))},
          {"reasons", view.predicted.reasons},
          {"remedies", remedies}};
}

}  // namespace

json json_of_site(const analyse::analysis& analysis, const analyse::site_view& view) {
  const analyse::site& site = view.facts;
  const auto histogram = [&](std::size_t first, std::size_t count) {
    const auto start = site.sums.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector<std::uint64_t>(start, start + static_cast<std::ptrdiff_t>(count));
  };
  json stack = json::array(), pairs = json::array();
  for (const code_location& location : view.stack) stack.push_back(json_of_location(location));
  json callers = json::array();
  for (const analyse::caller& caller : view.callers) {
    callers.push_back(json_of_location(caller.location));
    callers.back()["allocations"] = caller.blocks;
  }
  for (const analyse::handover& pair : site.handovers) {
    pairs.push_back({{"allocating_thread", pair.allocating_thread},
                     {"freeing_thread", pair.freeing_thread},
                     {"blocks", pair.blocks}});
  }
  return {{"category", analyse::name(site.category)},
          {"allocations", site.sums[counter::blocks]},
          {"error", site.error},
          {"bytes", site.sums[counter::bytes]},
          {"threads", site.threads},
          {"may_have_more_threads", site.may_have_more_threads},
          {"freed_by_same_thread", site.freed_by_same_thread},
          {"remote_frees", site.remote_frees},
          {"end_blocks", site.live},
          {"end_bytes", site.live_bytes},
          {"peak_bytes", site.peak_bytes},
          {"peak_blocks", site.peak_blocks},
          {"short_lived", site.short_lived},
          {"accumulated", analyse::is_accumulated(site)},
          {"reallocs", site.sums[counter::reallocs]},
          {"moved_reallocs", site.sums[counter::moved]},
          {"copied_bytes", site.sums[counter::copied]},
          {"from_start_up", site.sums[counter::early_blocks]},
          {"size_histogram", histogram(counter::size_buckets, counter::size_bucket_count)},
          {"lifetime_histogram", histogram(counter::life_buckets, counter::life_bucket_count)},
          {"time_histogram", histogram(counter::time_buckets, counter::time_bucket_count)},
          {"thread_pairs", pairs},
          {"stack", stack},
          {"frame_index", view.frame_index},
          {"stacks", site.merged_sites.size() + 1},
          {"callers", callers},
          {"type", view.allocation.type},
          {"source_line", view.allocation.source},
          {"remedy", view.remedy},
          {"unjudged_remedy", view.unjudged_remedy},
          {"has_remedy", view.is_worth_it && !view.remedy.empty()},
          {"predicted", prediction_json(analysis, view)}};
}

namespace {

json json_of_overhead(const format::recording& recording, const analyse::program_costs& whole) {
  const analyse::recording_cost cost = analyse::cost_of(recording);
  json kinds = json::object();
  for (std::size_t kind = 0; kind < analyse::work_kind_count; ++kind)
    kinds[analyse::name(static_cast<analyse::work_kind>(kind))] = cost.ns[kind];
  return {{"is_known", cost.is_known},
          {"cpu_ns", json_of(whole.recorder_ns)},
          {"kinds_ns", kinds},
          {"dispatched_calls", recording.work.amounts[format::dispatch_margin]},
          {"collector_ns", cost.collector_ns},
          {"text", analyse::cost_text_of(recording) + "; " + analyse::collector_text_of(recording)},
          {"doubt", analyse::doubt_text_of(recording)},
          {"program_cpu_ns", json_of(whole.cpu_ns)}};
}

json json_of_unrecorded(const format::unrecorded_facts& facts) {
  return {{"became", facts.became},
          {"why", facts.why},
          {"programs", facts.programs},
          {"forks", facts.forks},
          {"restricted", facts.is_restricted}};
}

json json_of_first_remedies(const analyse::analysis& analysis, const analyse::first_remedies& sum) {
  return {{"sites", sum.count},
          {"saved_ns", json_of(sum.saved_ns)},
          {"saved_share", json_of(analysis.share(sum.saved_ns))},
          {"at_least", sum.is_at_least}};
}

json json_of_verdicts(analyse::analysis& analysis) {
  json verdicts = json::array();
  for (const analyse::verdict& verdict : analyse::verdicts_of(analysis)) {
    verdicts.push_back({{"source", analyse::name(verdict.source)},
                        {"verdict", analyse::name(verdict.judged)},
                        {"remedies", verdict.remedies},
                        {"saved_ns", json_of(verdict.saved_ns)},
                        {"at_least", verdict.is_at_least},
                        {"waited_ns", verdict.waited_ns},
                        {"held_ns", verdict.held_ns},
                        {"idle_wakeups", verdict.idle_wakeups},
                        {"text", verdict_text(analysis, verdict, false)}});
  }
  return verdicts;
}

json json_of_own_malloc(const format::recording& recording) {
  const format::module_facts* const module = own_malloc_in(recording);
  if (module == nullptr) return {};
  json functions = json::array();
  if ((module->own_functions & format::own_malloc) != 0) functions.push_back("malloc");
  if ((module->own_functions & format::own_new) != 0) functions.push_back("operator new");
  return {{"module", module->path}, {"functions", functions}};
}

json json_of_limits(const format::recording& recording) {
  json limits = json::array();
  for (const reached_limit& reached : reached_limits(recording))
    limits.push_back(
        {{"limit", reached.limit}, {"events", reached.events}, {"missing", reached.missing}, {"help", reached.help}});
  return limits;
}

}  // namespace

json json_without_sites(analyse::analysis& analysis, std::size_t top) {
  const format::recording& recording = analysis.recording();
  const analyse::heap_findings& heap = analysis.heap();
  const analyse::program_costs& whole = analysis.whole();
  const analyse::cost_facts& measured = analysis.costs().facts;
  json threads = json::array();
  for (const format::thread_facts& thread : recording.threads) {
    threads.push_back({{"image", thread.image}, {"id", thread.id}, {"name", thread.name}});
    if (thread.predecessors != 0) threads.back()["predecessors"] = thread.predecessors;
  }
  json document = {
      {"version", 3},
      {"program",
       {{"arguments", recording.program.arguments},
        {"process", recording.program.process},
        {"parent", recording.program.parent},
        {"machine", recording.program.machine},
        {"images", recording.images}}},
      {"end", recording.has_ended
                  ? json{{"by_signal", recording.end.status_is_signal},
                         {"running", recording.end.is_running},
                         {"status", recording.end.has_unknown_way ? json() : json(recording.end.status)},
                         {"wall_us", recording.end.wall_us},
                         {"user_us", recording.end.user_us},
                         {"system_us", recording.end.system_us}}
                  : json()},
      {"part", recording.part == format::interval{}
                   ? json()
                   : json{{"from_ns", recording.part.from_ns}, {"to_ns", recording.part.to_ns}}},
      {"damage", recording.damage},
      {"verdicts", json_of_verdicts(analysis)},
      {"recorder",
       {{"mode", recording.program.mode},
        {"sources", recording.program.sources},
        {"own_malloc", json_of_own_malloc(recording)},
        {"unrecorded", json_of_unrecorded(recording.unrecorded)},
        {"unrecorded_heaps", unrecorded_heaps_text(recording)},
        {"replaced", replaced_text(recording)},
        {"limits", json_of_limits(recording)},
        {"dropped", heap.dropped},
        {"overhead", json_of_overhead(recording, whole)}}},
      {"heap",
       {{"allocations", heap.allocations},
        {"frees", heap.frees},
        {"bytes", heap.bytes},
        {"end_blocks", heap.live},
        {"exec_blocks", heap.ended_blocks},
        {"unknown_frees", heap.unknown},
        {"predicted",
         {{"now_ns", json_of(whole.heap_ns)},
          {"share", json_of(analysis.share(whole.heap_ns))},
          {"drop_in_saves_ns", json_of(whole.drop_in_saves_ns)},
          {"first_remedies", json_of_first_remedies(analysis, analysis.all_first_remedies())}}}}},
      {"tick_ns", static_cast<double>(recording.clock.nanoseconds) /
                      static_cast<double>(std::max<std::uint64_t>(recording.clock.ticks, 1))},
      {"cost_model", {{"machine", measured.machine}, {"library", measured.library}, {"date", measured.date}}},
      {"threads", threads}};
  for (const section* const part : sections) document[part->member] = part->json_of(analysis, top);
  return document;
}

namespace {

// Prints the sites one by one, because all sites of a large recording are gigabytes of JSON. Stacks are most of it
// and consist of few distinct frames, so the text of each frame is kept.
class site_printer {
 public:
  site_printer(analyse::analysis& analysis, json_output& output) : analysis_(analysis), output_(output) {}

  // Prints a site, indented by `depth` spaces.
  void print(const analyse::site& facts, std::size_t depth) {
    analyse::site_view view = analysis_.view(facts);
    const std::vector<code_location> stack = std::exchange(view.stack, {});
    output_.object(json_of_site(analysis_, view), depth, "stack", [&] {
      for (std::size_t index = 0; index < stack.size(); ++index) {
        output_.begin_element(index, depth + 2);
        output_.put(text_of(stack[index], depth + 2));
      }
      output_.end_array(stack.size(), depth + 1);
    });
  }

 private:
  const std::string& text_of(const code_location& location, std::size_t depth) {
    std::string& text = texts_[fmt::format("{} {}\n{}\n{}\n{}", location.offset, location.line, location.function,
                                           location.file, location.module)];
    if (text.empty()) text = json_text(json_of_location(location), depth);
    return text;
  }

  analyse::analysis& analysis_;
  json_output& output_;
  std::unordered_map<std::string, std::string> texts_;
};

}  // namespace

void print_json(analyse::analysis& analysis, const report_request& request) {
  json document = json_without_sites(analysis, request.top);
  document["sites"] = nullptr;
  document["timeline"] = json_of_timeline(analysis);
  json_output output;
  site_printer sites(analysis, output);
  output.object(document, 0, "sites", [&] {
    std::size_t count = 0;
    for (const analyse::site& site : analysis.sites()) {
      if (count == request.top) break;
      if (!request.wants(site)) continue;
      output.begin_element(count++, 2);
      sites.print(site, 2);
    }
    output.end_array(count, 1);
  });
  output.put("\n");
  output.end();
}

}  // namespace tarn::command
