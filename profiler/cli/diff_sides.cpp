// Compares two recordings for `tarn diff`, and notes where they cannot be compared.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>
#include <string_view>

#include "profiler/base/quantity_text.hpp"
#include "profiler/cli/diff.hpp"
#include "profiler/findings/heap/own_malloc.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/views.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::command::comparison {

namespace {

// Returns whether threads waited for locks for 1 % of the run or more. A recorder makes what threads do under a lock
// longer, and changes their order, so that such a program may take several times its CPU time, and each time another.
bool is_contended(const side& side) {
  constexpr std::uint64_t wall_parts = 100;
  const std::uint64_t waited_ns =
      std::accumulate(side.locks.begin(), side.locks.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const analyse::use& use) { return sum + use.nanoseconds; });
  return waited_ns != 0 && waited_ns >= side.wall_ns() / wall_parts;
}

// Returns a line where the programs have different names and few functions in common; otherwise an empty text.
// `hides_names` leaves out the names.
std::string programs_note(const side& before, const side& after, const analyse::difference& difference,
                          bool hides_names) {
  constexpr double min_common_share = 0.5;
  const auto name_of = [](const side& side) {
    const std::vector<std::string>& arguments = side.analysis.recording().program.arguments;
    return arguments.empty() ? std::string() : analyse::file_name(arguments.front());
  };
  const std::string earlier = name_of(before), later = name_of(after);
  if (earlier == later || difference.common_share >= min_common_share) return {};
  const std::string names = hides_names ? "" : fmt::format(", {} and {}", earlier, later);
  return fmt::format("these are two programs{}: what differs need not come from a change", names);
}

// Returns how many times as often most places allocate after the change; 1 if that is not known. A remedy changes few
// places, but another load changes most. Places whose remedy was taken do not count, nor those that are gone.
double work_ratio_of(const side& before, const analyse::difference& difference) {
  constexpr std::size_t min_places = 5;  // fewer do not tell a change of the load from one of the program
  const auto is_frequent = [](const location_sums& sums) { return sums.allocations >= analyse::min_allocations; };
  std::vector<double> ratios;
  std::size_t changed_places = 0;
  for (const change& change : difference.changes) {
    if (!change.before || !is_frequent(*change.before)) continue;
    ++changed_places;
    if (change.after && change.after->allocations != 0 && !change.is_taken) {
      ratios.push_back(static_cast<double>(change.after->allocations) /
                       static_cast<double>(change.before->allocations));
    }
  }
  const auto places = static_cast<std::size_t>(std::count_if(before.sums.begin(), before.sums.end(), is_frequent));
  if (places > changed_places) ratios.insert(ratios.end(), places - changed_places, 1.0);
  if (ratios.size() < min_places) return 1;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

// Returns a line where the programs did different amounts of work; otherwise an empty text.
std::string load_note(const side& before, const side& after, const analyse::difference& difference,
                      bool has_comparable_cpu) {
  constexpr double max_ratio = 1.2;
  const double ratio = work_ratio_of(before, difference);
  if (ratio <= max_ratio && ratio >= 1 / max_ratio) return {};
  std::string text =
      fmt::format("another load: the median site allocates {:.1f} times as often after the change", ratio);
  const double cpu_before = before.analysis.whole().cpu_ns.middle(), cpu_after = after.analysis.whole().cpu_ns.middle();
  if (has_comparable_cpu && cpu_before > 0 && cpu_after > 0) {
    const double percent = 100 * (cpu_after / ratio / cpu_before - 1);
    text += fmt::format(". Per allocation, CPU time {} by about {:.0f} %; how sure that is, is not known",
                        percent < 0 ? "fell" : "rose", std::fabs(percent));
  }
  return text;
}

// Returns a line where a count or a time of the whole program is more than three times that of the other one, although
// the sites of the heap do not tell of another load; otherwise an empty text.
std::string scale_note(const side& before, const side& after, const std::vector<compared_uses>& kinds,
                       bool has_comparable_cpu) {
  // Smaller amounts differ by chance: another program's work can make a run of 70 ms last 210 ms.
  constexpr double max_ratio = 3, min_count = 1000, min_cpu_ns = 10e6, min_wall_ns = 1e9;
  std::vector<std::string> differences;
  const auto add = [&](double earlier, double later, double min_amount, const std::string& text) {
    if (std::max(earlier, later) < min_amount || std::min(earlier, later) <= 0) return;
    const double ratio = later / earlier;
    if (ratio <= max_ratio && ratio >= 1 / max_ratio) return;
    differences.push_back(fmt::format(
        "{} ({})", text, ratio > 1 ? fmt::format("{:.1f} times as much", ratio) : fmt::format("1/{:.1f}", 1 / ratio)));
  };
  const std::uint64_t wall_before = before.wall_ns(), wall_after = after.wall_ns();
  add(static_cast<double>(wall_before), static_cast<double>(wall_after), min_wall_ns,
      "run time " + durations_text(wall_before, wall_after));
  const double cpu_before = before.analysis.whole().cpu_ns.middle(), cpu_after = after.analysis.whole().cpu_ns.middle();
  if (has_comparable_cpu) {
    add(cpu_before, cpu_after, min_cpu_ns,
        "CPU time " + durations_text(static_cast<std::uint64_t>(cpu_before), static_cast<std::uint64_t>(cpu_after)));
  }
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
      "very different amounts: {}. Compare runs of one load, else what differs need not come from a change",
      fmt::join(differences, ", "));
}

}  // namespace

side::side(const std::string& path, const analyse::cost_model& costs, double cpu_seconds)
    : analysis(read_recording(path), costs, {.bytes = {}, .measured_cpu_ns = cpu_seconds * 1e9, .wrappers = {}}),
      sums(sums_by_location(analysis).locations),
      locks(analyse::locks_in(analysis.recording(), analysis.locks(), analysis.names())),
      calls(analyse::calls_in(analysis.recording(), analysis.calls(), analysis.names())),
      samples(analyse::samples_in(analysis.cpu())),
      waits(analyse::waits_in(analysis.recording(), analysis.time(), analysis.names())) {}

bool side::has_heap() const { return records_heap(analysis.recording()); }

memory_difference::memory_difference(side& before, side& after)
    : earlier(before.analysis.memory()),
      later(after.analysis.memory()),
      changes(analyse::memory_changes(before.sums, after.sums,
                                      {static_cast<double>(before.analysis.recording().program.interval),
                                       static_cast<double>(after.analysis.recording().program.interval)})) {}

std::vector<compared_uses> compared(const side& before, const side& after) {
  constexpr std::uint64_t wall_parts = 100;  // a time that differs by less than 1 % of the run does not matter
  const std::uint64_t min_ns = std::max(before.wall_ns(), after.wall_ns()) / wall_parts;
  const auto recording_of = [](const side& side) -> const format::recording& { return side.analysis.recording(); };
  std::vector<compared_uses> kinds = {
      {"CPU time", "cpu", "", "sampled", before.has_samples(), after.has_samples(), {}},
      {"Waits", "waits", "", "waited by threads", before.has_samples(), after.has_samples(), {}},
      {"Locks", "locks", "taken", "waited", before.has_locks(), after.has_locks(), {}},
      {"System calls",
       "syscalls",
       "made",
       "in them",
       recording_of(before).program.has_source("system calls"),
       recording_of(after).program.has_source("system calls"),
       {}}};
  const std::array members = {&side::samples, &side::waits, &side::locks, &side::calls};
  for (std::size_t index = 0; index < kinds.size(); ++index) {
    if (kinds[index].is_in_both())
      kinds[index].uses = analyse::compare(before.*members[index], after.*members[index], min_ns);
  }
  return kinds;
}

bool is_other_work(const compared_uses& kind) {
  const std::string_view member = kind.member;
  return ((member == "cpu" || member == "locks") && kind.uses.has_other_times) || analyse::is_other_work(kind.uses);
}

bool is_cpu_comparable(const side& before, const side& after, const diff_request& request) {
  return !request.cpu_seconds.empty() || (!is_contended(before) && !is_contended(after));
}

analyse::measured_saving saved_cpu(const whole_comparison& comparison, const diff_request& request) {
  const range before_ns = comparison.before.analysis.whole().cpu_ns,
              after_ns = comparison.after.analysis.whole().cpu_ns;
  if (!request.cpu_seconds.empty()) return {{before_ns.low - after_ns.high, before_ns.high - after_ns.low}, true};
  range saved_ns = analyse::saved_by_changes(comparison.difference.changes);
  for (const compared_uses& kind : comparison.kinds) {
    if (std::string_view(kind.member) != "syscalls") continue;
    // Their time is that of one run, too, and contains what recording them took.
    constexpr double min_share = 0.5;
    for (const analyse::use_change& change : kind.uses.changes) {
      const analyse::use before = change.before.value_or(analyse::use()), after = change.after.value_or(analyse::use());
      if (before.count == after.count) continue;
      const auto working_ns = [](const analyse::use& use) {
        return static_cast<double>(use.nanoseconds - use.waiting_ns);
      };
      const double saved = working_ns(before) - working_ns(after);
      saved_ns += range{std::min(saved, min_share * saved), std::max(saved, min_share * saved)};
    }
  }
  return analyse::saving_of_runs(before_ns, after_ns, saved_ns);
}

predicted_saving predicted_of(const analyse::difference& difference) {
  predicted_saving sum;
  for (const change& change : difference.changes) {
    const analyse::offer* const offer = change.judged_offer();
    if (offer == nullptr || !(change.is_taken || change.is_gone())) continue;
    sum.ns += offer->predicted.saved_ns;
    sum.saves_more = sum.saves_more || offer->predicted.saves_more;
    ++sum.sites;
  }
  return sum;
}

std::vector<std::string> notes_on(const whole_comparison& comparison, const diff_request& request) {
  const side &before = comparison.before, &after = comparison.after;
  const bool has_comparable_cpu = is_cpu_comparable(before, after, request);
  std::vector<std::string> notes;
  if (!has_comparable_cpu) notes.emplace_back(incomparable_cpu);
  std::string work_note = load_note(before, after, comparison.difference, has_comparable_cpu);
  if (work_note.empty()) work_note = scale_note(before, after, comparison.kinds, has_comparable_cpu);
  for (std::string note : {programs_note(before, after, comparison.difference, request.hides_names), work_note}) {
    if (!note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace tarn::command::comparison
