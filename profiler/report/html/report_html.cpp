// Writes the HTML report: the JSON of docs/reference/report-json.md, compacted, with data that only the HTML report
// shows (docs/reference/page-data.md).
#include <initializer_list>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "profiler/base/progress.hpp"
#include "profiler/findings/time/thread_roles.hpp"
#include "profiler/report/html/file.hpp"
#include "profiler/report/html/names.hpp"
#include "profiler/report/html/stacks.hpp"
#include "profiler/report/html/timeline.hpp"
#include "profiler/report/report.hpp"

namespace tarn::command {
namespace {

using nlohmann::json;

constexpr std::size_t all_of_them = std::numeric_limits<std::size_t>::max();

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

void leave_out(json& object, std::initializer_list<const char*> members) {
  for (const char* member : members) object.erase(member);
}

// Redacts paths, arguments and names outside of stacks; html_names redacts those in stacks.
void redact_whole(json& document) {
  const std::string program =
      document["program"]["arguments"].empty() ? "" : document["program"]["arguments"][0].get<std::string>();
  document["program"]["arguments"] = {program.empty() ? "" : "program"};
  leave_out(document["program"], {"process", "parent", "machine"});
  leave_out(document["cost_model"], {"machine"});
  leave_out(document["recorder"], {"replaced", "unrecorded_heaps"});
  if (json& own_malloc = document["recorder"]["own_malloc"]; own_malloc.is_object()) leave_out(own_malloc, {"module"});
  for (json& entry : document["threads"]) leave_out(entry, {"name"});
  if (json& time = document["time"]; time.is_object()) {
    for (json& entry : time["names"]) leave_out(entry, {"name"});
  }
  for (json& entry : document["locks"]) leave_out(entry, {"address"});
  for (json& group : document["lasting_waits"]["groups"]) leave_out(group, {"address", "names", "holder_name"});
  for (json& circle : document["lock_orders"]["inversions"]) {
    for (json& step : circle["steps"]) leave_out(step["lock"], {"address"});
  }
  for (json& chain : document["lock_orders"]["chains"]) {
    for (json& link : chain["links"]) leave_out(link["lock"], {"address"});
  }
}

void redact_site(json& site) {
  leave_out(site, {"source_line", "type", "remedy"});
  for (json& remedy : site["predicted"]["remedies"]) leave_out(remedy, {"code", "advice"});
}

}  // namespace

void write_html(analyse::analysis& analysis, const report_request& request) {
  html_names names(request.hides_names);
  html_file page(request.page);
  json document = json_without_sites(analysis, all_of_them);
  const std::vector<std::string> roles =
      request.hides_names ? std::vector<std::string>{} : thread_roles(analysis.recording(), analysis.names());
  for (std::size_t index = 0; index < roles.size(); ++index) document["threads"][index]["role"] = roles[index];
  if (request.hides_names) redact_whole(document);
  const analyse::lock_findings& locks = analysis.locks();
  const analyse::call_findings& calls = analysis.calls();
  document["memory"].erase("sites");                                    // each site of the page has these figures
  if (document["cpu"].is_object()) document["cpu"].erase("functions");  // their names would not be redacted
  if (document["time"].is_object()) document["time"].erase("sites");
  std::map<std::uint32_t, const analyse::memory_site*> trends;
  for (const analyse::memory_site& site : analysis.memory().sites) trends[site.origin->number] = &site;
  document["kind"] = "report";
  document["redacted"] = request.hides_names;
  document["totals"] = {{"acquisitions", locks.acquisitions},
                        {"acquisitions_error", locks.error},
                        {"waited_count", locks.contended},
                        {"waited_ns", locks.wait_nanoseconds},
                        {"calls", calls.calls},
                        {"calls_ns", calls.nanoseconds}};
  html_stacks stacks(analysis, names);
  stacks.add_to_calls(document["syscalls"]);
  stacks.add_to_locks(document["locks"]);
  stacks.add_to_cpu(document["cpu"]);
  document["crossings"] = stacks.crossings();
  names.compact(document);
  std::string text = text_of(document);
  text.back() = ',';
  page.add(text + "\"sites\":[");
  bool is_first = true;
  const bool is_sampled = analysis.recording().program.interval != 0;
  progress progress_line("writing the HTML report");
  std::size_t written_sites = 0;
  for (const analyse::site& facts : analysis.sites()) {
    progress_line.update(written_sites++, analysis.sites().size());
    if (!request.wants(facts)) continue;
    analyse::site_view view = analysis.view(facts);
    // The stack goes into the table directly: as JSON it would be most of the work for a large recording.
    const std::uint32_t node = names.node(std::exchange(view.stack, {}));
    json site = json_of_site(analysis, view);
    site["stack"] = node;
    stacks.add_to_site(site, facts);
    if (const auto trend = trends.find(facts.number); trend != trends.end() && !request.separates_stacks) {
      site["trend"] = analyse::name(trend->second->course);
      site["bytes_per_second"] = trend->second->bytes_per_second;
    }
    if (const auto site_memory = trends.find(facts.number); site_memory != trends.end() && is_sampled) {
      const auto ends = [](const analyse::figure_range& range) { return json{range.low, range.high}; };
      site["peak_range"] = ends(site_memory->second->peak_range);
      site["end_range"] = ends(site_memory->second->live_range);
    }
    if (request.hides_names) redact_site(site);
    names.compact(site);
    page.add((is_first ? "" : ",") + text_of(site));
    is_first = false;
  }
  page.add("]");
  if (const json timeline = html_timeline(analysis, stacks); !timeline.is_null())
    page.add(",\"timeline\":" + text_of(timeline));
  text = text_of(names.tables());
  text.front() = ',';
  page.add(text);
  page.end();
}

}  // namespace tarn::command
