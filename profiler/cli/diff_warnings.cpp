#include "profiler/cli/diff_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "profiler/symbols/names.hpp"

namespace tarn::command {
namespace {

using analyse::change;
using analyse::location_sums;

// Returns how many times as often most places allocate after the change; 1 if that is not known. A remedy changes few
// places, but another load changes most.
double work_ratio_of(const side& before, const analyse::difference& difference) {
  const auto is_frequent = [](const location_sums& sums) { return sums.allocations >= analyse::min_allocations; };
  std::vector<double> ratios;
  std::size_t changed_places = 0;
  for (const change& change : difference.changes) {
    if (!change.before || !is_frequent(*change.before)) continue;
    ++changed_places;
    if (change.after && change.after->allocations != 0) {
      ratios.push_back(static_cast<double>(change.after->allocations) /
                       static_cast<double>(change.before->allocations));
    }
  }
  const auto places = static_cast<std::size_t>(std::count_if(before.sums.begin(), before.sums.end(), is_frequent));
  if (places > changed_places) ratios.insert(ratios.end(), places - changed_places, 1.0);
  if (ratios.empty()) return 1;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

// Returns a line where the programs did different amounts of work; otherwise an empty text.
std::string work_warning_of(const side& before, const side& after, const analyse::difference& difference) {
  constexpr double max_ratio = 1.2;
  const double ratio = work_ratio_of(before, difference);
  if (ratio <= max_ratio && ratio >= 1 / max_ratio) return {};
  std::string text =
      fmt::format("another load: the median site allocates {:.1f} times as often after the change", ratio);
  const double cpu_before = before.analysis.whole().cpu_ns.middle(), cpu_after = after.analysis.whole().cpu_ns.middle();
  if (cpu_before > 0 && cpu_after > 0) {
    const double percent = 100 * (cpu_after / ratio / cpu_before - 1);
    text += fmt::format(". Per allocation, CPU time {} by about {:.0f} %; how sure that is, is not known",
                        percent < 0 ? "fell" : "rose", std::fabs(percent));
  }
  return text;
}

// Returns a line where a count or a time of the whole program is more than three times that of the other one, although
// the sites of the heap do not tell of another load; otherwise an empty text.
std::string scale_warning_of(const side& before, const side& after, const std::vector<compared_uses>& kinds) {
  constexpr double max_ratio = 3, min_count = 1000, min_ns = 10e6;  // smaller amounts differ by chance
  std::vector<std::string> differences;
  const auto add = [&](double earlier, double later, double min_amount, const std::string& text) {
    if (std::max(earlier, later) < min_amount || std::min(earlier, later) <= 0) return;
    const double ratio = later / earlier;
    if (ratio <= max_ratio && ratio >= 1 / max_ratio) return;
    differences.push_back(fmt::format(
        "{} ({})", text, ratio > 1 ? fmt::format("{:.1f} times as much", ratio) : fmt::format("1/{:.1f}", 1 / ratio)));
  };
  const std::uint64_t wall_before = before.wall_ns(), wall_after = after.wall_ns();
  add(static_cast<double>(wall_before), static_cast<double>(wall_after), min_ns,
      "run time " + durations_text(wall_before, wall_after));
  const double cpu_before = before.analysis.whole().cpu_ns.middle(), cpu_after = after.analysis.whole().cpu_ns.middle();
  add(cpu_before, cpu_after, min_ns,
      "CPU time " + durations_text(static_cast<std::uint64_t>(cpu_before), static_cast<std::uint64_t>(cpu_after)));
  for (const compared_uses& kind : kinds) {
    if (!kind.is_in_both() || *kind.unit == '\0') continue;
    const std::uint64_t earlier = kind.uses.before.count, later = kind.uses.after.count;
    std::string title = kind.title;
    title[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(title[0])));
    add(static_cast<double>(earlier), static_cast<double>(later), min_count,
        fmt::format("{} {} → {}", title, group_digits(earlier), group_digits(later)));
  }
  if (differences.empty()) return {};
  return fmt::format(
      "very different amounts: {}. Compare runs of one load, else what differs need not come of a change",
      fmt::join(differences, ", "));
}

}  // namespace

std::string durations_text(std::uint64_t before, std::uint64_t after) {
  std::string first = duration_text(before);
  const std::string second = duration_text(after), unit = second.substr(second.find(' '));
  if (first.ends_with(unit)) first.resize(first.size() - unit.size());
  return fmt::format("{} → {}", first, second);
}

std::string warning_of(const side& before, const side& after, const analyse::difference& difference) {
  constexpr double min_common_share = 0.5;
  const auto name_of = [](const side& side) {
    const std::vector<std::string>& arguments = side.analysis.recording().program.arguments;
    return arguments.empty() ? std::string() : analyse::file_name(arguments.front());
  };
  const std::string earlier = name_of(before), later = name_of(after);
  if (earlier == later || difference.common_share >= min_common_share) return {};
  return fmt::format("these are two programs, {} and {}: what differs need not come of a change", earlier, later);
}

std::string load_warning_of(const side& before, const side& after, const analyse::difference& difference,
                            const std::vector<compared_uses>& kinds) {
  const std::string warning = work_warning_of(before, after, difference);
  return warning.empty() ? scale_warning_of(before, after, kinds) : warning;
}

}  // namespace tarn::command
