#include "profiler/findings/uses.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "profiler/findings/stacks.hpp"
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

void add(use& sum, const use& use) {
  sum.count += use.count;
  sum.nanoseconds += use.nanoseconds;
  sum.deviation += use.deviation;  // they are not independent
}

double difference_of(std::uint64_t before, std::uint64_t after) {
  return static_cast<double>(before) - static_cast<double>(after);
}

std::uint64_t count_of(const std::optional<use>& use) { return use ? use->count : 0; }
double deviation_of(const std::optional<use>& use) { return use ? use->deviation : 0; }

bool is_changed(const use_change& change) {
  constexpr double max_deviations = 5;  // one of a million places differs by more by chance
  const double by_chance = max_deviations * std::hypot(deviation_of(change.before), deviation_of(change.after));
  return std::fabs(difference_of(count_of(change.before), count_of(change.after))) > by_chance;
}

}  // namespace

double use_change::saved_ns() const {
  return difference_of(before ? before->nanoseconds : 0, after ? after->nanoseconds : 0);
}

std::vector<use> calls_in(const format::recording& recording, const call_findings& findings, symbols& symbols) {
  std::vector<use> uses;
  for (const call_site& site : findings.sites) {
    uses.push_back(made_of(site.name, stack_at(recording, site.site, symbols)));
    uses.back().count = site.sums[format::calls];
    uses.back().nanoseconds = site.nanoseconds;
    uses.back().deviation = site.error / 1.96 * static_cast<double>(uses.back().count);
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
      uses.back().deviation = site.error / 1.96 * static_cast<double>(uses.back().count);
    }
  }
  return uses;
}

use_difference compare(const std::vector<use>& before, const std::vector<use>& after) {
  std::map<std::tuple<std::string, std::string, std::string>, use_change> places;
  use_difference result;
  const auto collect = [&](const std::vector<use>& uses, use& whole, std::optional<use> use_change::*side) {
    for (const use& usage : uses) {
      std::optional<use>& entry = places[{usage.operation, usage.function, usage.file}].*side;
      if (entry) {
        add(*entry, usage);
      } else {
        entry = usage;
      }
      add(whole, usage);
    }
  };
  collect(before, result.before, &use_change::before);
  collect(after, result.after, &use_change::after);
  for (auto& [key, change] : places) {
    if (is_changed(change)) result.changes.push_back(std::move(change));
  }
  const auto size = [](const use_change& change) {
    return std::pair(std::fabs(change.saved_ns()),
                     std::fabs(difference_of(count_of(change.before), count_of(change.after))));
  };
  std::stable_sort(result.changes.begin(), result.changes.end(),
                   [&](const use_change& a, const use_change& b) { return size(a) > size(b); });
  return result;
}

bool is_other_work(const use_difference& uses) {
  constexpr double min_count = 100, min_share = 0.01;
  const double least = std::max(min_count, min_share * static_cast<double>(uses.before.count));
  return std::any_of(uses.changes.begin(), uses.changes.end(), [&](const use_change& change) {
    return std::fabs(difference_of(count_of(change.before), count_of(change.after))) >= least;
  });
}

}  // namespace tarn::analyse
