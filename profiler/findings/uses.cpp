#include "profiler/findings/uses.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "profiler/findings/waits/stacks.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::analyse {
namespace {

use made_of(std::string operation, const std::vector<code_location>& stack) {
  use use;
  use.operation = std::move(operation);
  if (stack.empty()) return use;
  const code_location& location = stack[own_frame_index(stack)];
  use.function = without_arguments(location.function);
  use.file = location.file.empty() ? location.module : location.file;
  return use;
}

constexpr double deviations_of_95_percent = 1.96;

// `error` is relative, and what 95 of 100 recordings do not exceed.
void set_deviations(use& use, double error) {
  use.deviation = error / deviations_of_95_percent * static_cast<double>(use.count);
  use.time_deviation = error / deviations_of_95_percent * static_cast<double>(use.nanoseconds);
}

void add(use& sum, const use& use) {
  sum.count += use.count;
  sum.nanoseconds += use.nanoseconds;
  sum.deviation += use.deviation;  // they are not independent
  sum.time_deviation += use.time_deviation;
  sum.waiting_ns += use.waiting_ns;
}

double difference_of(std::uint64_t before, std::uint64_t after) {
  return static_cast<double>(before) - static_cast<double>(after);
}

std::uint64_t count_of(const std::optional<use>& use) { return use ? use->count : 0; }
double deviation_of(const std::optional<use>& use) { return use ? use->deviation : 0; }

constexpr double max_deviations = 5;  // one of a million places differs by more by chance

bool has_other_count(const use_change& change) {
  const double by_chance = max_deviations * std::hypot(deviation_of(change.before), deviation_of(change.after));
  return std::fabs(difference_of(count_of(change.before), count_of(change.after))) > by_chance;
}

double time_of(const std::optional<use>& use) { return use ? static_cast<double>(use->nanoseconds) : 0; }
double time_deviation_of(const std::optional<use>& use) { return use ? use->time_deviation : 0; }

bool has_other_time(const use_change& change, double min_ns) {
  constexpr double run_to_run_share = 0.1;
  const double by_chance =
      max_deviations * std::hypot(time_deviation_of(change.before), time_deviation_of(change.after));
  const double run_to_run = run_to_run_share * std::max(time_of(change.before), time_of(change.after));
  return std::fabs(change.saved_ns()) >= std::max({min_ns, by_chance, run_to_run, 1.0});
}

}  // namespace

double use::error() const { return count == 0 ? 0 : deviations_of_95_percent * deviation / static_cast<double>(count); }

double use_change::saved_ns() const {
  return difference_of(before ? before->nanoseconds : 0, after ? after->nanoseconds : 0);
}

std::vector<use> calls_in(const format::recording& recording, const call_findings& findings, symbols& symbols) {
  std::vector<use> uses;
  for (const call_site& site : findings.sites) {
    uses.push_back(made_of(site.name, stack_at(recording, site.site, symbols)));
    uses.back().count = site.sums[format::calls];
    uses.back().nanoseconds = site.nanoseconds;
    uses.back().waiting_ns = site.category == call_category::waits ? site.nanoseconds : 0;
    set_deviations(uses.back(), site.error);
    // One long call among few counted ones decides an estimated time, so that such times do not tell a change.
    if (site.error != 0) uses.back().time_deviation = static_cast<double>(site.nanoseconds);
  }
  return uses;
}

std::vector<use> locks_in(const format::recording& recording, const lock_findings& findings, symbols& symbols) {
  std::vector<use> uses;
  for (const lock_group& group : findings.groups) {
    if (group.category == lock_category::condition) continue;
    for (const lock_site& site : group.sites) {
      uses.push_back(made_of(name(group.type), stack_at(recording, site.site, symbols)));
      uses.back().count = site.sums[format::acquisitions];
      uses.back().nanoseconds = site.sums[format::wait_ticks];
      set_deviations(uses.back(), site.error);
    }
  }
  return uses;
}

std::vector<use> samples_in(const cpu_findings& findings) {
  std::vector<use> uses;
  for (const cpu_function& function : findings.functions) {
    if (function.self == 0) continue;
    uses.push_back(made_of("runs", {function.location}));
    uses.back().nanoseconds = findings.shares.ns_of(function.self_share.share);
    const double by_number =
        static_cast<double>(uses.back().nanoseconds) / std::sqrt(static_cast<double>(function.self));
    const double of_share =
        static_cast<double>(findings.shares.ns_of(function.self_share.error)) / deviations_of_95_percent;
    uses.back().time_deviation = std::max(by_number, of_share);
  }
  return uses;
}

std::vector<use> waits_in(const format::recording& recording, const time_findings& findings, symbols& symbols) {
  std::vector<use> uses;
  for (const wait_site& wait : findings.waits) {
    uses.push_back(made_of("waits", stack_at(recording, wait.site, symbols)));
    uses.back().nanoseconds = wait.waited_ns;
  }
  return uses;
}

namespace {

using use_key = std::tuple<std::string, std::string, std::string>;  // operation, function, file

// Joins a use that is gone with one that is new, if they are of one function whose file has another name later. It must
// be the only one of each kind.
void match_moved(std::map<use_key, use_change>& changes) {
  struct candidates {
    std::vector<use_key> before, after;
  };
  std::map<std::pair<std::string, std::string>, candidates> unmatched;
  for (const auto& [key, change] : changes) {
    const auto& [operation, function, file] = key;
    if (function.empty() || (change.before && change.after)) continue;
    candidates& entry = unmatched[{operation, function}];
    (change.before ? entry.before : entry.after).push_back(key);
  }
  for (const auto& [name, keys] : unmatched) {
    if (keys.before.size() != 1 || keys.after.size() != 1) continue;
    changes[keys.after.front()].before = std::move(changes[keys.before.front()].before);
    changes.erase(keys.before.front());
  }
}

// Returns how much a count has to differ so that the work is another one.
double min_count_difference(const use_difference& uses) {
  constexpr double min_count = 100, min_share = 0.01;
  return std::max(min_count, min_share * static_cast<double>(uses.before.count));
}

double count_difference(const use_change& change) {
  return std::fabs(difference_of(count_of(change.before), count_of(change.after)));
}

}  // namespace

use_difference compare(const std::vector<use>& before, const std::vector<use>& after, std::uint64_t min_ns) {
  std::map<use_key, use_change> changes;
  use_difference result;
  const auto collect = [&](const std::vector<use>& uses, use& whole, std::optional<use> use_change::*side) {
    for (const use& usage : uses) {
      std::optional<use>& entry = changes[{usage.operation, usage.function, file_name(usage.file)}].*side;
      if (entry) {
        add(*entry, usage);
      } else {
        entry = usage;
      }
      add(whole, usage);
      if (usage.waiting_ns != 0) result.waiting_operations.insert(usage.operation);
    }
  };
  collect(before, result.before, &use_change::before);
  collect(after, result.after, &use_change::after);
  match_moved(changes);
  for (auto& [key, change] : changes) {
    const bool is_other_time = has_other_time(change, static_cast<double>(min_ns));
    result.has_other_times = result.has_other_times || is_other_time;
    if (!is_other_time && !has_other_count(change)) continue;
    change.is_relevant = is_other_time || count_difference(change) >= min_count_difference(result);
    result.changes.push_back(std::move(change));
  }
  const auto size = [](const use_change& change) {
    return std::pair(std::fabs(change.saved_ns()), count_difference(change));
  };
  std::stable_sort(result.changes.begin(), result.changes.end(),
                   [&](const use_change& a, const use_change& b) { return size(a) > size(b); });
  return result;
}

bool is_other_work(const use_difference& uses) {
  return std::any_of(uses.changes.begin(), uses.changes.end(),
                     [&](const use_change& change) { return count_difference(change) >= min_count_difference(uses); });
}

}  // namespace tarn::analyse
