#include "tarn/report_locks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyse/locks.hpp"
#include "analyse/stacks.hpp"
#include "tarn/stack_words.hpp"

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

void print_site(const format::recording& in, const lock_site& of, analyse::symbols& by) {
  fmt::print("   {} times, {} waited {:.3f} s, held {:.3f} s\n", of.sums[format::acquisitions],
             of.sums[format::contended], in_seconds(of.sums[format::wait_ticks]),
             in_seconds(of.sums[format::held_ticks]));
  print_stack(analyse::stack_at(in, of.site, by));
  if (of.waits.empty()) return;
  const analyse::lock_wait& most = of.waits.front();
  fmt::print("   {:.3f} s of it while thread {} held it, from\n", in_seconds(most.nanoseconds),
             in.threads[most.holder].id);
  print_stack(analyse::stack_at(in, most.holder_site, by));
}

void print_group(const format::recording& in, const lock_group& of, std::size_t rank, analyse::symbols& by) {
  const std::uint64_t taken = of.sums[format::acquisitions];
  fmt::print("\n{}. {}: {} {}{}, taken {} times by {} thread{}\n", rank, analyse::name(of.is), of.locks,
             analyse::name(of.type), plural(of.locks), taken, of.threads, plural(of.threads));
  fmt::print("   {} waited, {:.3f} s together, {:.1f} µs at most; held {:.2f} µs each; {} gave up\n",
             of.sums[format::contended], in_seconds(of.sums[format::wait_ticks]),
             static_cast<double>(of.sums[format::longest_wait]) / 1e3,
             mean_us(of.sums[format::held_ticks], of.sums[format::held]), of.sums[format::refused]);
  for (std::size_t at = 0; at < std::min(shown_sites, of.sites.size()); ++at) print_site(in, of.sites[at], by);
  if (of.sites.size() > shown_sites) fmt::print("   and {} more sites\n", of.sites.size() - shown_sites);
  fmt::print("   → {}\n", of.remedy);
}

json json_of_lock_site(const format::recording& in, const lock_site& of, analyse::symbols& by) {
  json waits = json::array();
  for (const analyse::lock_wait& each : of.waits) {
    waits.push_back({{"holder", each.holder},
                     {"waits", each.waits},
                     {"waited_ns", each.nanoseconds},
                     {"stack", json_of_stack(analyse::stack_at(in, each.holder_site, by))}});
  }
  return {{"acquisitions", of.sums[format::acquisitions]},
          {"contended", of.sums[format::contended]},
          {"refused", of.sums[format::refused]},
          {"waited_ns", of.sums[format::wait_ticks]},
          {"held_ns", of.sums[format::held_ticks]},
          {"waits", waits},
          {"stack", json_of_stack(analyse::stack_at(in, of.site, by))}};
}

}  // namespace

bool locks_gain(const format::recording& in) {
  const auto found = analyse::find_locks(in);
  return std::any_of(found.groups.begin(), found.groups.end(), [](const auto& each) { return !each.remedy.empty(); });
}

void print_locks_summary(const format::recording& in) {
  const analyse::lock_findings found = analyse::find_locks(in);
  if (found.groups.empty()) return;
  fmt::print("{} locks taken, {} of them after a wait, {:.3f} s together\n", found.acquisitions, found.contended,
             in_seconds(found.wait_nanoseconds));
  if (!locks_gain(in)) {
    fmt::print("Nothing to gain from locks: hardly any wait, and none is taken often.\n");
  }
}

void print_locks(const format::recording& in, std::size_t top) {
  const analyse::lock_findings found = analyse::find_locks(in);
  analyse::symbols by(in);
  std::size_t shown = 0;
  for (const lock_group& each : found.groups) {
    if (each.remedy.empty()) continue;
    if (shown == top) break;
    if (shown == 0) fmt::print("\nLocks\n");
    print_group(in, each, ++shown, by);
  }
}

json json_of_locks(const format::recording& in, std::size_t top) {
  const analyse::lock_findings found = analyse::find_locks(in);
  analyse::symbols by(in);
  json all = json::array();
  for (std::size_t at = 0; at < std::min(top, found.groups.size()); ++at) {
    const lock_group& of = found.groups[at];
    json sites = json::array();
    for (const lock_site& each : of.sites) sites.push_back(json_of_lock_site(in, each, by));
    all.push_back({{"type", analyse::name(of.type)},
                   {"category", analyse::name(of.is)},
                   {"locks", of.locks},
                   {"address", of.address},
                   {"threads", of.threads},
                   {"acquisitions", of.sums[format::acquisitions]},
                   {"contended", of.sums[format::contended]},
                   {"refused", of.sums[format::refused]},
                   {"shared", of.sums[format::shared_ones]},
                   {"waited_ns", of.sums[format::wait_ticks]},
                   {"longest_wait_ns", of.sums[format::longest_wait]},
                   {"held", of.sums[format::held]},
                   {"held_ns", of.sums[format::held_ticks]},
                   {"longest_held_ns", of.sums[format::longest_held]},
                   {"stack", json_of_stack(analyse::stack_at(in, of.first_site, by))},
                   {"sites", sites},
                   {"remedy", of.remedy}});
  }
  return all;
}

}  // namespace tarn::command
