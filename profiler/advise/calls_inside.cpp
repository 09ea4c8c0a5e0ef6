#include "profiler/advise/calls_inside.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "profiler/findings/heap/wrappers.hpp"
#include "profiler/findings/waits/call_names.hpp"
#include "profiler/findings/waits/lock_remedies.hpp"
#include "profiler/findings/waits/stacks.hpp"

namespace tarn::analyse {
namespace {

constexpr double min_share_of_hold = 0.5;  // of the time that the lock is held
constexpr double max_share_of_hold = 1.1;  // both times are estimates
constexpr double min_listed_share = 0.05;  // of the time of all calls

// The C++ library's own wrapper of pthread_mutex_lock, which has a name of its own without debug information.
bool is_lock_wrapper(const code_location& location) { return location.function.starts_with("__gthread_"); }

bool is_own(const std::vector<code_location>& locations) {
  return std::any_of(locations.begin(), locations.end(),
                     [](const code_location& location) { return !is_wrapper(location) && !is_runtime_code(location); });
}

}  // namespace

acquiring_functions::acquiring_functions(const format::recording& recording, const std::set<std::uint32_t>& sites,
                                         const resolve_function& resolve)
    : recording_(recording), resolve_(resolve) {
  for (const std::uint32_t site : sites) add(recording.sites[site]);
}

bool acquiring_functions::has_later(std::uint32_t site) {
  const auto [entry, is_new] = is_later_.try_emplace(site, false);
  if (is_new) {
    entry->second = std::any_of(functions_.begin(), functions_.end(), [&](const acquiring_function& function) {
      return calls_later(function, recording_.sites[site]);
    });
  }
  return entry->second;
}

// Adds the innermost function of the program itself, and those before it that its file has, such as code of the
// standard library: without debug information, a name of that library may hide the program's code inlined in it.
void acquiring_functions::add(const format::site_facts& site) {
  for (std::size_t index = 0; index < site.frames.size(); ++index) {
    const std::vector<code_location> locations = resolve_(site.image, site.frames[index]);
    if (locations.empty() || is_runtime_module(locations.back().module)) continue;
    functions_.push_back({site.image,
                          site.frames[index],
                          locations.back(),
                          {site.frames.begin() + static_cast<std::ptrdiff_t>(index) + 1, site.frames.end()}});
    if (is_own(locations) && !is_lock_wrapper(locations.back())) return;
  }
}

// Returns whether the stack is that of a call by this function after it acquired the lock.
bool acquiring_functions::calls_later(const acquiring_function& function, const format::site_facts& site) const {
  if (site.image != function.image || site.frames.size() <= function.callers.size()) return false;
  const std::size_t depth = site.frames.size() - function.callers.size();
  if (!std::equal(function.callers.begin(), function.callers.end(),
                  site.frames.begin() + static_cast<std::ptrdiff_t>(depth)))
    return false;
  const std::uint64_t frame = site.frames[depth - 1];
  const std::vector<code_location> locations = resolve_(site.image, frame);
  if (frame == function.frame || locations.empty()) return false;
  const code_location& location = locations.back();
  if (location.function.empty() || location.function != function.location.function ||
      location.module != function.location.module)
    return false;
  return location.line > 0 && function.location.line > 0 ? location.line >= function.location.line
                                                         : frame > function.frame;
}

namespace {

struct acquisitions_of_lock {
  std::set<std::uint32_t> sites, threads;
  std::uint64_t held_ns = 0;
};

std::vector<call_inside> calls_inside(const acquisitions_of_lock& acquisitions, const format::recording& recording,
                                      const resolve_function& resolve) {
  acquiring_functions functions(recording, acquisitions.sites, resolve);
  struct call_times {
    call_inside sums;
    std::map<std::uint32_t, std::uint64_t> ns;  // by site
  };
  std::map<std::uint32_t, call_times> times;  // by number of the call
  std::uint64_t total_ns = 0;
  for (const auto& [key, counts] : recording.calls) {
    if (!acquisitions.threads.contains(key.thread)) continue;
    const std::string name = call_name(key.number);
    if (name == "futex") continue;  // by which threads wait for locks
    if (!functions.has_later(key.site)) continue;
    const std::uint64_t ns = format::nanoseconds(recording.clock, counts[format::call_ticks]);
    call_times& call = times[key.number];
    call.sums.name = name;
    call.sums.calls += counts[format::calls];
    call.sums.nanoseconds += ns;
    call.ns[key.site] += ns;
    total_ns += ns;
  }
  const auto held_ns = static_cast<double>(acquisitions.held_ns), spent_ns = static_cast<double>(total_ns);
  if (spent_ns < min_share_of_hold * held_ns || spent_ns > max_share_of_hold * held_ns) return {};
  std::vector<call_inside> result;
  for (auto& [number, call] : times) {
    if (static_cast<double>(call.sums.nanoseconds) < min_listed_share * spent_ns) continue;
    call.sums.site = std::max_element(call.ns.begin(), call.ns.end(), [](const auto& a, const auto& b) {
                       return a.second < b.second;
                     })->first;
    result.push_back(std::move(call.sums));
  }
  std::sort(result.begin(), result.end(),
            [](const call_inside& a, const call_inside& b) { return a.nanoseconds > b.nanoseconds; });
  return result;
}

}  // namespace

void add_calls_inside(lock_findings& findings, const format::recording& recording, const resolve_function& resolve) {
  std::map<const lock_group*, acquisitions_of_lock> uses;
  for (lock_group& group : findings.groups) {
    if (group.remedy.empty() || group.category != lock_category::contended || !group.library.empty() ||
        group.read_mostly || !is_held_long(group))
      continue;
    uses[&group].held_ns = group.sums[format::held_ticks];
  }
  if (uses.empty() || recording.calls.empty()) return;
  for (const auto& [key, counts] : recording.acquisitions) {
    const auto use = uses.find(findings.group_of(recording, key.lock));
    if (use == uses.end()) continue;
    use->second.sites.insert(key.site);
    use->second.threads.insert(key.thread);
  }
  for (lock_group& group : findings.groups) {
    const auto use = uses.find(&group);
    if (use == uses.end()) continue;
    group.calls_inside = calls_inside(use->second, recording, resolve);
    group.remedy = contended_remedy(group);
  }
}

}  // namespace tarn::analyse
