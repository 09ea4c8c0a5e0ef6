#include "analyse/difference.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "analyse/names.hpp"

namespace tarn::analyse {
namespace {

using function_key = std::tuple<std::string, std::string>;  // function, file

// Sites of one function in both recordings, in the order of their lines.
struct matching {
  std::vector<const place_sums*> before, after;
};

void match(matching& of, std::vector<change>& to) {
  // Sites on the same line match first.
  for (const place_sums*& one : of.before) {
    const auto same = std::find_if(of.after.begin(), of.after.end(), [&](const place_sums* other) {
      return other != nullptr && other->line == one->line;
    });
    if (same == of.after.end()) continue;
    to.push_back({*one, **same, false});
    one = *same = nullptr;
  }
  std::erase(of.before, nullptr);
  std::erase(of.after, nullptr);
  // An edit moves lines and may remove one; if one was removed, nothing tells which one.
  const bool moved = of.before.size() == of.after.size();
  for (std::size_t at = 0; moved && at < of.before.size(); ++at) to.push_back({*of.before[at], *of.after[at], false});
  if (moved) return;
  for (const place_sums* one : of.before) to.push_back({*one, std::nullopt, false});
  for (const place_sums* one : of.after) to.push_back({std::nullopt, *one, false});
}

double as_double(std::uint64_t value) { return static_cast<double>(value); }

bool is_near(std::uint64_t one, std::uint64_t other, double most) {
  return std::fabs(as_double(one) - as_double(other)) <= most;
}

bool is_same(const change& of) {
  static const place_sums none;
  const place_sums& one = of.before ? *of.before : none;
  const place_sums& other = of.after ? *of.after : none;
  const double variance = one.variance + other.variance;
  if (variance == 0) {
    return of.before && of.after && one.allocations == other.allocations && one.bytes == other.bytes &&
           one.handed_over == other.handed_over && one.is == other.is;
  }
  // The counts are estimates. The category is not compared, because a single sample may decide it. A place without a
  // sample in one of the recordings counts as a place without allocations there.
  constexpr double most_errors = 5;  // standard errors: one of a million places differs by more by chance
  const double most = most_errors * std::sqrt(variance);
  if (!is_near(one.allocations, other.allocations, most) || !is_near(one.handed_over, other.handed_over, most) ||
      !is_near(one.live, other.live, most)) {
    return false;
  }
  if (one.allocations == 0 || other.allocations == 0) return true;
  const double each = one.variance / (as_double(one.allocations) * as_double(one.allocations)) +
                      other.variance / (as_double(other.allocations) * as_double(other.allocations));
  return is_near(one.bytes, other.bytes, most_errors * std::sqrt(each) * as_double(std::max(one.bytes, other.bytes)));
}

// `rest` is the ratio of the allocations after to those before at all other places.
bool is_remedied(const change& of, double rest) {
  if (!of.before || !of.before->first) return false;
  const prediction& said = of.before->first->predicted;
  if (said.by == remedy::drop_in) return false;  // the allocations remain, and another malloc serves them
  const double before = as_double(of.before->allocations), after = of.after ? as_double(of.after->allocations) : 0;
  const double spared = said.calls_saved == 0 ? before : std::min(as_double(said.calls_saved), before);
  return after <= (before - spared / 2) * std::min(rest, 1.0);
}

}  // namespace

range change::achieved_ns() const {
  // Compares bounds of the same kind: both low ends, and both high ends.
  const range from = before ? before->now_ns : range(), to = after ? after->now_ns : range();
  const double near = from.low - to.low, far = from.high - to.high;
  return {std::min(near, far), std::max(near, far)};
}

bool change::is_as_predicted() const {
  if (!before || !before->first) return false;
  const range said = before->first->predicted.saved_ns, got = achieved_ns();
  return is_taken && got.high >= said.low && (got.low <= said.high || before->first->predicted.at_least);
}

namespace {

void add_offer(std::optional<offer>& to, const offer& more) {
  if (!to) {
    to = more;
  } else if (to->predicted.by == more.predicted.by) {
    to->predicted.saved_ns += more.predicted.saved_ns;
    to->predicted.calls_saved += more.predicted.calls_saved;
  }
}

}  // namespace

std::vector<place_sums> sums_by_place(const std::vector<site_view>& views) {
  struct sums {
    place_sums all;
    std::array<std::uint64_t, category_count> by_category{};
    double dearest = -1;
  };
  std::map<std::tuple<std::string, std::string, int>, sums> places;
  for (const site_view& view : views) {
    place_sums one;
    if (const place* const at = view.where()) {
      one.function = without_arguments(at->function);
      one.file = at->file.empty() ? at->module : at->file;
      one.line = at->line;
      if (one.function.empty() && one.line == 0) one.line = static_cast<int>(at->offset);
    }
    sums& to = places[{one.function, one.file, one.line}];
    to.all.function = one.function;
    to.all.file = one.file;
    to.all.line = one.line;
    to.all.allocations += view.facts.sums[format::blocks];
    to.all.bytes += view.facts.sums[format::bytes];
    to.all.copied += view.facts.sums[format::copied];
    to.all.handed_over += view.facts.freed_by_other_thread;
    to.all.live += view.facts.live;
    to.all.variance += as_double(view.facts.sums[format::spread]);
    to.all.now_ns += view.predicted.now_ns;
    to.by_category[static_cast<std::size_t>(view.facts.is)] += view.facts.sums[format::blocks];
    if (view.predicted.now_ns.middle() > to.dearest) {
      to.dearest = view.predicted.now_ns.middle();
      to.all.remedy = view.remedy;
    }
    if (!view.offers.empty()) add_offer(to.all.first, view.offers.front());
  }
  std::vector<place_sums> made;
  for (auto& [key, each] : places) {
    const auto most = std::max_element(each.by_category.begin(), each.by_category.end());
    each.all.is = static_cast<category>(most - each.by_category.begin());
    made.push_back(std::move(each.all));
  }
  return made;
}

difference compare(const std::vector<place_sums>& before, const std::vector<place_sums>& after) {
  difference made;
  std::map<function_key, matching> functions;
  for (const place_sums& each : before) {
    functions[{each.function, each.file}].before.push_back(&each);
    made.before[static_cast<std::size_t>(each.is)] += each.allocations;
    made.before_ns += each.now_ns;
  }
  for (const place_sums& each : after) {
    functions[{each.function, each.file}].after.push_back(&each);
    made.after[static_cast<std::size_t>(each.is)] += each.allocations;
    made.after_ns += each.now_ns;
  }
  for (auto& [key, of] : functions) {
    const auto by_line = [](const place_sums* a, const place_sums* b) { return a->line < b->line; };
    std::sort(of.before.begin(), of.before.end(), by_line);
    std::sort(of.after.begin(), of.after.end(), by_line);
    match(of, made.changes);
  }
  std::erase_if(made.changes, is_same);
  const auto all = [](const auto& sums) {
    return as_double(std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}));
  };
  for (change& each : made.changes) {
    const double others_before = all(made.before) - as_double(each.before ? each.before->allocations : 0);
    const double others_after = all(made.after) - as_double(each.after ? each.after->allocations : 0);
    each.is_taken = is_remedied(each, others_before == 0 ? 1 : others_after / others_before);
  }
  std::stable_sort(made.changes.begin(), made.changes.end(), [](const change& a, const change& b) {
    return std::fabs(a.achieved_ns().middle()) > std::fabs(b.achieved_ns().middle());
  });
  return made;
}

}  // namespace tarn::analyse
