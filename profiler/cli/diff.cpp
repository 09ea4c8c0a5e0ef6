// `tarn diff`: shows the changes between two recordings, site by site, with the predicted saving beside the
// achieved.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/advise/difference.hpp"
#include "profiler/base/failure.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/cli/diff_warnings.hpp"
#include "profiler/findings/heap/own_heap.hpp"
#include "profiler/findings/heap/replaced.hpp"
#include "profiler/findings/uses.hpp"
#include "profiler/launch/calibrate.hpp"
#include "profiler/report/html/file.hpp"
#include "profiler/report/html/names.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/values.hpp"
#include "profiler/report/views.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::command {
namespace {

using analyse::change;
using analyse::location_sums;
using analyse::range;
using nlohmann::json;

struct diff_request {
  std::string before, after;
  std::vector<double> cpu_seconds;  // CPU time of both programs without a recorder; empty: not known
  bool as_json = false;
  std::string page;  // file to write the HTML report to; empty: none
  bool hides_names = false;
  std::size_t top = 10;
};

// Compares what both programs did besides their work with the heap. A kind that only one of the two recordings has is
// not compared.
std::vector<compared_uses> compared(const side& before, const side& after) {
  constexpr std::uint64_t wall_parts = 100;  // a time that differs by less than 1 % of the run does not matter
  const std::uint64_t min_ns = std::max(before.wall_ns(), after.wall_ns()) / wall_parts;
  const auto recording_of = [](const side& side) -> const format::recording& { return side.analysis.recording(); };
  std::vector<compared_uses> kinds = {
      {"CPU time", "cpu", "", "sampled", before.has_samples(), after.has_samples(), {}},
      {"Waits", "waits", "", "waited by threads", before.has_samples(), after.has_samples(), {}},
      {"Locks",
       "locks",
       "taken",
       "waited",
       recording_of(before).program.has_source("locks"),
       recording_of(after).program.has_source("locks"),
       {}},
      {"System calls",
       "syscalls",
       "made",
       "in the kernel",
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

// Returns whether the programs did other work, or took another time for the same. How long system calls and waits
// without a lock take is up to the machine and to those who send requests.
bool is_other_work(const compared_uses& kind) {
  const std::string_view member = kind.member;
  return ((member == "cpu" || member == "locks") && kind.uses.has_other_times) || analyse::is_other_work(kind.uses);
}

// Returns the range of the difference: from the least of one minus the most of the other. CPU times of one run each are
// widened by the difference of two runs of the same work on a machine that does other work, too.
range saved_cpu(const side& before, const side& after, const diff_request& request) {
  constexpr double run_to_run_share = 0.1;
  const range cpu_before = before.analysis.whole().cpu_ns, cpu_after = after.analysis.whole().cpu_ns;
  const double run_to_run =
      request.cpu_seconds.empty() ? run_to_run_share * std::max(cpu_before.middle(), cpu_after.middle()) : 0;
  return {cpu_before.low - cpu_after.high - run_to_run, cpu_before.high - cpu_after.low + run_to_run};
}

range predicted_of(const analyse::difference& difference) {
  range sum;
  for (const change& change : difference.changes) {
    if (change.is_taken) sum += change.judged_offer()->predicted.saved_ns;
  }
  return sum;
}

std::string location_text(const location_sums& sums) {
  const std::string file = analyse::file_name(sums.file);
  return sums.line == 0 ? file + ' ' + sums.function : fmt::format("{}:{} {}", file, sums.line, sums.function);
}

std::string verdict(const change& change) {
  const analyse::offer* const offer = change.judged_offer();
  if (offer == nullptr) return "not predicted";
  if (change.is_as_predicted()) return "as predicted";
  const range achieved = change.achieved_ns(), predicted = offer->predicted.saved_ns;
  if (achieved.high < predicted.low) return "less than predicted";
  return achieved.low > predicted.high ? "more than predicted" : "the remedy was not taken";
}

// `before` gives the CPU time that the shares refer to.
void print_change(const analyse::analysis& before, const change& change, std::size_t rank, const paint& style) {
  const location_sums sums = change.after ? *change.after : change.before.value_or(location_sums());
  fmt::print("\n{}. {}\n", rank, style.strong(cut(location_text(sums), text_width - 6)));
  const auto number = [](const std::optional<location_sums>& side) {
    return group_digits(side ? side->allocations : 0);
  };
  const char* const state = change.before && change.after ? "" : change.before ? ", gone" : ", new";
  fmt::print("   {} → {} allocations{}", number(change.before), number(change.after), state);
  if (change.before && change.after && change.before->category != change.after->category) {
    fmt::print("; {} → {}", analyse::name(change.before->category), analyse::name(change.after->category));
  }
  fmt::print("\n");
  const range achieved = change.achieved_ns();
  if (achieved.middle() < 0) {
    fmt::print("   {}\n", style.bad("costs " + change_text(before, {-achieved.high, -achieved.low}) + " more"));
    return;
  }
  fmt::print("   {}\n", style.good(gain_text(before, achieved)));
  if (const analyse::offer* const offer = change.judged_offer()) {
    const std::string replaced_remedy =
        change.taken_instead ? fmt::format(", instead of {},", analyse::name(change.before->first->predicted.remedy))
                             : "";
    fmt::print("   {}\n", cut(fmt::format("{}: {}{} was predicted to save {}", verdict(change),
                                          analyse::name(offer->predicted.remedy), replaced_remedy,
                                          cost_text(before, offer->predicted.saved_ns)),
                              text_width - 3));
  }
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
  const auto change_text = [&](const analyse::use& before, const analyse::use& after, const char* separator) {
    const std::string times = durations_text(before.nanoseconds, after.nanoseconds);
    if (*kind.unit == '\0') return times;
    return fmt::format("{} → {}{}{}", group_digits(before.count), group_digits(after.count), separator, times);
  };
  if (uses.before.count + uses.before.nanoseconds + uses.after.count + uses.after.nanoseconds == 0) return;
  fmt::print("\n{}: {} {}\n", title,
             change_text(uses.before, uses.after, *kind.unit == '\0' ? "" : fmt::format(" {}; ", kind.unit).c_str()),
             kind.time);
  for (std::size_t index = 0; index < std::min(top, uses.changes.size()); ++index) {
    const analyse::use_change& change = uses.changes[index];
    const analyse::use before = change.before.value_or(analyse::use()), after = change.after.value_or(analyse::use());
    const analyse::use& use = change.after ? after : before;
    const std::string amounts = change_text(before, after, ", ");
    const std::string location = fmt::format("{} in {} {}", use.operation, analyse::file_name(use.file), use.function);
    fmt::print("   {} {}\n", cut(location, text_width - 3 - std::min<std::size_t>(amounts.size() + 1, 50)), amounts);
  }
}

// The memory of both programs, and the places where it changed.
struct memory_difference {
  memory_difference(side& before, side& after)
      : earlier(before.analysis.memory()),
        later(after.analysis.memory()),
        changes(analyse::memory_changes(before.sums, after.sums,
                                        {static_cast<double>(before.analysis.recording().program.interval),
                                         static_cast<double>(after.analysis.recording().program.interval)})) {}
  const analyse::memory_findings &earlier, &later;
  std::vector<change> changes;
};

std::string bytes_change(std::uint64_t before, std::uint64_t after) {
  return fmt::format("{} → {}", bytes_text(static_cast<double>(before)), bytes_text(static_cast<double>(after)));
}

void print_memory(const memory_difference& memory, std::size_t top, const paint& style) {
  if (memory.earlier.sites.empty() && memory.later.sites.empty()) return;
  const bool has_peaks = memory.earlier.peak_bytes != 0 && memory.later.peak_bytes != 0;
  const auto change_text = [&](std::uint64_t peak_before, std::uint64_t peak_after, std::uint64_t end_before,
                               std::uint64_t end_after) {
    return (has_peaks ? bytes_change(peak_before, peak_after) + " at the peak; " : "") +
           bytes_change(end_before, end_after) + " at the end";
  };
  fmt::print("\n{}: {}\n", style.bold("Memory"),
             change_text(memory.earlier.peak_bytes, memory.later.peak_bytes, memory.earlier.end_bytes,
                         memory.later.end_bytes));
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
  for (std::size_t index = 0; index < analyse::category_count; ++index) {
    if (difference.before[index] == 0 && difference.after[index] == 0) continue;
    const double earlier = static_cast<double>(difference.before[index]),
                 later = static_cast<double>(difference.after[index]);
    fmt::print("{:>12} {:>14} → {:>14} allocations{}\n", analyse::name(static_cast<analyse::heap_category>(index)),
               group_digits(difference.before[index]), group_digits(difference.after[index]),
               earlier == 0 ? "" : fmt::format(" {:>+8.1f} %", 100 * (later - earlier) / earlier));
  }
}

void print_text(const side& before, const side& after, const analyse::difference& difference,
                const memory_difference& memory, const std::vector<compared_uses>& kinds, const diff_request& request) {
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
  if (!is_unchanged || !request.cpu_seconds.empty())
    fmt::print("{}\n", style.bold(saving_text(before, saved_cpu(before, after, request))));
  if (!is_unchanged && request.cpu_seconds.empty()) {
    fmt::print(
        "CPU times are of one run each, less what recording took; the range allows for 10 % between runs.\n"
        "To narrow it, measure several runs without a recorder, and state their medians: --cpu-seconds.\n");
  }
  if (std::any_of(difference.changes.begin(), difference.changes.end(),
                  [](const change& change) { return change.is_taken; })) {
    fmt::print("The remedies taken were predicted to save {}.\n", cost_text(before.analysis, predicted_of(difference)));
  }
  if (const std::string warning = warning_of(before, after, difference); !warning.empty())
    fmt::print("{}.\n", style.bad("note: " + warning));
  if (const std::string warning = load_warning_of(before, after, difference, kinds); !warning.empty())
    fmt::print("{}.\n", wrap_text(style.bad("note: " + warning), 3));
  fmt::print("before  {}\n", cut(command_line_of(before.analysis.recording()), text_width - 8));
  fmt::print("after   {}\n", cut(command_line_of(after.analysis.recording()), text_width - 8));
  for (const side* const side : {&before, &after}) {
    if (const format::module_facts* const module = own_heap_in(side->analysis.recording())) {
      fmt::print("{}.\n", style.bold(own_heap_text(*module)));
    }
  }
  const bool is_in_before = before.has_heap(), is_in_after = after.has_heap();
  if (is_in_before && is_in_after) {
    fmt::print("The heap costs {}; before it cost {}.\n", cost_text(after.analysis, difference.after_ns),
               cost_text(before.analysis, difference.before_ns));
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

json json_of(const range& bounds) { return {bounds.low, bounds.high}; }

json json_of(const std::optional<analyse::use>& use) {
  if (!use) return nullptr;
  return {{"operation", use->operation},
          {"function", use->function},
          {"file", use->file},
          {"count", use->count},
          {"nanoseconds", use->nanoseconds}};
}

json json_of(const analyse::use_difference& uses, std::size_t top) {
  json changes = json::array();
  for (std::size_t index = 0; index < std::min(top, uses.changes.size()); ++index) {
    changes.push_back({{"before", json_of(uses.changes[index].before)}, {"after", json_of(uses.changes[index].after)}});
  }
  return {{"before", {{"count", uses.before.count}, {"nanoseconds", uses.before.nanoseconds}}},
          {"after", {{"count", uses.after.count}, {"nanoseconds", uses.after.nanoseconds}}},
          {"changes", changes}};
}

json json_of(const std::optional<location_sums>& sums) {
  if (!sums) return nullptr;
  return {{"function", sums->function},
          {"file", sums->file},
          {"line", sums->line},
          {"category", analyse::name(sums->category)},
          {"allocations", sums->allocations},
          {"bytes", sums->bytes},
          {"copied_bytes", sums->copied},
          {"remote_frees", sums->remote_frees},
          {"peak_bytes", sums->peak_bytes},
          {"end_bytes", sums->end_bytes},
          {"now_ns", json_of(sums->now_ns)},
          {"remedy", sums->remedy}};
}

json json_of(const change& change) {
  json predicted;
  if (const analyse::offer* const offer = change.judged_offer()) {
    predicted = {{"name", analyse::name(offer->predicted.remedy)},
                 {"is_taken", change.is_taken},
                 {"saved_ns", json_of(offer->predicted.saved_ns)},
                 {"holds", change.is_as_predicted()}};
  }
  return {{"before", json_of(change.before)},
          {"after", json_of(change.after)},
          {"achieved_ns", json_of(change.achieved_ns())},
          {"predicted", predicted}};
}

json json_of(const memory_difference& memory, std::size_t top) {
  json changes = json::array();
  for (std::size_t index = 0; index < std::min(top, memory.changes.size()); ++index)
    changes.push_back(
        {{"before", json_of(memory.changes[index].before)}, {"after", json_of(memory.changes[index].after)}});
  const auto sums = [](const analyse::memory_findings& side) {
    return json{{"peak_bytes", side.peak_bytes},
                {"end_bytes", side.end_bytes},
                {"peak_range", {side.peak_range.low, side.peak_range.high}},
                {"end_range", {side.end_range.low, side.end_range.high}}};
  };
  return {{"before", sums(memory.earlier)}, {"after", sums(memory.later)}, {"changes", changes}};
}

json json_of(const side& before, const side& after, const analyse::difference& difference,
             const memory_difference& memory, const std::vector<compared_uses>& kinds, const range& saved,
             std::size_t top) {
  json categories = json::object(), changes = json::array();
  for (std::size_t index = 0; index < analyse::category_count; ++index) {
    categories[analyse::name(static_cast<analyse::heap_category>(index))] = {{"before", difference.before[index]},
                                                                             {"after", difference.after[index]}};
  }
  for (std::size_t index = 0; index < std::min(top, difference.changes.size()); ++index) {
    changes.push_back(json_of(difference.changes[index]));
  }
  json result = {{"version", 2},
                 {"allocations", categories},
                 {"heap_ns", {{"before", json_of(difference.before_ns)}, {"after", json_of(difference.after_ns)}}},
                 {"saved_cpu_ns", json_of(saved)},
                 {"predicted_ns", json_of(predicted_of(difference))},
                 {"warning", warning_of(before, after, difference)},
                 {"changes", changes},
                 {"memory", json_of(memory, top)}};
  for (const compared_uses& kind : kinds) result[kind.member] = kind.is_in_both() ? json_of(kind.uses, top) : json();
  return result;
}

// Replaces the names of functions and files by numbers, the same before and after; drops the texts of remedies, which
// contain code.
void redact(json& changes, html_names& names) {
  for (json& change : changes) {
    for (const char* const side : {"before", "after"}) {
      json& description = change[side];
      if (description.is_null()) continue;
      auto [function, file] = names.pseudonyms(description["function"], description["file"]);
      description["function"] = std::move(function);
      description["file"] = std::move(file);
      description.erase("remedy");
    }
  }
}

// Writes an HTML report that has nothing but the difference in it.
void write_difference(json difference, const side& before, const side& after, const diff_request& request) {
  difference["before"] = request.hides_names ? "program" : command_line_of(before.analysis.recording());
  difference["after"] = request.hides_names ? "program" : command_line_of(after.analysis.recording());
  html_names names(request.hides_names);
  if (request.hides_names) {
    difference.erase("warning");  // it names the programs
    redact(difference["changes"], names);
    redact(difference["memory"]["changes"], names);
    for (const char* const member : {"cpu", "waits", "locks", "syscalls"}) {
      if (!difference[member].is_null()) redact(difference[member]["changes"], names);
    }
  }
  names.compact(difference);
  html_file page(request.page);
  page.add(json{{"kind", "difference"}, {"redacted", request.hides_names}, {"difference", difference}}.dump(
      -1, ' ', false, json::error_handler_t::replace));
  page.end();
}

// Fails if the sites of one recording have no names and those of the other one have: they would all count as gone or as
// new. Most often the change was built in the place of the recorded program.
void require_names(const side& side, const std::string& path, const format::recording& counterpart) {
  for (const format::module_facts* module : unreadable_modules(side.analysis.recording())) {
    const bool is_in_both =
        std::any_of(counterpart.modules.begin(), counterpart.modules.end(), [&](const format::module_facts& candidate) {
          return candidate.path == module->path && candidate.build_id == module->build_id;
        });
    const auto is_nameless = [&](const auto& site) { return site.function.empty() && site.file == module->path; };
    const auto has_nameless = [&](const auto& places) {
      return std::any_of(places.begin(), places.end(), is_nameless);
    };
    if (is_in_both || !(has_nameless(side.sums) || has_nameless(side.locks) || has_nameless(side.calls) ||
                        has_nameless(side.samples) || has_nameless(side.waits)))
      continue;
    fail(exit_code::io_error,
         "{} cannot be compared, because its functions have no names: {} {} since it was recorded; put the recorded "
         "build back, or next time record a copy of the program (cp server server.before)",
         path, module->path, ::access(module->path.c_str(), F_OK) == 0 ? "was replaced" : "is gone");
  }
}

void diff(const diff_request& request) {
  if (!request.cpu_seconds.empty() && request.cpu_seconds.size() != 2) {
    fail(exit_code::usage, "--cpu-seconds needs two numbers, such as --cpu-seconds 12.3,10.9");
  }
  if (request.hides_names && request.page.empty()) fail(exit_code::usage, "--redact needs --html OUT");
  if (!request.page.empty()) require_template();
  const bool has_cpu_seconds = !request.cpu_seconds.empty();
  const analyse::cost_model costs = machine_costs(false);
  side before(request.before, costs, has_cpu_seconds ? request.cpu_seconds[0] : 0);
  side after(request.after, costs, has_cpu_seconds ? request.cpu_seconds[1] : 0);
  if (!before.has_heap() || !after.has_heap()) {  // what only one of them has is not compared
    before.sums.clear();
    after.sums.clear();
  }
  require_names(before, request.before, after.analysis.recording());
  require_names(after, request.after, before.analysis.recording());
  const analyse::difference difference = analyse::compare(before.sums, after.sums);
  const memory_difference memory(before, after);
  const std::vector<compared_uses> kinds = compared(before, after);
  const range saved = saved_cpu(before, after, request);
  if (!request.page.empty()) {
    constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
    write_difference(json_of(before, after, difference, memory, kinds, saved, no_limit), before, after, request);
  } else if (request.as_json) {
    const json text = json_of(before, after, difference, memory, kinds, saved, request.top);
    fmt::print("{}\n", text.dump(1, ' ', false, json::error_handler_t::replace));
  } else {
    print_text(before, after, difference, memory, kinds, request);
  }
}

}  // namespace

void add_diff(CLI::App& application) {
  CLI::App* const command =
      application.add_subcommand("diff", "Compare two recordings: what was saved, and what was predicted.");
  const auto request = std::make_shared<diff_request>();
  command->add_option("BEFORE", request->before, "recording before the change")->required();
  command->add_option("AFTER", request->after, "recording of the same work after the change")->required();
  CLI::Option* const as_json =
      command->add_flag("--json", request->as_json, "print JSON (docs/reference/report-json.md)");
  command->add_option("--html", request->page, "write an HTML report of all changes, in one file")
      ->type_name("OUT")
      ->excludes(as_json);
  command->add_flag("--redact", request->hides_names,
                    "leave paths, arguments, your names and the text of remedies out of the HTML report");
  command->add_option("--top", request->top, "number of changes to show; default 10")->type_name("N");
  command
      ->add_option("--cpu-seconds", request->cpu_seconds,
                   "CPU seconds of both programs without a recorder, if you measured them")
      ->delimiter(',')
      ->type_name("BEFORE,AFTER");
  command->callback([request] { diff(*request); });
}

}  // namespace tarn::command
