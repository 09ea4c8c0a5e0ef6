#include "analyse/uses.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "analyse/locks.hpp"
#include "analyse/names.hpp"
#include "analyse/stacks.hpp"
#include "analyse/syscalls.hpp"

namespace tarn::analyse {
namespace {

use made_of(std::string what, const std::vector<place>& stack) {
  use made;
  made.what = std::move(what);
  if (stack.empty()) return made;
  const place& at = stack[own_place(stack)];
  made.function = without_arguments(at.function);
  made.file = at.file.empty() ? at.module : at.file;
  return made;
}

void add(use& to, const use& more) {
  to.count += more.count;
  to.nanoseconds += more.nanoseconds;
}

double difference_of(std::uint64_t from, std::uint64_t to) {
  return static_cast<double>(from) - static_cast<double>(to);
}

std::uint64_t count_of(const std::optional<use>& of) { return of ? of->count : 0; }

}  // namespace

double use_change::saved_ns() const {
  return difference_of(before ? before->nanoseconds : 0, after ? after->nanoseconds : 0);
}

std::vector<use> calls_in(const format::recording& of, symbols& by) {
  std::vector<use> all;
  for (const call_site& each : find_calls(of).sites) {
    all.push_back(made_of(each.name, stack_at(of, each.site, by)));
    all.back().count = each.sums[format::calls];
    all.back().nanoseconds = each.nanoseconds;
  }
  return all;
}

std::vector<use> locks_in(const format::recording& of, symbols& by) {
  std::vector<use> all;
  for (const lock_group& group : find_locks(of).groups) {
    if (group.is == lock_category::condition) continue;
    for (const lock_site& each : group.sites) {
      all.push_back(made_of(name(group.type), stack_at(of, each.site, by)));
      all.back().count = each.sums[format::acquisitions];
      all.back().nanoseconds = each.sums[format::wait_ticks];
    }
  }
  return all;
}

use_difference compare(const std::vector<use>& before, const std::vector<use>& after) {
  std::map<std::tuple<std::string, std::string, std::string>, use_change> places;
  use_difference made;
  const auto collect = [&](const std::vector<use>& from, use& whole, std::optional<use> use_change::*side) {
    for (const use& each : from) {
      std::optional<use>& to = places[{each.what, each.function, each.file}].*side;
      if (to) {
        add(*to, each);
      } else {
        to = each;
      }
      add(whole, each);
    }
  };
  collect(before, made.before, &use_change::before);
  collect(after, made.after, &use_change::after);
  for (auto& [key, each] : places) {
    if (count_of(each.before) != count_of(each.after)) made.changes.push_back(std::move(each));
  }
  const auto size = [](const use_change& of) {
    return std::pair(std::fabs(of.saved_ns()), std::fabs(difference_of(count_of(of.before), count_of(of.after))));
  };
  std::stable_sort(made.changes.begin(), made.changes.end(),
                   [&](const use_change& a, const use_change& b) { return size(a) > size(b); });
  return made;
}

}  // namespace tarn::analyse
