#include "profiler/report/locks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "profiler/findings/locks.hpp"
#include "profiler/findings/stacks.hpp"
#include "profiler/report/stack_text.hpp"

namespace tarn::command {
namespace {

using analyse::lock_group;
using analyse::lock_site;
using nlohmann::json;

constexpr std::size_t shown_sites = 3;  // per lock in the text; the JSON has all

double in_seconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }
double mean_us(std::uint64_t nanoseconds, std::uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(nanoseconds) / 1e3 / static_cast<double>(count);
}
const char* plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

void print_site(const format::recording& recording, const lock_site& site, analyse::symbols& symbols) {
  fmt::print("   {} times, {} waited {:.3f} s, held {:.3f} s\n", site.sums[format::acquisitions],
             site.sums[format::contended], in_seconds(site.sums[format::wait_ticks]),
             in_seconds(site.sums[format::held_ticks]));
  print_stack(analyse::stack_at(recording, site.site, symbols));
  if (site.waits.empty()) return;
  const analyse::lock_wait& longest = site.waits.front();
  fmt::print("   {:.3f} s of it while thread {} held it, from\n", in_seconds(longest.nanoseconds),
             recording.threads[longest.holder].id);
  print_stack(analyse::stack_at(recording, longest.holder_site, symbols));
}

void print_group(const format::recording& recording, const lock_group& group, std::size_t rank,
                 analyse::symbols& symbols) {
  const std::uint64_t taken = group.sums[format::acquisitions];
  fmt::print("\n{}. {}: {} {}{}, taken {} times by {} thread{}\n", rank, analyse::name(group.category), group.locks,
             analyse::name(group.type), plural(group.locks), taken, group.threads, plural(group.threads));
  fmt::print("   {} waited, {:.3f} s together, {:.1f} µs at most; held {:.2f} µs each; {} gave up\n",
             group.sums[format::contended], in_seconds(group.sums[format::wait_ticks]),
             static_cast<double>(group.sums[format::longest_wait]) / 1e3,
             mean_us(group.sums[format::held_ticks], group.sums[format::held]), group.sums[format::refused]);
  for (std::size_t index = 0; index < std::min(shown_sites, group.sites.size()); ++index)
    print_site(recording, group.sites[index], symbols);
  if (group.sites.size() > shown_sites) fmt::print("   and {} more sites\n", group.sites.size() - shown_sites);
  fmt::print("   → {}\n", group.remedy);
  if (group.read_mostly && group.read_mostly->replacing_site != 0) {
    fmt::print("   {} at\n", group.read_mostly->is_known ? "replaced" : "perhaps replaced");
    print_stack(analyse::stack_at(recording, group.read_mostly->replacing_site, symbols));
  }
}

json json_of_read_mostly(const format::recording& recording, const lock_group& group, analyse::symbols& symbols) {
  if (!group.read_mostly) return nullptr;
  const analyse::read_mostly_use& use = *group.read_mostly;
  return {{"known", use.is_known},
          {"reads", use.reads},
          {"replacements", use.replacements},
          {"stack", json_of_stack(analyse::stack_at(recording, use.replacing_site, symbols))}};
}

json json_of_lock_site(const format::recording& recording, const lock_site& site, analyse::symbols& symbols) {
  json waits = json::array();
  for (const analyse::lock_wait& wait : site.waits) {
    waits.push_back({{"holder", wait.holder},
                     {"waits", wait.waits},
                     {"waited_ns", wait.nanoseconds},
                     {"stack", json_of_stack(analyse::stack_at(recording, wait.holder_site, symbols))}});
  }
  return {{"acquisitions", site.sums[format::acquisitions]},
          {"contended", site.sums[format::contended]},
          {"refused", site.sums[format::refused]},
          {"waited_ns", site.sums[format::wait_ticks]},
          {"held_ns", site.sums[format::held_ticks]},
          {"waits", waits},
          {"stack", json_of_stack(analyse::stack_at(recording, site.site, symbols))}};
}

}  // namespace

bool locks_gain(const format::recording& recording) {
  const auto findings = analyse::find_locks(recording);
  return std::any_of(findings.groups.begin(), findings.groups.end(),
                     [](const auto& group) { return !group.remedy.empty(); });
}

void print_locks_summary(const format::recording& recording) {
  const analyse::lock_findings findings = analyse::find_locks(recording);
  if (findings.groups.empty()) return;
  fmt::print("{} locks taken, {} of them after a wait, {:.3f} s together\n", findings.acquisitions, findings.contended,
             in_seconds(findings.wait_nanoseconds));
  if (!locks_gain(recording)) {
    fmt::print("Nothing to gain from locks: hardly any wait, and none is taken often.\n");
  }
}

void print_locks(const format::recording& recording, std::size_t top) {
  const analyse::lock_findings findings = analyse::find_locks(recording);
  analyse::symbols symbols(recording);
  std::size_t shown = 0;
  for (const lock_group& group : findings.groups) {
    if (group.remedy.empty()) continue;
    if (shown == top) break;
    if (shown == 0) fmt::print("\nLocks\n");
    print_group(recording, group, ++shown, symbols);
  }
}

json json_of_locks(const format::recording& recording, std::size_t top) {
  const analyse::lock_findings findings = analyse::find_locks(recording);
  analyse::symbols symbols(recording);
  json locks = json::array();
  for (std::size_t index = 0; index < std::min(top, findings.groups.size()); ++index) {
    const lock_group& group = findings.groups[index];
    json sites = json::array();
    for (const lock_site& site : group.sites) sites.push_back(json_of_lock_site(recording, site, symbols));
    locks.push_back({{"type", analyse::name(group.type)},
                     {"category", analyse::name(group.category)},
                     {"locks", group.locks},
                     {"address", group.address},
                     {"threads", group.threads},
                     {"acquisitions", group.sums[format::acquisitions]},
                     {"contended", group.sums[format::contended]},
                     {"refused", group.sums[format::refused]},
                     {"shared", group.sums[format::shared_ones]},
                     {"waited_ns", group.sums[format::wait_ticks]},
                     {"longest_wait_ns", group.sums[format::longest_wait]},
                     {"held", group.sums[format::held]},
                     {"held_ns", group.sums[format::held_ticks]},
                     {"longest_held_ns", group.sums[format::longest_held]},
                     {"stack", json_of_stack(analyse::stack_at(recording, group.first_site, symbols))},
                     {"sites", sites},
                     {"read_mostly", json_of_read_mostly(recording, group, symbols)},
                     {"remedy", group.remedy}});
  }
  return locks;
}

}  // namespace tarn::command
