#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "profiler/predict/call_savings.hpp"
#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using analyse::call_site;
using format::call_counter;
using nlohmann::json;

void print_site(analyse::analysis& analysis, const call_site& site, std::size_t rank) {
  const std::uint64_t calls = site.sums[call_counter::calls];
  fmt::print("\n{}. {}: {}, {} failed, by {}; {:.3f} s in the kernel, {:.1f} µs each\n", rank,
             analyse::name(site.category), estimated(calls, site.error, site.name + " call"),
             grouped(site.sums[call_counter::errors]), counted(site.threads, "thread"),
             static_cast<double>(site.nanoseconds) / 1e9,
             static_cast<double>(site.nanoseconds) / 1e3 / static_cast<double>(calls));
  if (site.sums[call_counter::asked] != 0) {
    fmt::print("   {} asked for, {} given: {} a call\n", counted(site.sums[call_counter::asked], "byte"),
               grouped(site.sums[call_counter::given]), grouped(site.sums[call_counter::asked] / calls));
  }
  if (site.sums[call_counter::same_arguments] != 0) {
    fmt::print("   {} with the arguments of the one before\n", grouped(site.sums[call_counter::same_arguments]));
  }
  if (site.stacks > 1) fmt::print("   through {}, the most by\n", counted(site.stacks, "call stack"));
  print_stack(analysis, site.site);
  const analyse::call_saving saving = analyse::saving_of(site, analysis.recorded(), analysis.costs());
  if (saving.not_predicted.empty()) {
    fmt::print("   → {}\n     {}\n", gain_text(analysis, saving.ns, saving.at_least), site.remedy);
  } else {
    fmt::print("   → {}\n     what it saves is not predicted: {}\n", site.remedy, saving.not_predicted);
  }
}

json predicted(const call_site& site, const analyse::analysis& analysis) {
  const analyse::call_saving saving = analyse::saving_of(site, analysis.recorded(), analysis.costs());
  if (!saving.not_predicted.empty()) return {{"reason", saving.not_predicted}};
  return {{"saved_ns", {saving.ns.low, saving.ns.high}}, {"at_least", saving.at_least}};
}

void print_calls_summary(analyse::analysis& analysis) {
  const analyse::call_findings& findings = analysis.calls();
  if (findings.calls == 0) return;
  fmt::print("{} at {}, {:.3f} s in the kernel and waiting there\n",
             estimated(findings.calls, findings.error, "system call"), counted(findings.sites.size(), "site"),
             static_cast<double>(findings.nanoseconds) / 1e9);
  if (!findings.has_remedy()) {
    fmt::print("Nothing to gain from system calls: none is repeated often enough to matter.\n");
  }
}

void print_calls(analyse::analysis& analysis, std::size_t top) {
  std::size_t shown = 0;
  for (const call_site& site : analysis.calls().sites) {
    if (site.remedy.empty()) continue;
    if (shown == top) break;
    if (shown == 0) fmt::print("\nSystem calls\n");
    print_site(analysis, site, ++shown);
  }
}

json json_of_calls(analyse::analysis& analysis, std::size_t top) {
  const analyse::call_findings& findings = analysis.calls();
  json calls = json::array();
  for (std::size_t index = 0; index < std::min(top, findings.sites.size()); ++index) {
    const call_site& site = findings.sites[index];
    calls.push_back({{"name", site.name},
                     {"category", analyse::name(site.category)},
                     {"count", site.sums[call_counter::calls]},
                     {"error", site.error},
                     {"errors", site.sums[call_counter::errors]},
                     {"bytes", site.sums[call_counter::given]},
                     {"bytes_asked", site.sums[call_counter::asked]},
                     {"same_arguments", site.sums[call_counter::same_arguments]},
                     {"in_a_row", site.sums[call_counter::in_a_row]},
                     {"nanoseconds", site.nanoseconds},
                     {"threads", site.threads},
                     {"stacks", site.stacks},
                     {"stack", json_of_stack(analysis, site.site)},
                     {"remedy", site.remedy},
                     {"predicted", site.remedy.empty() ? json() : predicted(site, analysis)}});
  }
  return calls;
}

}  // namespace

const section calls_section = {"syscalls", print_calls_summary, print_calls, json_of_calls};

}  // namespace tarn::command
