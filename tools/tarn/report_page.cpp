// Writes the HTML report: the JSON of docs/reference/report-json.md, compacted, with data that only the HTML report
// shows (docs/reference/page-data.md).
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "analyse/locks.hpp"
#include "analyse/syscalls.hpp"
#include "tarn/page.hpp"
#include "tarn/page_names.hpp"
#include "tarn/page_stacks.hpp"
#include "tarn/page_timeline.hpp"
#include "tarn/progress.hpp"
#include "tarn/report.hpp"
#include "tarn/thread_roles.hpp"

namespace tarn::command {
namespace {

using nlohmann::json;

constexpr std::size_t all_of_them = std::numeric_limits<std::size_t>::max();

std::string text_of(const json& of) { return of.dump(-1, ' ', false, json::error_handler_t::replace); }

void leave_out(json& of, std::initializer_list<const char*> members) {
  for (const char* each : members) of.erase(each);
}

// Redacts paths, arguments and names outside of stacks; page_names redacts those in stacks.
void redact_whole(json& all) {
  const std::string program = all["program"]["words"].empty() ? "" : all["program"]["words"][0].get<std::string>();
  all["program"]["words"] = {program.empty() ? "" : "program"};
  leave_out(all["program"], {"process", "parent", "machine"});
  leave_out(all["prices"], {"machine"});
  if (json& own = all["recorder"]["own_heap"]; own.is_object()) leave_out(own, {"module"});
  for (json& each : all["threads"]) leave_out(each, {"name"});
  for (json& each : all["locks"]) leave_out(each, {"address"});
  for (json& circle : all["lock_orders"]["inversions"]) {
    for (json& step : circle["steps"]) leave_out(step["lock"], {"address"});
  }
  for (json& chain : all["lock_orders"]["chains"]) {
    for (json& link : chain["links"]) leave_out(link["lock"], {"address"});
  }
}

void redact_site(json& site) {
  leave_out(site, {"source", "type", "remedy"});
  for (json& each : site["predicted"]["remedies"]) leave_out(each, {"code", "words"});
}

}  // namespace

void write_page(analyse::analysis& of, std::string_view bytes, const analyse::costs& prices,
                const report_request& request) {
  const format::recording& in = of.recorded();
  page_names names(request.redact);
  page_file page(request.page);
  json all = json_without_sites(of, prices, all_of_them);
  const std::vector<std::string> roles = request.redact ? std::vector<std::string>{} : thread_roles(in);
  for (std::size_t at = 0; at < roles.size(); ++at) all["threads"][at]["role"] = roles[at];
  if (request.redact) redact_whole(all);
  const analyse::lock_findings locks = analyse::find_locks(in);
  const analyse::call_findings calls = analyse::find_calls(in);
  all["kind"] = "report";
  all["redacted"] = request.redact;
  all["totals"] = {{"acquisitions", locks.acquisitions},
                   {"contended", locks.contended},
                   {"waited_ns", locks.wait_nanoseconds},
                   {"calls", calls.calls},
                   {"calls_ns", calls.nanoseconds}};
  page_stacks stacks(of, names);
  stacks.add_to_calls(all["syscalls"], calls);
  stacks.add_to_locks(all["locks"], locks);
  all["crossings"] = stacks.crossings();
  names.compact(all);
  std::string text = text_of(all);
  text.back() = ',';
  page.add(text + "\"sites\":[");
  bool is_first = true;
  progress shown("sites of the page");
  std::size_t done = 0;
  for (const analyse::site& each : request.sites(of)) {
    shown.at(done++, request.sites(of).size());
    if (!request.wants(each)) continue;
    analyse::site_view view = of.view(each);
    // The stack goes into the table directly: as JSON it would be most of the work for a large recording.
    const std::uint32_t node = names.node(std::exchange(view.stack, {}));
    json site = json_of_site(of, view);
    site["stack"] = node;
    stacks.add_to_site(site, each);
    if (request.redact) redact_site(site);
    names.compact(site);
    page.add((is_first ? "" : ",") + text_of(site));
    is_first = false;
  }
  page.add("]");
  if (const json course = page_timeline(page_history(in, bytes), in, stacks, locks, calls); !course.is_null())
    page.add(",\"timeline\":" + text_of(course));
  text = text_of(names.tables());
  text.front() = ',';
  page.add(text);
  page.end();
}

}  // namespace tarn::command
