#include "tarn/report_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "analyse/call_savings.hpp"
#include "analyse/stacks.hpp"
#include "analyse/syscalls.hpp"
#include "tarn/stack_words.hpp"
#include "tarn/words.hpp"

namespace tarn::command {
namespace {

using analyse::call_site;
using format::call_counter;
using nlohmann::json;

void print_site(const analyse::analysis& all, const call_site& of, std::size_t rank, analyse::symbols& by) {
  const format::recording& in = all.recorded();
  const std::uint64_t calls = of.sums[call_counter::calls];
  fmt::print("\n{}. {}: {} {} calls, {} failed, by {} thread{}; {:.3f} s in the kernel, {:.1f} µs each\n", rank,
             analyse::name(of.is), calls, of.name, of.sums[call_counter::errors], of.threads,
             of.threads == 1 ? "" : "s", static_cast<double>(of.nanoseconds) / 1e9,
             static_cast<double>(of.nanoseconds) / 1e3 / static_cast<double>(calls));
  if (of.sums[call_counter::asked] != 0) {
    fmt::print("   {} bytes asked for, {} given: {} a call\n", of.sums[call_counter::asked],
               of.sums[call_counter::given], of.sums[call_counter::asked] / calls);
  }
  if (of.sums[call_counter::same_arguments] != 0) {
    fmt::print("   {} with the arguments of the one before\n", of.sums[call_counter::same_arguments]);
  }
  if (of.stacks > 1) fmt::print("   through {} call stacks, the most by\n", of.stacks);
  print_stack(analyse::stack_at(in, of.site, by));
  const analyse::call_saving saving = analyse::saving_of(of, in, all.prices());
  if (saving.not_predicted.empty()) {
    fmt::print("   → {}\n     {}\n", gain_words(all, saving.ns, saving.at_least), of.remedy);
  } else {
    fmt::print("   → {}\n     what it saves is not predicted: {}\n", of.remedy, saving.not_predicted);
  }
}

json predicted(const call_site& of, const analyse::analysis& whole) {
  const analyse::call_saving saving = analyse::saving_of(of, whole.recorded(), whole.prices());
  if (!saving.not_predicted.empty()) return {{"not", saving.not_predicted}};
  return {{"saved_ns", {saving.ns.low, saving.ns.high}}, {"at_least", saving.at_least}};
}

}  // namespace

bool calls_gain(const format::recording& in) {
  const auto found = analyse::find_calls(in);
  return std::any_of(found.sites.begin(), found.sites.end(), [](const auto& each) { return !each.remedy.empty(); });
}

void print_calls_summary(const format::recording& in) {
  const analyse::call_findings found = analyse::find_calls(in);
  if (found.calls == 0) return;
  fmt::print("{} system calls at {} sites, {:.3f} s in the kernel and waiting there\n", found.calls, found.sites.size(),
             static_cast<double>(found.nanoseconds) / 1e9);
  if (!calls_gain(in)) {
    fmt::print("Nothing to gain from system calls: none is repeated often enough to matter.\n");
  }
}

void print_calls(const analyse::analysis& of, std::size_t top) {
  const format::recording& in = of.recorded();
  const analyse::call_findings found = analyse::find_calls(in);
  analyse::symbols by(in);
  std::size_t shown = 0;
  for (const call_site& each : found.sites) {
    if (each.remedy.empty()) continue;
    if (shown == top) break;
    if (shown == 0) fmt::print("\nSystem calls\n");
    print_site(of, each, ++shown, by);
  }
}

json json_of_calls(const analyse::analysis& whole, std::size_t top) {
  const format::recording& in = whole.recorded();
  analyse::symbols by(in);
  const analyse::call_findings found = analyse::find_calls(in);
  json all = json::array();
  for (std::size_t at = 0; at < std::min(top, found.sites.size()); ++at) {
    const call_site& of = found.sites[at];
    all.push_back({{"name", of.name},
                   {"category", analyse::name(of.is)},
                   {"count", of.sums[call_counter::calls]},
                   {"errors", of.sums[call_counter::errors]},
                   {"bytes", of.sums[call_counter::given]},
                   {"bytes_asked", of.sums[call_counter::asked]},
                   {"same_arguments", of.sums[call_counter::same_arguments]},
                   {"in_a_row", of.sums[call_counter::in_a_row]},
                   {"nanoseconds", of.nanoseconds},
                   {"threads", of.threads},
                   {"stacks", of.stacks},
                   {"stack", json_of_stack(analyse::stack_at(in, of.site, by))},
                   {"remedy", of.remedy},
                   {"predicted", of.remedy.empty() ? json() : predicted(of, whole)}});
  }
  return all;
}

}  // namespace tarn::command
