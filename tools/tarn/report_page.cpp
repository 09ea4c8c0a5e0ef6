// A report as a page: the JSON of docs/report.md, compacted, with what only the page shows (docs/report-page.md).
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyse/locks.hpp"
#include "analyse/syscalls.hpp"
#include "tarn/page.hpp"
#include "tarn/page_names.hpp"
#include "tarn/report.hpp"
#include "tarn/thread_roles.hpp"
#include "tarn/views.hpp"

namespace tarn::command {
namespace {

using format::counter;
using nlohmann::json;

constexpr std::size_t all_of_them = std::numeric_limits<std::size_t>::max();

std::string text_of(const json& of) { return of.dump(-1, ' ', false, json::error_handler_t::replace); }

struct by_thread {
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> blocks;  // by site and thread
  json crossings = json::array();                                          // triples of owner, actor and frees
};

by_thread count_threads(const format::recording& in) {
  by_thread made;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> frees;
  for (const auto& [key, value] : in.cells) {
    if (value[counter::blocks] != 0) made.blocks[key.site][key.owner] += value[counter::blocks];
    if (value[counter::frees] != 0) frees[{key.owner, key.actor}] += value[counter::frees];
  }
  for (const auto& [pair, count] : frees) made.crossings.push_back(json{pair.first, pair.second, count});
  return made;
}

void leave_out(json& of, std::initializer_list<const char*> members) {
  for (const char* each : members) of.erase(each);
}

// Paths, arguments and names outside of stacks; those in stacks are page_names'.
void redact_whole(json& all) {
  const std::string program = all["program"]["words"].empty() ? "" : all["program"]["words"][0].get<std::string>();
  all["program"]["words"] = {program.empty() ? "" : "program"};
  leave_out(all["program"], {"process", "parent", "machine"});
  leave_out(all["prices"], {"machine"});
  for (json& each : all["threads"]) leave_out(each, {"name"});
  for (json& each : all["locks"]) leave_out(each, {"address"});
}

using by_number = std::unordered_map<std::uint32_t, const analyse::site*>;  // of the recording's stacks

// What a site is more of in a page than in the JSON: all its stacks, for the flame graph, and its threads.
void add_stacks(json& site, analyse::analysis& of, const analyse::site& facts, page_names& names,
                const by_thread& threads, const by_number& stacks) {
  std::map<std::uint32_t, std::uint64_t> blocks;
  json weights = json::array(), pairs = json::array();
  const auto add = [&](const analyse::site& each) {
    weights.push_back(json{names.node(of.stack(each)), each.sums[counter::blocks], each.sums[counter::bytes]});
    if (const auto found = threads.blocks.find(each.number); found != threads.blocks.end()) {
      for (const auto& [thread, count] : found->second) blocks[thread] += count;
    }
  };
  add(*stacks.at(facts.number));
  for (const std::uint32_t other : facts.others) add(*stacks.at(other));
  for (const auto& [thread, count] : blocks) pairs.push_back(json{thread, count});
  site["weights"] = std::move(weights);
  site["by_thread"] = std::move(pairs);
  leave_out(site, {"callers"});
}

void redact_site(json& site) {
  leave_out(site, {"source", "type", "remedy"});
  for (json& each : site["predicted"]["remedies"]) leave_out(each, {"code", "words"});
}

}  // namespace

void write_page(analyse::analysis& of, const analyse::costs& prices, const report_request& request) {
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
  by_thread threads = count_threads(in);
  all["crossings"] = std::move(threads.crossings);
  names.compact(all);
  std::string text = text_of(all);
  text.back() = ',';
  page.add(text + "\"sites\":[");
  by_number stacks;
  for (const analyse::site& each : of.heap().sites) stacks[each.number] = &each;
  bool is_first = true;
  for (const analyse::site& each : request.sites(of)) {
    if (!request.wants(each)) continue;
    json site = json_of_site(of, of.view(each));
    add_stacks(site, of, each, names, threads, stacks);
    if (request.redact) redact_site(site);
    names.compact(site);
    page.add((is_first ? "" : ",") + text_of(site));
    is_first = false;
  }
  text = text_of(names.tables());
  text.front() = ',';
  page.add("]" + text);
  page.end();
}

}  // namespace tarn::command
