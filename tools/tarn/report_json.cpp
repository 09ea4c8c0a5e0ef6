// Prints a report for programs; docs/reference/report-json.md has the schema.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tarn/json_output.hpp"
#include "tarn/own_heap.hpp"
#include "tarn/report.hpp"
#include "tarn/report_calls.hpp"
#include "tarn/report_locks.hpp"
#include "tarn/report_orders.hpp"
#include "tarn/report_quiet.hpp"
#include "tarn/report_timeline.hpp"

namespace tarn::command {
namespace {

using analyse::place;
using analyse::range;
using format::counter;
using nlohmann::json;

json json_of(const range& of) { return {of.low, of.high}; }

json json_of(const place& at) {
  return {
      {"function", at.function}, {"file", at.file}, {"line", at.line}, {"module", at.module}, {"offset", at.offset}};
}

json predicted(const analyse::analysis& all, const analyse::site_view& view) {
  json remedies = json::array();
  for (const analyse::offer& each : view.offers) {
    remedies.push_back({{"name", analyse::name(each.predicted.by)},
                        {"ns", json_of(each.predicted.ns)},
                        {"saved_ns", json_of(each.predicted.saved_ns)},
                        {"at_least", each.predicted.at_least},
                        {"saved_ms_per_second", json_of(all.ms_per_second(each.predicted.saved_ns))},
                        {"saved_share", json_of(all.share(each.predicted.saved_ns))},
                        {"calls_saved", each.predicted.calls_saved},
                        {"words", each.how.words},
                        {"code", each.how.code},
                        {"risk", each.how.risk}});
  }
  return {{"now_ns", json_of(view.predicted.now_ns)},
          {"share", json_of(all.share(view.predicted.now_ns))},
          {"ms_per_second", json_of(all.ms_per_second(view.predicted.now_ns))},
          {"reasons", view.predicted.reasons},
          {"remedies", remedies}};
}

}  // namespace

json json_of_site(const analyse::analysis& all, const analyse::site_view& view) {
  const analyse::site& of = view.facts;
  const auto histogram = [&](std::size_t first, std::size_t count) {
    const auto start = of.sums.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector<std::uint64_t>(start, start + static_cast<std::ptrdiff_t>(count));
  };
  json stack = json::array(), pairs = json::array();
  for (const place& at : view.stack) stack.push_back(json_of(at));
  json callers = json::array();
  for (const analyse::caller& each : view.callers) {
    callers.push_back(json_of(each.at));
    callers.back()["allocations"] = each.blocks;
  }
  for (const analyse::pair& each : of.pairs) {
    pairs.push_back({{"allocates", each.allocates}, {"frees", each.frees}, {"blocks", each.blocks}});
  }
  return {{"category", analyse::name(of.is)},
          {"allocations", of.sums[counter::blocks]},
          {"error", of.error},
          {"bytes", of.sums[counter::bytes]},
          {"threads", of.threads},
          {"freed_by_same_thread", of.freed_by_same_thread},
          {"freed_by_other_thread", of.freed_by_other_thread},
          {"live_at_end", of.live},
          {"short_lived", of.short_lived},
          {"reallocs", of.sums[counter::reallocs]},
          {"moved", of.sums[counter::moved]},
          {"copied_bytes", of.sums[counter::copied]},
          {"from_start_up", of.sums[counter::early]},
          {"sizes", histogram(counter::size_buckets, counter::size_bucket_count)},
          {"lifetimes", histogram(counter::life_buckets, counter::life_bucket_count)},
          {"times", histogram(counter::time_buckets, counter::time_bucket_count)},
          {"pairs", pairs},
          {"stack", stack},
          {"place", view.place_at},
          {"stacks", of.others.size() + 1},
          {"callers", callers},
          {"type", view.made.type},
          {"source", view.made.source},
          {"remedy", view.remedy},
          {"worth_it", view.is_worth_it && !view.remedy.empty()},
          {"predicted", predicted(all, view)}};
}

namespace {

json json_of_unrecorded(const format::unrecorded_facts& of) {
  return {{"became", of.became}, {"why", of.why}, {"programs", of.programs}, {"forks", of.forks}};
}

json json_of_own_heap(const format::recording& in) {
  const format::module_facts* const own = own_heap_in(in);
  if (own == nullptr) return {};
  json functions = json::array();
  if ((own->own_heap & format::own_malloc) != 0) functions.push_back("malloc");
  if ((own->own_heap & format::own_new) != 0) functions.push_back("operator new");
  return {{"module", own->path}, {"functions", functions}};
}

}  // namespace

json json_without_sites(const analyse::analysis& of, const analyse::costs& prices, std::size_t top) {
  const format::recording& in = of.recorded();
  const analyse::heap_findings& heap = of.heap();
  const analyse::program_costs& whole = of.whole();
  json threads = json::array();
  for (const format::thread_facts& each : in.threads) {
    threads.push_back({{"image", each.image}, {"id", each.id}, {"name", each.name}});
  }
  return {
      {"version", 1},
      {"program",
       {{"words", in.program.words},
        {"process", in.program.process},
        {"parent", in.program.parent},
        {"machine", in.program.machine},
        {"images", in.images}}},
      {"end", in.ended ? json{{"by_signal", in.end.by_signal},
                              {"status", in.end.status},
                              {"wall_us", in.end.wall_us},
                              {"user_us", in.end.user_us},
                              {"system_us", in.end.system_us}}
                       : json()},
      {"part", in.part == format::interval{} ? json() : json{{"from_ns", in.part.from_ns}, {"to_ns", in.part.to_ns}}},
      {"damage", in.damage},
      {"recorder",
       {{"mode", in.program.mode},
        {"sources", in.program.sources},
        {"own_heap", json_of_own_heap(in)},
        {"unrecorded", json_of_unrecorded(in.unrecorded)},
        {"forgotten", heap.forgotten},
        {"overhead", {{"cpu_ns", json_of(whole.recorder_ns)}, {"program_cpu_ns", json_of(whole.cpu_ns)}}}}},
      {"heap",
       {{"allocations", heap.allocations},
        {"frees", heap.frees},
        {"bytes", heap.bytes},
        {"live_at_end", heap.live},
        {"unknown_frees", heap.unknown},
        {"predicted",
         {{"now_ns", json_of(whole.heap_ns)},
          {"share", json_of(of.share(whole.heap_ns))},
          {"ms_per_second", json_of(of.ms_per_second(whole.heap_ns))},
          {"drop_in_saves_ns", json_of(whole.drop_in_saves_ns)}}}}},
      {"prices", {{"machine", prices.facts.machine}, {"library", prices.facts.library}, {"date", prices.facts.date}}},
      {"threads", threads},
      {"locks", json_of_locks(in, top)},
      {"lock_orders", json_of_orders(in, top)},
      {"syscalls", json_of_calls(of, top)},
      {"quiet_regions", json_of_quiet_regions(in, top)}};
}

namespace {

// Prints the sites one by one, because all sites of a large recording are gigabytes of JSON. Stacks are most of it
// and consist of few distinct frames, so the text of each frame is kept.
class site_printer {
 public:
  site_printer(analyse::analysis& of, json_output& to) : of_(of), to_(to) {}

  // Prints a site, indented by `depth` spaces.
  void print(const analyse::site& each, std::size_t depth) {
    analyse::site_view view = of_.view(each);
    const std::vector<place> stack = std::exchange(view.stack, {});
    to_.object(json_of_site(of_, view), depth, "stack", [&] {
      for (std::size_t at = 0; at < stack.size(); ++at) {
        to_.begin_element(at, depth + 2);
        to_.put(text_of(stack[at], depth + 2));
      }
      to_.end_array(stack.size(), depth + 1);
    });
  }

 private:
  const std::string& text_of(const place& at, std::size_t depth) {
    std::string& known = texts_[fmt::format("{} {}\n{}\n{}\n{}", at.offset, at.line, at.function, at.file, at.module)];
    if (known.empty()) known = json_text(json_of(at), depth);
    return known;
  }

  analyse::analysis& of_;
  json_output& to_;
  std::unordered_map<std::string, std::string> texts_;
};

}  // namespace

void print_json(analyse::analysis& of, std::string_view bytes, const analyse::costs& prices,
                const report_request& request) {
  json all = json_without_sites(of, prices, request.top);
  all["sites"] = nullptr;
  all["timeline"] =
      bytes.empty() ? json() : json_of_timeline(of, analyse::history_of(of.recorded(), bytes, most_intervals));
  json_output to;
  site_printer sites(of, to);
  to.object(all, 0, "sites", [&] {
    std::size_t count = 0;
    for (const analyse::site& each : request.sites(of)) {
      if (count == request.top) break;
      if (!request.wants(each)) continue;
      to.begin_element(count++, 2);
      sites.print(each, 2);
    }
    to.end_array(count, 1);
  });
  to.put("\n");
  to.flush();
}

}  // namespace tarn::command
