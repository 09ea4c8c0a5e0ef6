// Prints what `tarn diff` compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/cli/diff.hpp"
#include "profiler/findings/heap/own_malloc.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/values.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::command::comparison {
namespace {

constexpr const char* cpu_seconds_advice =
    "Measure plain runs (perf stat -r 5), and give their CPU seconds: --cpu-seconds BEFORE,AFTER.";

// Compares the measured CPU time with the prediction.
std::string measured_text(const predicted_saving& predicted, const range& saved) {
  if (saved.high < predicted.ns.low) return "the CPU time shows less";
  if (saved.low > predicted.ns.high)
    return predicted.saves_more ? "the CPU time shows more, because such a remedy saves other work, too"
                                : "the CPU time shows more";
  return saved.low > 0 ? "the CPU time saved is as predicted" : "the CPU time does not tell whether they did";
}

std::string location_text(const location_sums& sums) {
  const std::string file = analyse::file_name(sums.file);
  return sums.line == 0 ? file + ' ' + sums.function : fmt::format("{}:{} {}", file, sums.line, sums.function);
}

// Formats "24 million allocations are gone, as predicted of hoist", if fewer are left.
std::string removal_text(const change& change) {
  const std::uint64_t earlier = change.before ? change.before->allocations : 0,
                      later = change.after ? change.after->allocations : 0;
  if (earlier <= later) return {};
  const auto amount = [&](std::uint64_t count) {
    const bool is_exact = change.before->variance == 0 && (!change.after || change.after->variance == 0);
    return is_exact ? group_digits(count) : "about " + rough_count(count);
  };
  const std::string removal =
      fmt::format("{} allocation{} gone", amount(earlier - later), earlier - later == 1 ? " is" : "s are");
  if (!change.is_taken) return removal;
  const char* const remedy = analyse::name(change.judged_offer()->predicted.remedy);
  const std::string predicted = amount(change.predicted_allocations());
  switch (change.outcome()) {
    case analyse::count_outcome::fewer_gone:
      return fmt::format("{}, fewer than predicted of {} ({})", removal, remedy, predicted);
    case analyse::count_outcome::more_gone:
      return fmt::format("{}, more than predicted of {} ({})", removal, remedy, predicted);
    default: return fmt::format("{}, as predicted of {}", removal, remedy);
  }
}

// Returns the figure of the model, which nothing measures.
std::string model_text(const analyse::analysis& before, const range& saved) {
  if (saved.middle() < 0)
    return fmt::format("costs {} more by the model", change_text(before, {-saved.high, -saved.low}));
  return fmt::format("worth {} by the model", cost_text(before, saved));
}

std::string prediction_text(const analyse::analysis& before, const change& change) {
  const analyse::offer* const offer = change.judged_offer();
  if (offer == nullptr) return {};
  const std::string predicted = fmt::format("{} was predicted to save {}", analyse::name(offer->predicted.remedy),
                                            cost_text(before, offer->predicted.saved_ns));
  if (change.is_gone()) return predicted + "; a site that is gone does not show whether it was taken";
  if (!change.is_taken) return predicted + "; it was not taken";
  if (!change.taken_instead) return predicted;
  return fmt::format("{}; the first remedy was {}", predicted, analyse::name(change.before->first->predicted.remedy));
}

// Returns an exact count in all digits, and an estimate as a report does.
std::string estimated_text(std::uint64_t count, double error) {
  if (error == 0) return group_digits(count);
  if (error >= 1) return "some";
  return fmt::format("about {} (± {:.0f} %)", group_digits(round_to_error(count, error)), std::ceil(error * 100));
}

// Formats "1,234 → 56", or "about 1,200 → 56" where one is an estimate.
std::string counts_text(std::uint64_t before, double error_before, std::uint64_t after, double error_after) {
  return fmt::format("{}{} → {}", error_before != 0 || error_after != 0 ? "about " : "",
                     group_digits(round_to_error(before, error_before)),
                     group_digits(round_to_error(after, error_after)));
}

// `before` gives the CPU time that the shares refer to.
void print_change(const analyse::analysis& before, const change& change, std::size_t rank, const paint& style) {
  const location_sums sums = change.after ? *change.after : change.before.value_or(location_sums());
  fmt::print("\n{}. {}\n", rank, style.strong(cut(location_text(sums), text_width - 6)));
  const auto number = [](const std::optional<location_sums>& side) {
    return side ? estimated_text(side->allocations, side->error()) : "0";
  };
  const char* const state = change.before && change.after ? "" : change.before ? ", gone" : ", new";
  fmt::print("   {} → {} allocations{}", number(change.before), number(change.after), state);
  if (change.before && change.after && change.before->category != change.after->category) {
    fmt::print("; {} → {}", analyse::name(change.before->category), analyse::name(change.after->category));
  }
  fmt::print("\n");
  const range saved = change.model_saved_ns();
  const std::string removal = removal_text(change);
  const std::string text = wrap_text((removal.empty() ? "" : removal + "; ") + model_text(before, saved), 3);
  fmt::print("   {}\n", saved.middle() < 0 ? style.bad(text) : style.good(text));
  if (saved.middle() < 0) return;
  if (const std::string predicted = prediction_text(before, change); !predicted.empty())
    fmt::print("   {}\n", wrap_text(predicted, 3));
}

// Returns the times of a kind. Those of system calls that wait are apart: they depend on others.
std::string times_text(const compared_uses& kind) {
  constexpr std::size_t max_operations = 3;
  const analyse::use &before = kind.uses.before, &after = kind.uses.after;
  const std::string times =
      durations_text(before.nanoseconds - before.waiting_ns, after.nanoseconds - after.waiting_ns) + ' ' + kind.time;
  const std::set<std::string>& operations = kind.uses.waiting_operations;
  if (operations.empty()) return times;
  const std::vector<std::string> names(operations.begin(),
                                       std::next(operations.begin(), std::min(max_operations, operations.size())));
  return fmt::format("{}, and {} in calls that wait ({}{})", times, durations_text(before.waiting_ns, after.waiting_ns),
                     fmt::join(names, ", "), operations.size() > max_operations ? ", …" : "");
}

// Prints uses of one kind, where either program has any.
void print_uses(const compared_uses& kind, std::size_t top, const paint& style) {
  if (!kind.is_in_before && !kind.is_in_after) return;
  const std::string title = style.bold(kind.title);
  if (!kind.is_in_both()) {
    fmt::print("\n{}: not compared, because the recording {} the change has none\n", title,
               kind.is_in_before ? "after" : "before");
    return;
  }
  const analyse::use_difference& uses = kind.uses;
  if (uses.before.count + uses.before.nanoseconds + uses.after.count + uses.after.nanoseconds == 0) return;
  const std::string counts = *kind.unit == '\0'
                                 ? ""
                                 : fmt::format("{} → {} {}; ", estimated_text(uses.before.count, uses.before.error()),
                                               estimated_text(uses.after.count, uses.after.error()), kind.unit);
  const std::string text = wrap_text(fmt::format("{}: {}{}", kind.title, counts, times_text(kind)), 3);
  fmt::print("\n{}{}\n", title, text.substr(std::string_view(kind.title).size()));
  std::size_t printed_changes = 0, other_changes = 0;
  for (const analyse::use_change& change : uses.changes) {
    if (!change.is_relevant) ++other_changes;
    if (!change.is_relevant || printed_changes == top) continue;
    ++printed_changes;
    const analyse::use before = change.before.value_or(analyse::use()), after = change.after.value_or(analyse::use());
    const analyse::use& use = change.after ? after : before;
    std::string amounts = durations_text(before.nanoseconds, after.nanoseconds);
    if (*kind.unit != '\0')
      amounts = counts_text(before.count, before.error(), after.count, after.error()) + ", " + amounts;
    const std::string location = fmt::format("{} in {} {}", use.operation, analyse::file_name(use.file), use.function);
    fmt::print("   {} {}\n", cut(location, text_width - 3 - std::min<std::size_t>(amounts.size() + 1, 50)), amounts);
  }
  if (other_changes != 0) fmt::print("   {} too small to matter: --json\n", count_text(other_changes, "change"));
}

std::string bytes_change(std::uint64_t before, std::uint64_t after) {
  return fmt::format("{} → {}", bytes_text(static_cast<double>(before)), bytes_text(static_cast<double>(after)));
}

// Returns whether the same bytes may be behind both figures, of which at least one is an estimate.
bool is_within_error(const analyse::figure_range& before, const analyse::figure_range& after) {
  return !(before.is_exact() && after.is_exact()) && before.low <= after.high && after.low <= before.high;
}

// Returns the first line: both figures, or that there is no change.
std::string memory_text(const memory_difference& memory, bool has_peaks) {
  constexpr const char* no_change = "no change beyond the error";
  const bool has_same_peak = is_within_error(memory.earlier.peak_range, memory.later.peak_range),
             has_same_end = is_within_error(memory.earlier.end_range, memory.later.end_range);
  if (has_peaks && has_same_peak && has_same_end) return fmt::format("{}, at the peak and at the end", no_change);
  const std::string peak = has_same_peak ? no_change : bytes_change(memory.earlier.peak_bytes, memory.later.peak_bytes);
  const std::string end = has_same_end ? no_change : bytes_change(memory.earlier.end_bytes, memory.later.end_bytes);
  return (has_peaks ? peak + " at the peak; " : "") + end + " at the end";
}

void print_memory(const memory_difference& memory, std::size_t top, const paint& style) {
  if (memory.earlier.sites.empty() && memory.later.sites.empty()) return;
  const bool has_peaks = memory.earlier.peak_bytes != 0 && memory.later.peak_bytes != 0;
  const auto change_text = [&](std::uint64_t peak_before, std::uint64_t peak_after, std::uint64_t end_before,
                               std::uint64_t end_after) {
    return (has_peaks ? bytes_change(peak_before, peak_after) + " at the peak; " : "") +
           bytes_change(end_before, end_after) + " at the end";
  };
  fmt::print("\n{}: {}\n", style.bold("Memory"), memory_text(memory, has_peaks));
  const auto is_estimate = [&](const analyse::memory_findings& side) {
    return !side.end_range.is_exact() || (has_peaks && !side.peak_range.is_exact());
  };
  if (is_estimate(memory.earlier) || is_estimate(memory.later)) {
    const auto ranges_text = [](const analyse::figure_range& before, const analyse::figure_range& after) {
      return fmt::format("{}–{} → {}–{}", bytes_text(before.low), bytes_text(before.high), bytes_text(after.low),
                         bytes_text(after.high));
    };
    fmt::print("   these are estimates, within\n");
    if (has_peaks) fmt::print("   {} at the peak\n", ranges_text(memory.earlier.peak_range, memory.later.peak_range));
    fmt::print("   {} at the end\n", ranges_text(memory.earlier.end_range, memory.later.end_range));
  }
  for (std::size_t index = 0; index < std::min(top, memory.changes.size()); ++index) {
    const change& change = memory.changes[index];
    const location_sums before = change.before.value_or(location_sums()),
                        after = change.after.value_or(location_sums());
    const std::string amounts = change_text(before.peak_bytes, after.peak_bytes, before.end_bytes, after.end_bytes);
    fmt::print("   {}  {}\n", cut(location_text(change.after ? after : before), text_width - 5 - amounts.size()),
               amounts);
  }
}

// Returns the saving of the change as one figure with its range. Without a measured CPU time, the recorders' own time
// is subtracted.
std::string saving_text(const side& before, const range& saved) {
  if (saved.low > 0) return fmt::format("Faster: saves {}.", cost_text(before.analysis, saved));
  if (saved.high < 0)
    return fmt::format("Slower: costs {} more.", change_text(before.analysis, {-saved.high, -saved.low}));
  if (!before.analysis.knows_cpu_time())
    return fmt::format("No clear difference: saves {}.", cost_text(before.analysis, saved));
  if (saved.low == 0 && saved.high == 0) return "No clear difference: the CPU time is the same.";
  const range share = before.analysis.ratio(saved) * 100;
  const auto percent = [](double value) { return fmt::format("{:.{}f} %", value, value < 1 && value > 0 ? 1 : 0); };
  const double middle = share.middle();
  return fmt::format("No clear difference: about {} {} CPU ({} more to {} less).", percent(std::fabs(middle)),
                     middle < 0 ? "more" : "less", percent(std::fabs(share.low)), percent(share.high));
}

void print_allocations(const analyse::difference& difference) {
  constexpr double min_base = 100;  // a share of fewer allocations tells nothing
  for (std::size_t index = 0; index < analyse::category_count; ++index) {
    if (difference.before[index] == 0 && difference.after[index] == 0) continue;
    const double earlier = static_cast<double>(difference.before[index]),
                 later = static_cast<double>(difference.after[index]);
    const auto count_of = [&](std::uint64_t count, double variance) {
      location_sums sums;
      sums.allocations = count;
      sums.variance = variance;
      return (variance == 0 ? "" : "about ") + group_digits(round_to_error(count, sums.error()));
    };
    fmt::print("{:>12} {:>20} → {:>20} allocations{}\n", analyse::name(static_cast<analyse::heap_category>(index)),
               count_of(difference.before[index], difference.before_variance[index]),
               count_of(difference.after[index], difference.after_variance[index]),
               earlier < min_base ? "" : fmt::format(" {:>+8.1f} %", 100 * (later - earlier) / earlier));
  }
}

}  // namespace

std::string durations_text(std::uint64_t before, std::uint64_t after) {
  std::string first = duration_text(before);
  const std::string second = duration_text(after), unit = second.substr(second.find(' '));
  if (first.ends_with(unit)) first.resize(first.size() - unit.size());
  return fmt::format("{} → {}", first, second);
}

void print_text(const whole_comparison& comparison, const diff_request& request) {
  const auto& [before, after, difference, memory, kinds] = comparison;
  const paint style;
  const bool is_unchanged =
      difference.changes.empty() && memory.changes.empty() && std::none_of(kinds.begin(), kinds.end(), is_other_work);
  const bool is_equal = is_unchanged && std::all_of(kinds.begin(), kinds.end(), [](const compared_uses& kind) {
                          return kind.uses.changes.empty();
                        });
  const bool has_common = (before.has_heap() && after.has_heap()) ||
                          std::any_of(kinds.begin(), kinds.end(), [](const auto& kind) { return kind.is_in_both(); });
  if (is_unchanged) {
    fmt::print("{}\n", style.bold(!has_common ? "Not comparable: the recordings have no source in common."
                                  : is_equal  ? "No change."
                                              : "No change that matters."));
  }
  // Without a change, the difference would come from the recorders' own time and from the machine.
  const bool has_comparable_cpu = is_cpu_comparable(before, after, request);
  const analyse::measured_saving saved = saved_cpu(comparison, request);
  if (has_comparable_cpu && (!is_unchanged || !request.cpu_seconds.empty()))
    fmt::print("{}\n", style.bold(saving_text(before, saved.ns)));
  if (!has_comparable_cpu && !is_unchanged) {
    fmt::print("{}\n{}\n", style.bold(fmt::format("{}.", incomparable_cpu)), cpu_seconds_advice);
  } else if (!is_unchanged && request.cpu_seconds.empty()) {
    fmt::print(
        "CPU times are of one run each, less what recording took; the range allows for {} % between runs{}.\n"
        "To narrow it, measure several runs without a recorder, and state their medians: --cpu-seconds.\n",
        saved.is_explained ? 10 : 50,
        saved.is_explained ? "" : ",\nbecause the changed sites do not explain their difference");
    if (!before.has_locks() || !after.has_locks()) {
      fmt::print("If threads wait for locks, this range is too narrow: the recordings do not show it (--locks).\n");
    }
  }
  if (const predicted_saving predicted = predicted_of(difference); predicted.sites != 0) {
    const std::string measured = has_comparable_cpu ? "; " + measured_text(predicted, saved.ns) : "";
    fmt::print(
        "{}.\n",
        wrap_text(fmt::format("The prediction for the remedies that were applied, or whose site is gone: {}{}",
                              gain_text(before.analysis, predicted.ns, predicted.saves_more ? allocator_alone : ""),
                              measured),
                  3));
  }
  for (const std::string& note : notes_on(comparison, request)) {
    if (note != incomparable_cpu) fmt::print("{}.\n", style.bad(wrap_text("note: " + note, 3)));
  }
  fmt::print("before  {}\n", cut(command_line_of(before.analysis.recording()), text_width - 8));
  fmt::print("after   {}\n", cut(command_line_of(after.analysis.recording()), text_width - 8));
  for (const side* const side : {&before, &after}) {
    if (const format::module_facts* const module = own_malloc_in(side->analysis.recording())) {
      fmt::print("{}.\n", style.bold(own_malloc_text(*module)));
    }
  }
  const bool is_in_before = before.has_heap(), is_in_after = after.has_heap();
  if (is_in_before && is_in_after) {
    // A report replays what the heap does, which two recordings of unequal excerpts cannot be compared by.
    const std::string costs =
        fmt::format("By the cost model alone, the heap costs {}; before it cost {}",
                    cost_text(after.analysis, difference.after_ns), cost_text(before.analysis, difference.before_ns));
    fmt::print("{}.\n", wrap_text(costs + " (tarn report also replays it, so that its figures differ)", 3));
    print_allocations(difference);
    if (difference.changes.empty()) fmt::print("No site changed.\n");
  } else if (is_in_before || is_in_after) {
    fmt::print("The heap is not compared, because the recording {} the change does not have it.\n",
               is_in_before ? "after" : "before");
  }
  for (std::size_t index = 0; index < std::min(request.top, difference.changes.size()); ++index) {
    print_change(before.analysis, difference.changes[index], index + 1, style);
  }
  if (is_in_before && is_in_after) print_memory(memory, request.top, style);
  for (const compared_uses& kind : kinds) print_uses(kind, request.top, style);
}

}  // namespace tarn::command::comparison
