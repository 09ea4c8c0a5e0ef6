#include "profiler/advise/difference.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "profiler/symbols/names.hpp"

namespace tarn::analyse {
namespace {

using function_key = std::tuple<std::string, std::string>;  // function, file or type

constexpr double errors_of_95_percent = 1.96;  // standard errors
constexpr double max_standard_errors = 5;      // one of a million places differs by more by chance

// Sites of one function in both recordings, in the order of their lines.
struct matching {
  std::vector<const location_sums*> before, after;
};

void match(matching& candidates, std::vector<change>& changes) {
  // Sites on the same line match first.
  for (const location_sums*& candidate : candidates.before) {
    const auto match = std::find_if(candidates.after.begin(), candidates.after.end(), [&](const location_sums* later) {
      return later != nullptr && later->line == candidate->line;
    });
    if (match == candidates.after.end()) continue;
    changes.push_back({*candidate, **match, false});
    candidate = *match = nullptr;
  }
  std::erase(candidates.before, nullptr);
  std::erase(candidates.after, nullptr);
  // An edit moves lines and may remove one; a recording does not show which one.
  const bool has_moved = candidates.before.size() == candidates.after.size();
  for (std::size_t index = 0; has_moved && index < candidates.before.size(); ++index)
    changes.push_back({*candidates.before[index], *candidates.after[index], false});
  if (has_moved) return;
  for (const location_sums* candidate : candidates.before) changes.push_back({*candidate, std::nullopt, false});
  for (const location_sums* candidate : candidates.after) changes.push_back({std::nullopt, *candidate, false});
}

bool is_near(std::uint64_t first, std::uint64_t second, double difference_limit) {
  return std::fabs(as_double(first) - as_double(second)) <= difference_limit;
}

bool is_same(const change& change) {
  static const location_sums no_sums;
  const location_sums& before = change.before ? *change.before : no_sums;
  const location_sums& after = change.after ? *change.after : no_sums;
  const double variance = before.variance + after.variance;
  if (variance == 0) {
    return change.before && change.after && before.allocations == after.allocations && before.bytes == after.bytes &&
           before.remote_frees == after.remote_frees && before.category == after.category;
  }
  // The counts are estimates. The category is not compared, because a single sample may decide it. A place without a
  // sample in one of the recordings counts as a place without allocations there.
  const double largest = max_standard_errors * std::sqrt(variance);
  if (!is_near(before.allocations, after.allocations, largest) ||
      !is_near(before.remote_frees, after.remote_frees, largest) || !is_near(before.live, after.live, largest)) {
    return false;
  }
  if (before.allocations == 0 || after.allocations == 0) return true;
  const double error = before.variance / (as_double(before.allocations) * as_double(before.allocations)) +
                       after.variance / (as_double(after.allocations) * as_double(after.allocations));
  return is_near(before.bytes, after.bytes,
                 max_standard_errors * std::sqrt(error) * as_double(std::max(before.bytes, after.bytes)));
}

// Returns how many allocations the remedy leaves at the place.
double left_by(const change& change, const offer& offer) {
  const double before = as_double(change.before->allocations);
  const std::uint64_t saved = offer.predicted.calls_saved;  // 0: another allocator serves them all
  return saved == 0 ? 0 : std::max(before - as_double(saved), 0.0);
}

bool is_remedied(const change& change, const offer& offer) {
  if (offer.predicted.remedy == remedy_kind::drop_in)
    return false;  // the allocations remain, and another malloc serves them
  const double before = as_double(change.before->allocations),
               after = change.after ? as_double(change.after->allocations) : 0;
  return after <= (before + left_by(change, offer)) / 2 * change.remaining_share;
}

// Returns whether the place has as many allocations as one of its remedies leaves under the same load, give or take a
// tenth.
bool is_left_by_remedy(const change& change) {
  constexpr double max_share = 0.1;
  if (!change.before || !change.after || !change.before->first) return false;
  const double after = as_double(change.after->allocations),
               by_chance = max_standard_errors * std::sqrt(change.after->variance);
  const auto fits = [&](const offer& offer) {
    const double left = left_by(change, offer);
    return is_remedied(change, offer) && std::fabs(left - after) <= std::max(max_share * left, by_chance);
  };
  return fits(*change.before->first) || std::any_of(change.before->others.begin(), change.before->others.end(), fits);
}

// A place that is gone does not show the load, nor does one where a remedy explains what remains.
bool shows_load(const change& change) {
  return change.before && change.after && change.after->allocations != 0 && !is_left_by_remedy(change);
}

// Sets `remaining_share` of each change. `candidates` are the changes and all places without one.
void set_remaining_shares(const std::vector<change>& candidates, std::vector<change>& changes) {
  double before = 0, after = 0;
  for (const change& candidate : candidates) {
    if (!shows_load(candidate)) continue;
    before += as_double(candidate.before->allocations);
    after += as_double(candidate.after->allocations);
  }
  for (change& change : changes) {
    if (!change.before || !change.after) continue;
    constexpr double max_ratio = 1.2;  // of decreases that are one of the load
    const double before_here = as_double(change.before->allocations), after_here = as_double(change.after->allocations);
    const bool is_part = shows_load(change);
    const double others_before = before - (is_part ? before_here : 0),
                 others_after = after - (is_part ? after_here : 0);
    if (others_before <= 0) continue;
    const double share = std::min(others_after / others_before, 1.0);
    const bool is_smaller_decrease = after_here > max_ratio * share * before_here;
    if (is_left_by_remedy(change) && is_smaller_decrease) continue;
    change.remaining_share = share;
  }
}

// Finds the remedy that would leave the present number of allocations; of nearly equal ones the one that was advised
// first, because several remedies leave next to none.
void find_taken(change& change) {
  if (!change.before || !change.after || !change.before->first) return;
  const double after = as_double(change.after->allocations);
  double nearest = 0;
  constexpr double min_better = 0.02;  // of the allocations before
  const auto look_at = [&](const offer& offer, std::optional<std::size_t> index) {
    if (!is_remedied(change, offer)) return;
    const double distance = std::fabs(left_by(change, offer) - after);
    if (change.is_taken && distance + min_better * as_double(change.before->allocations) >= nearest) return;
    nearest = distance;
    change.is_taken = true;
    change.taken_instead = index;
  };
  look_at(*change.before->first, std::nullopt);
  for (std::size_t index = 0; index < change.before->others.size(); ++index)
    look_at(change.before->others[index], index);
}

using sum_pointers = std::vector<const location_sums*>;

bool is_in_one_file(const sum_pointers& locations) {
  return std::all_of(locations.begin(), locations.end(),
                     [&](const location_sums* sums) { return sums->file == locations.front()->file; });
}

enum class matching_step {
  same_file,
  moved,  // functions of one file each, now in another one
  last,   // takes the locations without a match, too
};

// Matches the locations of both sides that `key` gives the same key, and takes them from the lists.
template <class Key>
void match_by(sum_pointers& before, sum_pointers& after, matching_step step, std::vector<change>& changes, Key key) {
  std::map<function_key, matching> functions;
  for (const location_sums* sums : before) functions[key(*sums)].before.push_back(sums);
  for (const location_sums* sums : after) functions[key(*sums)].after.push_back(sums);
  before.clear();
  after.clear();
  for (auto& [name, candidates] : functions) {
    const bool has_match =
        !candidates.before.empty() && !candidates.after.empty() &&
        (step != matching_step::moved ||
         (!std::get<0>(name).empty() && is_in_one_file(candidates.before) && is_in_one_file(candidates.after)));
    if (!has_match && step != matching_step::last) {
      before.insert(before.end(), candidates.before.begin(), candidates.before.end());
      after.insert(after.end(), candidates.after.begin(), candidates.after.end());
      continue;
    }
    const auto by_line = [](const location_sums* a, const location_sums* b) { return a->line < b->line; };
    std::sort(candidates.before.begin(), candidates.before.end(), by_line);
    std::sort(candidates.after.begin(), candidates.after.end(), by_line);
    match(candidates, changes);
  }
}

std::set<std::string> names_of(const std::vector<location_sums>& locations) {
  std::set<std::string> names;
  for (const location_sums& sums : locations) names.insert(sums.function);
  return names;
}

// Matches the functions that have another name in the other recording, and takes them from the lists.
void match_renamed(sum_pointers& before, sum_pointers& after, const std::set<std::string>& earlier_names,
                   const std::set<std::string>& later_names, std::vector<change>& changes) {
  std::map<std::tuple<std::string, std::string, std::string>, matching> candidates;  // by file, caller and type
  const auto add = [&](const location_sums* sums, const std::set<std::string>& other_names, auto list) {
    if (sums->function.empty() || sums->caller.empty() || other_names.contains(sums->function)) return;
    (candidates[{file_name(sums->file), sums->caller, sums->type}].*list).push_back(sums);
  };
  for (const location_sums* sums : before) add(sums, later_names, &matching::before);
  for (const location_sums* sums : after) add(sums, earlier_names, &matching::after);
  for (const auto& [key, functions] : candidates) {
    if (functions.before.size() != 1 || functions.after.size() != 1) continue;
    change renamed = {*functions.before.front(), *functions.after.front(), false};
    if (!is_same(renamed)) continue;
    std::erase(before, functions.before.front());
    std::erase(after, functions.after.front());
    changes.push_back(std::move(renamed));
  }
}

function_key name_key(const location_sums& sums) { return {sums.function, file_name(sums.file)}; }

// Returns all locations of both recordings, each with the matching one of the other recording. The two builds may be of
// sources in two folders, so the name of a file is enough where its path does not match. A file may have another name
// later, or the function another file.
std::vector<change> matched(const std::vector<location_sums>& before, const std::vector<location_sums>& after) {
  const auto pointers_to = [](const std::vector<location_sums>& list) {
    sum_pointers pointers;
    for (const location_sums& sums : list) pointers.push_back(&sums);
    return pointers;
  };
  sum_pointers earlier = pointers_to(before), later = pointers_to(after);
  std::vector<change> changes;
  match_by(earlier, later, matching_step::same_file, changes, [](const location_sums& sums) {
    return function_key{sums.function, sums.file};
  });
  match_by(earlier, later, matching_step::same_file, changes, name_key);
  match_by(earlier, later, matching_step::moved, changes, [](const location_sums& sums) {
    return function_key{sums.function, sums.type};
  });
  match_renamed(earlier, later, names_of(before), names_of(after), changes);
  match_by(earlier, later, matching_step::last, changes, name_key);
  return changes;
}

// Returns how many of the functions that allocate in the smaller recording also do in the other one.
double share_in_common(const std::vector<location_sums>& before, const std::vector<location_sums>& after) {
  const auto functions_of = [](const std::vector<location_sums>& locations) {
    std::set<std::string> functions;
    for (const location_sums& sums : locations) {
      const bool has_own_name = !sums.function.empty() && sums.function != "main";
      functions.insert(has_own_name ? sums.function : sums.function + ' ' + file_name(sums.file));
    }
    return functions;
  };
  const std::set<std::string> earlier = functions_of(before), later = functions_of(after);
  const auto common =
      std::count_if(earlier.begin(), earlier.end(), [&](const std::string& name) { return later.contains(name); });
  return common == 0
             ? 0
             : as_double(static_cast<std::uint64_t>(common)) / as_double(std::min(earlier.size(), later.size()));
}

}  // namespace

double location_sums::error() const {
  return allocations == 0 ? 0 : errors_of_95_percent * std::sqrt(variance) / as_double(allocations);
}

range change::model_saved_ns() const {
  // Compares bounds of the same kind: both low ends, and both high ends.
  const range earlier = before ? before->now_ns : range(), later = after ? after->now_ns : range();
  const double low_difference = earlier.low - later.low, high_difference = earlier.high - later.high;
  return {std::min(low_difference, high_difference), std::max(low_difference, high_difference)};
}

const offer* change::judged_offer() const {
  if (!before || !before->first) return nullptr;
  return taken_instead ? &before->others[*taken_instead] : &*before->first;
}

std::uint64_t change::predicted_allocations() const {
  const offer* const offer = judged_offer();
  if (offer == nullptr) return 0;
  const std::uint64_t saved = offer->predicted.calls_saved;
  return saved == 0 ? before->allocations : std::min(saved, before->allocations);
}

count_outcome change::outcome() const {
  if (!is_taken) return count_outcome::not_taken;
  constexpr double max_share = 0.1;
  const double predicted = as_double(predicted_allocations());
  // The decrease at other places may be one of the load, or come of remedies that were applied there.
  const double remaining = as_double(before->allocations) - predicted, present = as_double(after->allocations);
  const double surplus = present - std::clamp(present, remaining * remaining_share, remaining);
  const double by_chance = max_standard_errors * std::sqrt(before->variance + after->variance);
  if (std::fabs(surplus) <= std::max(max_share * predicted, by_chance)) return count_outcome::as_predicted;
  return surplus > 0 ? count_outcome::fewer_gone : count_outcome::more_gone;
}

namespace {

void add_offer(std::optional<offer>& sum, const offer& addend) {
  if (!sum) {
    sum = addend;
  } else if (sum->predicted.remedy == addend.predicted.remedy) {
    sum->predicted.saved_ns += addend.predicted.saved_ns;
    sum->predicted.calls_saved += addend.predicted.calls_saved;
  }
}

void add_offer(std::vector<offer>& sums, const offer& addend) {
  const auto match = std::find_if(sums.begin(), sums.end(), [&](const offer& candidate) {
    return candidate.predicted.remedy == addend.predicted.remedy;
  });
  std::optional<offer> sum = match == sums.end() ? std::nullopt : std::optional<offer>(*match);
  add_offer(sum, addend);
  match == sums.end() ? sums.push_back(*sum) : static_cast<void>(*match = *sum);
}

std::string caller_of(const site_view& view) {
  if (!view.callers.empty()) return without_arguments(view.callers.front().location.function);
  const std::size_t index = view.frame_index + 1;
  return index < view.stack.size() ? without_arguments(view.stack[index].function) : std::string();
}

}  // namespace

std::vector<location_sums> sums_by_location(const std::vector<site_view>& views,
                                            std::optional<heap_category> category) {
  struct sums {
    location_sums total;
    double dearest = -1;
  };
  std::map<std::tuple<std::string, std::string, int>, sums> sums_by_key;
  for (const site_view& view : views) {
    if (category && view.facts.category != *category) continue;
    location_sums entry;
    if (const code_location* const location = view.location()) {
      entry.function = without_arguments(location->function);
      entry.file = location->file.empty() ? location->module : location->file;
      entry.line = location->line;
      if (entry.function.empty() && entry.line == 0) entry.line = static_cast<int>(location->offset);
    }
    sums& sums_here = sums_by_key[{entry.function, entry.file, entry.line}];
    sums_here.total.function = entry.function;
    sums_here.total.file = entry.file;
    sums_here.total.line = entry.line;
    sums_here.total.allocations += view.facts.sums[format::blocks];
    sums_here.total.bytes += view.facts.sums[format::bytes];
    sums_here.total.copied += view.facts.sums[format::copied];
    sums_here.total.remote_frees += view.facts.remote_frees;
    sums_here.total.live += view.facts.live;
    sums_here.total.peak_bytes += view.facts.peak_bytes;
    sums_here.total.end_bytes += view.facts.live_bytes;
    sums_here.total.growth += view.growth;
    sums_here.total.variance += as_double(view.facts.sums[format::spread]);
    sums_here.total.now_ns += view.predicted.now_ns;
    sums_here.total.allocations_by_category[static_cast<std::size_t>(view.facts.category)] +=
        view.facts.sums[format::blocks];
    sums_here.total.variance_by_category[static_cast<std::size_t>(view.facts.category)] +=
        as_double(view.facts.sums[format::spread]);
    if (view.predicted.now_ns.middle() > sums_here.dearest) {
      sums_here.dearest = view.predicted.now_ns.middle();
      sums_here.total.remedy = view.remedy;
      sums_here.total.type = view.allocation.type;
      sums_here.total.caller = caller_of(view);
    }
    if (!view.offers.empty()) add_offer(sums_here.total.first, view.offers.front());
    for (std::size_t index = 1; index < view.offers.size(); ++index)
      add_offer(sums_here.total.others, view.offers[index]);
  }
  std::vector<location_sums> result;
  for (auto& [key, sums_here] : sums_by_key) {
    const auto& by_category = sums_here.total.allocations_by_category;
    sums_here.total.category =
        static_cast<heap_category>(std::max_element(by_category.begin(), by_category.end()) - by_category.begin());
    result.push_back(std::move(sums_here.total));
  }
  return result;
}

difference compare(const std::vector<location_sums>& before, const std::vector<location_sums>& after) {
  difference difference;
  const auto add_all = [](const std::vector<location_sums>& locations, auto& by_category, auto& variance,
                          range& now_ns) {
    for (const location_sums& sums : locations) {
      for (std::size_t index = 0; index < category_count; ++index) {
        by_category[index] += sums.allocations_by_category[index];
        variance[index] += sums.variance_by_category[index];
      }
      now_ns += sums.now_ns;
    }
  };
  add_all(before, difference.before, difference.before_variance, difference.before_ns);
  add_all(after, difference.after, difference.after_variance, difference.after_ns);
  difference.common_share = share_in_common(before, after);
  const std::vector<change> candidates = matched(before, after);
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(difference.changes),
               [](const change& candidate) { return !is_same(candidate); });
  set_remaining_shares(candidates, difference.changes);
  for (change& change : difference.changes) find_taken(change);
  std::stable_sort(difference.changes.begin(), difference.changes.end(), [](const change& a, const change& b) {
    return std::fabs(a.model_saved_ns().middle()) > std::fabs(b.model_saved_ns().middle());
  });
  return difference;
}

range saved_by_changes(const std::vector<change>& changes) {
  range saved_ns;
  double variance = 0;
  bool saves_more = false;
  const auto variance_of = [](const std::optional<location_sums>& sums) {
    if (!sums || sums->allocations == 0) return 0.0;
    const double ns = sums->now_ns.high / as_double(sums->allocations);
    return sums->variance * ns * ns;
  };
  for (const change& change : changes) {
    saved_ns += change.model_saved_ns();
    variance += variance_of(change.before) + variance_of(change.after);
    saves_more = saves_more || (change.is_taken && change.judged_offer()->predicted.saves_more);
  }
  const double by_chance = max_standard_errors * std::sqrt(variance);
  return {saved_ns.low - by_chance, saves_more ? std::numeric_limits<double>::infinity() : saved_ns.high + by_chance};
}

measured_saving saving_of_runs(const range& before_ns, const range& after_ns, const range& saved_by_changes_ns) {
  constexpr double share_of_explained = 0.1, share_of_others = 0.5;
  const auto saved_within = [&](double share) {
    const double run_to_run = share * std::max(before_ns.middle(), after_ns.middle());
    return range{before_ns.low - after_ns.high - run_to_run, before_ns.high - after_ns.low + run_to_run};
  };
  const auto has_zero = [](const range& ns) { return ns.low <= 0 && ns.high >= 0; };
  const range narrow = saved_within(share_of_explained);
  const bool is_alike = narrow.low <= saved_by_changes_ns.high && saved_by_changes_ns.low <= narrow.high;
  if (is_alike && (has_zero(narrow) || !has_zero(saved_by_changes_ns))) return {narrow, true};
  return {saved_within(share_of_others), false};
}

std::vector<change> memory_changes(const std::vector<location_sums>& before, const std::vector<location_sums>& after,
                                   const std::array<double, 2>& interval) {
  constexpr double min_bytes = 4096, min_share = 0.01;
  using amount = std::uint64_t location_sums::*;
  const auto value = [](const std::optional<location_sums>& side, amount bytes) {
    return side ? as_double((*side).*bytes) : 0.0;
  };
  const auto difference_of = [&](const change& change, amount bytes) {
    return std::fabs(value(change.after, bytes) - value(change.before, bytes));
  };
  const auto peak_of = [](const std::vector<location_sums>& locations) {
    return std::accumulate(locations.begin(), locations.end(), 0.0, [](double sum, const location_sums& location) {
      return sum + as_double(location.peak_bytes);
    });
  };
  const double largest_peak = std::max(peak_of(before), peak_of(after));
  const auto differs = [&](const change& change, amount bytes, double min_difference) {
    const double variance = interval[0] * value(change.before, bytes) + interval[1] * value(change.after, bytes);
    return difference_of(change, bytes) > std::max(min_difference, max_standard_errors * std::sqrt(variance));
  };
  std::vector<change> changes = matched(before, after);
  std::erase_if(changes, [&](const change& change) {
    return !differs(change, &location_sums::peak_bytes, std::max(min_bytes, min_share * largest_peak)) &&
           !differs(change, &location_sums::end_bytes, min_bytes);
  });
  const auto largest = [&](const change& change) {
    return std::max(difference_of(change, &location_sums::peak_bytes),
                    difference_of(change, &location_sums::end_bytes));
  };
  std::stable_sort(changes.begin(), changes.end(),
                   [&](const change& a, const change& b) { return largest(a) > largest(b); });
  return changes;
}

}  // namespace tarn::analyse
