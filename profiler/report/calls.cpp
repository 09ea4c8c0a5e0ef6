#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "profiler/findings/waits/stacks.hpp"
#include "profiler/predict/call_savings.hpp"
#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using analyse::call_site;
using format::call_counter;
using nlohmann::json;

std::string calls_text(const call_site& site, const std::string& noun) {
  return fmt::format("{}{}", site.is_lower_bound ? "at least " : "",
                     estimate_text(site.sums[call_counter::calls], site.error, noun));
}

void print_site(analyse::analysis& analysis, const call_site& site, std::size_t rank) {
  const std::uint64_t calls = site.sums[call_counter::calls];
  const std::uint64_t errors = round_to_error(site.sums[call_counter::errors], site.error);
  const std::string header = fmt::format(
      "{}. {}: {}, {}by {}; {} in them (running, runnable or blocked), {} each", rank, analyse::name(site.category),
      calls_text(site, site.name + " call"), errors == 0 ? "" : group_digits(errors) + " failed, ",
      thread_count_text(site.threads, site.may_have_more_threads), duration_text(site.nanoseconds),
      duration_text(static_cast<double>(site.nanoseconds) / static_cast<double>(calls)));
  fmt::print("\n{}\n", wrap_text(header, 3));
  if (site.sums[call_counter::requested_bytes] != 0) {
    fmt::print("   {} asked for, {} given: {} a call\n",
               count_text(round_to_error(site.sums[call_counter::requested_bytes], site.error), "byte"),
               group_digits(round_to_error(site.sums[call_counter::returned_bytes], site.error)),
               count_text(site.sums[call_counter::requested_bytes] / calls, "byte"));
  }
  if (site.sums[call_counter::same_arguments] != 0) {
    fmt::print("   {} with the arguments of the one before\n",
               group_digits(round_to_error(site.sums[call_counter::same_arguments], site.error)));
  }
  if (site.stacks > 1) fmt::print("   through {}, the most by\n", count_text(site.stacks, "call stack"));
  print_stack(analysis, site.site);
  const analyse::call_saving saving = analyse::saving_of(site, analysis.recording(), analysis.costs());
  if (saving.not_predicted.empty()) {
    fmt::print("   → {}\n     {}\n", gain_text(analysis, saving.ns, saving.saves_more ? calls_alone : ""),
               wrap_text(site.remedy, 5));
  } else {
    fmt::print("   → {}\n     {}\n", wrap_text(site.remedy, 5),
               wrap_text("what it saves is not predicted: " + saving.not_predicted, 5));
  }
}

json prediction_json(const call_site& site, const analyse::analysis& analysis) {
  const analyse::call_saving saving = analyse::saving_of(site, analysis.recording(), analysis.costs());
  if (!saving.not_predicted.empty()) return {{"reason", saving.not_predicted}};
  return {{"saved_ns", {saving.ns.low, saving.ns.high}}, {"at_least", saving.saves_more}};
}

constexpr std::uint64_t min_unfinished_ns = 100'000'000;  // shorter ones may be part of normal work

// Returns how many calls have not returned for so long that it is shown.
std::size_t long_unfinished(const analyse::call_findings& findings) {
  return static_cast<std::size_t>(
      std::count_if(findings.unfinished.begin(), findings.unfinished.end(),
                    [](const auto& call) { return call.nanoseconds >= min_unfinished_ns; }));
}

void print_unfinished_calls(analyse::analysis& analysis, std::size_t top) {
  const analyse::call_findings& findings = analysis.calls();
  const std::size_t count = long_unfinished(findings), shown_count = std::min(count, top);
  for (std::size_t index = 0; index < shown_count; ++index) {
    if (index == 0) fmt::print("\nCalls that have not returned\n");
    const analyse::unfinished_call& call = findings.unfinished[index];
    const std::string text = fmt::format("  {:>8} so far  {}, thread {}", duration_text(call.nanoseconds), call.name,
                                         analysis.recording().threads[call.thread].id);
    const std::vector<analyse::code_location> stack = analysis.stack(call.site);
    const std::string location = stack.empty() ? "sites beyond the recorder's limit"
                                               : location_text(stack[analyse::own_frame_index(stack)],
                                                               text_width - std::min(text.size() + 2, text_width / 2));
    fmt::print("{}  {}\n", text, location);
  }
  if (count > shown_count && shown_count != 0)
    fmt::print("  and {}; --top N\n", count_text(count - shown_count, "more call"));
}

// Returns the names of the calls that wait, those with most of the time first: "futex, epoll_wait and others".
std::string waiting_names(const analyse::call_findings& findings) {
  constexpr std::size_t max_names = 3;
  std::map<std::string, std::uint64_t> ns_by_name;
  for (const call_site& site : findings.sites) {
    if (site.category == analyse::call_category::waits && site.nanoseconds != 0)
      ns_by_name[site.name] += site.nanoseconds;
  }
  std::vector<std::pair<std::uint64_t, std::string>> names;
  for (const auto& [name, ns] : ns_by_name) names.emplace_back(ns, name);
  std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t index = 0; index < std::min(max_names, names.size()); ++index)
    text += (index == 0 ? "" : ", ") + names[index].second;
  return names.size() > max_names ? text + " and others" : text;
}

// Says how little of the time in calls that do not wait by their name was CPU time, as where a read waits for a pipe.
// That of the whole process in the kernel bounds it.
std::string processor_text(const format::recording& recording, std::uint64_t working_ns) {
  constexpr std::uint64_t min_ns = 100'000'000;  // where a kernel counts its time in ticks, they are much shorter
  const std::uint64_t kernel_ns = recording.end.system_us * 1000;
  if (!recording.has_ended || recording.part != format::interval{} || working_ns < min_ns || kernel_ns == 0 ||
      kernel_ns >= working_ns / 2)
    return {};
  return fmt::format(" (at most {} of that on a processor)", duration_text(kernel_ns));
}

void print_calls_summary(analyse::analysis& analysis) {
  const analyse::call_findings& findings = analysis.calls();
  if (const std::size_t count = long_unfinished(findings); count != 0)
    fmt::print("{} not returned, {}{} so far\n",
               count == 1 ? "1 system call has" : fmt::format("{} have", count_text(count, "system call")),
               count == 1 ? "" : "up to ", duration_text(findings.unfinished.front().nanoseconds));
  if (findings.calls == 0) return;
  std::uint64_t deliberate_ns = 0;
  for (const call_site& site : findings.sites)
    deliberate_ns += site.category == analyse::call_category::waits ? site.nanoseconds : 0;
  const std::string deliberate =
      deliberate_ns == 0
          ? ""
          : fmt::format(", and {} in calls that wait ({})", duration_text(deliberate_ns), waiting_names(findings));
  const std::uint64_t working_ns = findings.nanoseconds - std::min(findings.nanoseconds, deliberate_ns);
  const std::string text =
      fmt::format("{} at {}: {} in them{}{}{}", estimate_text(findings.calls, findings.error, "system call"),
                  count_text(findings.sites.size(), "site"), duration_text(working_ns),
                  processor_text(analysis.recording(), working_ns), deliberate, summed_text(analysis.recording()));
  fmt::print("{}\n", wrap_text(text, 3));
  if (!findings.has_remedy()) {
    fmt::print("No remedy for system calls: none with 0.5 % of CPU fits a pattern (small, repeated, batch, memory).\n");
  }
}

std::vector<const call_site*> by_time(const analyse::call_findings& findings) {
  std::vector<const call_site*> sites;
  for (const call_site& site : findings.sites) sites.push_back(&site);
  std::stable_sort(sites.begin(), sites.end(),
                   [](const call_site* a, const call_site* b) { return a->nanoseconds > b->nanoseconds; });
  return sites;
}

// Prints the calls with most of the time in the kernel, with or without a remedy, where that time matters.
void print_longest_calls(analyse::analysis& analysis, std::size_t top) {
  constexpr std::size_t max_calls = 5;
  constexpr double min_share = 0.05;         // of the time of all calls
  constexpr double min_share_of_run = 0.01;  // for all calls together
  const analyse::call_findings& findings = analysis.calls();
  const auto all_ns = static_cast<double>(findings.nanoseconds);
  if (all_ns < min_share_of_run * analysis.whole().wall_ns) return;
  std::size_t printed_sites = 0;
  for (const call_site* const site : by_time(findings)) {
    const double share = all_ns == 0 ? 0 : static_cast<double>(site->nanoseconds) / all_ns;
    if (share < min_share || printed_sites == std::min(max_calls, top)) break;
    if (printed_sites++ == 0)
      fmt::print("\nLongest system calls: {} in all, with waiting{}\n", duration_text(all_ns),
                 summed_text(analysis.recording()));
    const std::string text = fmt::format("  {:>8} {:>5.0f} %  {}, {}", duration_text(site->nanoseconds), 100 * share,
                                         site->name, calls_text(*site, "call"));
    const std::vector<analyse::code_location> stack = analysis.stack(site->site);
    const std::string location =
        stack.empty() ? "sites beyond the recorder's limit"
                      : location_text(stack[analyse::own_frame_index(stack)], text_width - text.size() - 2);
    fmt::print("{}  {}\n", text, location);
  }
}

void print_calls(analyse::analysis& analysis, std::size_t top) {
  std::size_t printed_sites = 0;
  for (const call_site& site : analysis.calls().sites) {
    if (site.remedy.empty()) continue;
    if (printed_sites == top) break;
    if (printed_sites == 0) fmt::print("\nSystem calls\n");
    print_site(analysis, site, ++printed_sites);
  }
  print_longest_calls(analysis, top);
  print_unfinished_calls(analysis, top);
}

json json_of_calls(analyse::analysis& analysis, std::size_t top) {
  const analyse::call_findings& findings = analysis.calls();
  json calls = json::array();
  std::vector<const call_site*> longest = by_time(findings);
  longest.resize(std::min(top, longest.size()));
  for (std::size_t index = 0; index < findings.sites.size(); ++index) {
    const call_site& site = findings.sites[index];
    if (index >= top && std::find(longest.begin(), longest.end(), &site) == longest.end()) continue;
    calls.push_back({{"name", site.name},
                     {"category", analyse::name(site.category)},
                     {"count", site.sums[call_counter::calls]},
                     {"error", site.error},
                     {"is_lower_bound", site.is_lower_bound},
                     {"errors", site.sums[call_counter::errors]},
                     {"bytes", site.sums[call_counter::returned_bytes]},
                     {"bytes_asked", site.sums[call_counter::requested_bytes]},
                     {"same_arguments", site.sums[call_counter::same_arguments]},
                     {"in_a_row", site.sums[call_counter::in_a_row]},
                     {"time_ns", site.nanoseconds},
                     {"threads", site.threads},
                     {"may_have_more_threads", site.may_have_more_threads},
                     {"stacks", site.stacks},
                     {"stack", json_of_stack(analysis, site.site)},
                     {"remedy", site.remedy},
                     {"predicted", site.remedy.empty() ? json() : prediction_json(site, analysis)}});
  }
  return calls;
}

void print_nothing(analyse::analysis&) {}
void print_none(analyse::analysis&, std::size_t) {}

json json_of_unfinished_calls(analyse::analysis& analysis, std::size_t top) {
  const std::vector<analyse::unfinished_call>& unfinished = analysis.calls().unfinished;
  json calls = json::array();
  for (std::size_t index = 0; index < std::min(top, unfinished.size()); ++index) {
    calls.push_back({{"name", unfinished[index].name},
                     {"thread", unfinished[index].thread},
                     {"time_ns", unfinished[index].nanoseconds},
                     {"stack", json_of_stack(analysis, unfinished[index].site)}});
  }
  return calls;
}

}  // namespace

// The text of `calls_section` has both.
const section unfinished_calls_section = {"unfinished_calls", print_nothing, print_none, json_of_unfinished_calls};
const section calls_section = {"syscalls", print_calls_summary, print_calls, json_of_calls};

}  // namespace tarn::command
