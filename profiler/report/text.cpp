// Prints a report for a person: a summary in ten lines, then the sites, the most expensive first.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "profiler/advise/verdict.hpp"
#include "profiler/findings/heap/own_malloc.hpp"
#include "profiler/findings/heap/replaced.hpp"
#include "profiler/findings/limits.hpp"
#include "profiler/findings/time/thread_roles.hpp"
#include "profiler/findings/unrecorded.hpp"
#include "profiler/findings/waits/stacks.hpp"
#include "profiler/predict/recording_cost.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/sections.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using analyse::code_location;
using format::counter;

constexpr std::size_t shown_callers = 2;  // per site; the JSON has all
constexpr std::size_t max_remedies = 3;
constexpr double little_share = 0.01;  // of the CPU time

std::string end_text(const format::recording& recording) {
  const std::string process =
      recording.program.parent == 0
          ? ""
          : fmt::format("process {} (descendant of {}); ", recording.program.process, recording.program.parent);
  if (recording.has_ended && recording.end.is_running) return process + "still running when the recording ended";
  if (recording.has_ended && recording.end.has_unknown_way) return process + "ended; how was not seen";
  if (recording.has_ended) {
    return fmt::format("{}{} {}", process, recording.end.status_is_signal ? "killed by signal" : "exit code",
                       recording.end.status);
  }
  return process + (process.empty() ? "still running, or lost its recorder" : "how it ended was not seen");
}

// Rounds an estimate to the digits that its error allows, but not above the program's exact total.
std::uint64_t rounded_within(std::uint64_t count, double error, std::uint64_t total) {
  return std::min(round_to_error(count, error), std::max(count, total));
}

double seconds(std::uint64_t microseconds) { return static_cast<double>(microseconds) / 1e6; }
// An estimated part may be more than the whole.
double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : std::min(100.0 * static_cast<double>(part) / static_cast<double>(whole), 100.0);
}

std::string size_text(const analyse::site& site) {
  const auto is_used = [&](std::size_t bucket) { return site.sums[counter::size_buckets + bucket] != 0; };
  std::size_t low = 0, high = counter::size_bucket_count - 1;
  while (low < high && !is_used(low)) ++low;
  while (high > low && !is_used(high)) --high;
  const std::string smallest = low == 0 ? "1" : group_digits(format::size_bucket_end(low - 1) + 1);
  if (high == counter::size_bucket_count - 1) return smallest + " bytes and more";
  const std::string largest = group_digits(format::size_bucket_end(high));
  return low == 0 ? fmt::format("up to {} bytes", largest) : fmt::format("{} to {} bytes", smallest, largest);
}

std::string thread_text(const analyse::analysis& analysis, const analyse::site& site) {
  const format::recording& recording = analysis.recording();
  const analyse::heap_findings& heap = analysis.heap();
  std::string text = "allocated by " + thread_count_text(site.threads, site.may_have_more_threads);
  if (site.remote_frees == 0) {
    text += site.freed_by_same_thread == 0                     ? ", not freed"
            : site.threads == 1 && !site.may_have_more_threads ? ", freed by the same"
                                                               : ", freed by the allocating thread";
  } else {
    const std::string by_same = site.freed_by_same_thread == 0
                                    ? ""
                                    : group_digits(rounded_within(site.freed_by_same_thread, site.error, heap.frees)) +
                                          " freed by the allocating thread, ";
    text += fmt::format("; {}{} {}by others", by_same,
                        group_digits(rounded_within(site.remote_frees, site.error, heap.frees)),
                        by_same.empty() ? "freed " : "");
  }
  if (site.error >= 1)
    text += "; counts of too few samples";
  else if (site.error != 0)
    text += fmt::format("; counts ± {:.0f} %", std::ceil(site.error * 100));
  if (site.live != 0)
    text += fmt::format("; {} in use at the end", group_digits(rounded_within(site.live, site.error, heap.live)));
  // The pairs are sorted by their blocks.
  if (!site.handovers.empty() && site.handovers.front().blocks * 2 > site.remote_frees) {
    const analyse::handover& most_frequent = site.handovers.front();
    const std::uint32_t allocating = recording.threads[most_frequent.allocating_thread].id;
    const bool has_ended = most_frequent.allocating_thread == format::ended_threads && allocating == 0;
    text +=
        fmt::format("; mostly: thread {} freed what {} allocated", recording.threads[most_frequent.freeing_thread].id,
                    has_ended ? "ended threads" : fmt::format("thread {}", allocating));
  }
  return text;
}

void print_offer(const analyse::analysis& analysis, const analyse::offer& offer, const paint& style) {
  const std::string gain =
      gain_text(analysis, offer.predicted.saved_ns, offer.predicted.saves_more ? allocator_alone : "");
  fmt::print("   → {}\n     {}\n", style.good(gain), wrap_text(offer.suggestion.text, 5));
  // Code is to be copied, so it stays whole on one line.
  if (!offer.suggestion.code.empty()) fmt::print("     {}\n", style.bold(offer.suggestion.code));
  if (!offer.suggestion.note.empty())
    fmt::print("     {}\n", style.faint(wrap_text("note: " + offer.suggestion.note, 5)));
}

// Says why the range of a saving is wide, if its ends differ by that factor or more.
void print_width(const analyse::site_view& view, const paint& style) {
  constexpr double wide_factor = 8;
  const analyse::range& saved_ns = view.offers.front().predicted.saved_ns;
  if (saved_ns.high <= 0 || saved_ns.high < wide_factor * saved_ns.low || view.predicted.reasons.empty()) return;
  std::string text = "wide range: ";
  for (const std::string& reason : view.predicted.reasons)
    text += (&reason == view.predicted.reasons.data() ? "" : "; ") + reason;
  fmt::print("     {}\n", style.faint(wrap_text(text, 5)));
}

// Describes a function without a name by the next one up the stack that has a name.
std::string deciding_text(const analyse::site_view& view, const code_location& location) {
  std::string text = location_text(location, 60);
  if (!location.function.empty()) return text;
  const auto named = std::find_if(view.stack.begin() + static_cast<std::ptrdiff_t>(view.frame_index), view.stack.end(),
                                  [](const code_location& frame) { return !frame.function.empty(); });
  if (named == view.stack.end() || view.callers.size() > 1) return text;
  return text.append(", for ").append(function_text(*named, 60));
}

// Prints the next two functions up the stack; of several stacks it prints the most frequent callers.
void print_callers(const analyse::site_view& view, const paint& style) {
  if (view.callers.size() < 2) {
    std::size_t printed_callers = 0;
    for (std::size_t up = view.frame_index + 1; up < view.stack.size() && printed_callers < shown_callers; ++up) {
      if (analyse::is_runtime_code(view.stack[up])) continue;  // such as the code that starts a thread
      fmt::print("   {}\n", style.faint("by " + location_text(view.stack[up], text_width - 6)));
      ++printed_callers;
    }
    return;
  }
  std::size_t printed_callers = std::min(view.callers.size(), shown_callers + 1);
  while (printed_callers > 1 && view.callers[printed_callers - 1].blocks * 100 < view.facts.sums[counter::blocks])
    --printed_callers;
  for (std::size_t index = 0; index < printed_callers; ++index) {
    const analyse::caller& caller = view.callers[index];
    const std::string share = fmt::format("{:>3.0f} % by ", percent(caller.blocks, view.facts.sums[counter::blocks]));
    const std::string remainder = index + 1 == printed_callers && view.callers.size() > printed_callers
                                      ? fmt::format(", and {} more", view.callers.size() - printed_callers)
                                      : "";
    fmt::print("   {}\n",
               style.faint(fmt::format("{}{}{}", share,
                                       location_text(caller.location, text_width - 14 - remainder.size()), remainder)));
  }
}

// Blocks that start-up made or that are kept to the end accumulate anyway.
bool is_called_accumulated(const analyse::site& site) {
  using enum analyse::heap_category;
  return (site.category == same_thread || site.category == cross_thread) && analyse::is_accumulated(site);
}

std::vector<std::string> titles_of(const std::vector<analyse::site_view>& views) {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> details;
  for (const analyse::site_view& view : views) {
    const code_location* const location = view.location();
    titles.push_back(location == nullptr ? "sites beyond the recorder's limit" : deciding_text(view, *location));
    details.push_back({analyse::name(view.facts.category), size_text(view.facts),
                       analyse::is_short_lived(view.facts) ? "short-lived" : "longer-lived"});
  }
  return distinct_titles(std::move(titles), details);
}

void print_site(const analyse::analysis& analysis, const analyse::site_view& view, const std::string& plain_title,
                std::size_t rank, bool has_alternatives, const paint& style) {
  const analyse::site& site = view.facts;
  const std::string title = style.strong(plain_title);
  const bool has_gain = view.is_worth_it && !view.remedy.empty();
  if (!has_gain && analysis.knows_cpu_time() && analysis.share(view.predicted.now_ns).high < little_share) {
    fmt::print("\n{}. {}  {}; nothing to gain\n", rank, title, cost_text(analysis, view.predicted.now_ns));
    return;
  }
  fmt::print("\n{}. {}  {}\n", rank, title, cost_text(analysis, view.predicted.now_ns));
  if (!view.allocation.source.empty()) fmt::print("   {}\n", style.faint(cut(view.allocation.source, text_width - 3)));
  if (view.allocation.is_source_newer)
    fmt::print("   {}\n", style.faint("its source is newer than the program, so the line is not shown"));
  fmt::print(
      "   {}\n",
      wrap_text(
          fmt::format("{}{}: {}, {}, {} each{}", analyse::name(site.category),
                      is_called_accumulated(site) ? ", accumulated" : "",
                      count_text(rounded_within(site.sums[counter::blocks], site.error, analysis.heap().allocations),
                                 "allocation"),
                      site.freed_by_same_thread == 0
                          ? "none freed by its own thread"
                          : fmt::format("{:.0f} % short-lived", percent(site.short_lived, site.freed_by_same_thread)),
                      size_text(site), view.allocation.type.empty() ? "" : ", " + view.allocation.type),
          3));
  fmt::print("   {}\n", wrap_text(thread_text(analysis, site), 3));
  print_callers(view, style);
  if (!has_gain) {
    fmt::print("   → nothing to gain\n");
    return;
  }
  const std::size_t offers = std::min(has_alternatives ? max_remedies : 1, view.offers.size());
  for (std::size_t number = 0; number < offers; ++number) print_offer(analysis, view.offers[number], style);
  if (offers != 0) print_width(view, style);
  const bool has_better = std::any_of(
      view.offers.begin() + static_cast<std::ptrdiff_t>(offers), view.offers.end(), [&](const analyse::offer& hidden) {
        return hidden.predicted.saved_ns.middle() > view.offers.front().predicted.saved_ns.middle();
      });
  if (has_better && !has_alternatives)
    fmt::print("     {}\n", style.faint("another remedy saves more: --alternatives"));
  if (view.offers.empty()) fmt::print("   → {}\n", wrap_text(view.remedy, 5));
  if (!view.unjudged_remedy.empty())
    fmt::print("     {}\n", style.faint(wrap_text("note: " + view.unjudged_remedy, 5)));
}

void print_categories(analyse::analysis& analysis) {
  const analyse::heap_findings& heap = analysis.heap();
  std::uint64_t estimated = 0;  // the estimate over all sites; with sampling it differs a little from the exact total
  for (const analyse::site& site : heap.sites) estimated += site.sums[counter::blocks];
  for (const auto kind : {analyse::heap_category::same_thread, analyse::heap_category::cross_thread,
                          analyse::heap_category::start_up, analyse::heap_category::kept}) {
    std::uint64_t sites = 0, blocks = 0, accumulated_blocks = 0;
    for (const analyse::site& site : analysis.grouped_sites()) {
      if (site.category != kind) continue;
      ++sites;
      blocks += site.sums[counter::blocks];
      if (is_called_accumulated(site)) accumulated_blocks += site.sums[counter::blocks];
    }
    if (sites == 0) continue;
    fmt::print(
        "{:>12} {:>14} allocations {:>5.1f} %, at {}{}\n", analyse::name(kind), group_digits(blocks),
        percent(blocks, estimated), count_text(sites, "site"),
        accumulated_blocks == 0 ? "" : fmt::format("; {:.1f} % accumulated", percent(accumulated_blocks, estimated)));
  }
}

void print_program(analyse::analysis& analysis, const paint& style) {
  const format::recording& recording = analysis.recording();
  fmt::print("{}\n", style.bold(cut(command_line_of(recording), text_width)));
  std::string times;
  if (recording.part != format::interval{}) {
    times = fmt::format("; of that from {:.2f} to {:.2f} s", seconds(recording.part.from_ns / 1000),
                        seconds(recording.part.to_ns / 1000));
  }
  if (recording.has_ended) {
    times += fmt::format("; ran {:.2f} s, used {:.2f} s of CPU time", seconds(recording.end.wall_us),
                         seconds(recording.end.user_us + recording.end.system_us));
  }
  // A recording of locks alone has only the threads that took one.
  const std::size_t threads = count_of_threads(recording);
  fmt::print("{}{}{}\n", end_text(recording), times, threads == 0 ? "" : "; " + count_text(threads, "thread"));
}

// Says for how much of the run no thread was on a processor, if that is most of it: the shares below leave that time
// out.
void print_idle_time(analyse::analysis& analysis) {
  const format::recording& recording = analysis.recording();
  const double cpu_s = seconds(recording.end.user_us + recording.end.system_us),
               wall_s = seconds(recording.end.wall_us);
  if (!recording.has_ended || recording.part != format::interval{} || cpu_s >= wall_s / 2) return;
  fmt::print(
      "{}\n",
      wrap_text(fmt::format(
                    "For {}{:.0f} % of the run none of its threads was on a processor{}. Shares are of {} of CPU time.",
                    count_of_threads(recording) > 1 ? "at least " : "", std::floor(100 * (1 - cpu_s / wall_s)),
                    recording.cpu.interval_ns != 0            ? "; see Time"
                    : analysis.lasting_waits().groups.empty() ? ": tarn record --cpu shows why"
                                                              : "",
                    duration_text(analysis.whole().cpu_ns.middle())),
                3));
}

void print_heap_summary(analyse::analysis& analysis) {
  const analyse::heap_findings& heap = analysis.heap();
  const analyse::program_costs& whole = analysis.whole();
  const char* const block = analysis.recording().part != format::interval{} ? "more block" : "block";
  const std::string ended_blocks =
      heap.ended_blocks == 0 ? "" : count_text(heap.ended_blocks, "block") + " ended with an exec; ";
  fmt::print("{}, {}; {}; {}{} in use at the end\n", count_text(heap.allocations, "allocation"),
             bytes_text(static_cast<double>(heap.bytes)), count_text(heap.frees, "free"), ended_blocks,
             count_text(heap.live, block));
  print_categories(analysis);
  const bool is_little = analysis.knows_cpu_time() && analysis.share(whole.heap_ns).high < little_share;
  fmt::print("The heap costs {}{}.\n", cost_text(analysis, whole.heap_ns), is_little ? ": little to gain" : "");
}

}  // namespace

std::string verdict_text(analyse::analysis& analysis, const analyse::verdict& verdict, bool names_site) {
  using enum analyse::judged_source;
  if (verdict.judged == analyse::judgement::unpredicted) {
    return fmt::format("What the remedies of the {} below save is not predicted.", verdict.source == locks   ? "locks"
                                                                                   : verdict.source == calls ? "calls"
                                                                                                             : "sites");
  }
  if (verdict.source == locks) {
    const double wall_ns = analysis.whole().wall_ns;
    const std::vector<code_location> stack = analysis.stack(verdict.site);
    std::string unfinished;
    if (verdict.in_deadlock != 0) {
      unfinished =
          verdict.in_deadlock == 1
              ? "A deadlock: 1 thread waited for itself until the end. "
              : fmt::format("A deadlock: {} threads waited for each other until the end. ", verdict.in_deadlock);
    } else if (verdict.still_waiting != 0) {
      unfinished = fmt::format("{} still waited at the end. ", count_text(verdict.still_waiting, "thread"));
    }
    // In a deadlock all that counts is that the threads wait for each other.
    const bool is_for_processor = verdict.in_deadlock == 0 && verdict.held_ns < verdict.waited_ns / 2;
    const std::string processor =
        is_for_processor ? fmt::format(" Most of that was for a processor: another thread had the lock for {} of it.",
                                       duration_text(verdict.held_ns))
                         : "";
    const std::string waiters = verdict.waiters == 0 ? "Threads" : count_text(verdict.waiters, "thread");
    std::string idle;
    if (verdict.idle_wakeups != 0) {
      const std::vector<code_location> idle_stack = analysis.stack(verdict.idle_site);
      idle = fmt::format("Threads were woken {} to wait again at once{}.", count_text(verdict.idle_wakeups, "time"),
                         idle_stack.empty() || !names_site
                             ? ""
                             : ", at " + location_text(idle_stack[analyse::own_frame_index(idle_stack)], 32));
      if (verdict.waited_ns == 0 && unfinished.empty()) return idle;
      idle += ' ';
    }
    return idle + fmt::format("{}{}{} waited {} for locks{}{}.{}", unfinished, waiters,
                              verdict.waiters > 1 ? " together" : "", duration_text(verdict.waited_ns),
                              wall_ns > 0 ? " in a run of " + duration_text(wall_ns) : "",
                              stack.empty() || !names_site
                                  ? ""
                                  : ", most at " + location_text(stack[analyse::own_frame_index(stack)], 32),
                              processor);
  }
  return fmt::format("The {} at {}{} {}.", verdict.source == heap ? "first remedy" : "remedy",
                     verdict.remedies > 1 ? "each of " : "", count_text(verdict.remedies, "site"),
                     gain_text(analysis, verdict.saved_ns,
                               !verdict.is_at_least     ? ""
                               : verdict.source == heap ? allocator_alone
                                                        : calls_alone));
}

namespace {

// Returns true for a recording that was cut before its first event.
bool has_lost_all(const format::recording& recording) {
  return (!recording.damage.empty() || !recording.has_ended) && recording.cells.empty() &&
         recording.acquisitions.empty() && recording.calls.empty() && recording.cpu.cells.empty();
}

// Returns what to say where no source has a remedy: which were recorded, and the next step.
std::string nothing_text(analyse::analysis& analysis, bool is_complete) {
  const format::recording& recording = analysis.recording();
  std::vector<std::string> sources;
  for (const char* const source : {"heap", "locks", "system calls"}) {
    if (recording.program.has_source(source)) sources.emplace_back(source);
  }
  const bool has_orders = !analysis.orders().inversions.empty();
  std::string text = has_orders ? "No other remedy found for " : "No remedy found for ";
  for (std::size_t index = 0; index < sources.size(); ++index)
    text += (index == 0 ? "" : index + 1 == sources.size() ? " or " : ", ") + sources[index];
  const analyse::time_findings& time = analysis.time();
  if (has_orders && possible_deadlock_text(analysis).empty()) text += "; see Orders of locks";
  if (time.unplaced_ns != 0 || !time.waits.empty()) return text + "; see Waiting.";
  if (!recording.cpu.cells.empty()) return text + "; see CPU.";
  const analyse::lasting_findings& lasting = analysis.lasting_waits();
  if (lasting.in_deadlock != 0) {
    const bool is_later = std::any_of(lasting.groups.begin(), lasting.groups.end(),
                                      [](const auto& group) { return group.is_deadlock_later; });
    return fmt::format("A deadlock: {} waited for {}{} until its end.", count_text(lasting.in_deadlock, "thread"),
                       lasting.in_deadlock == 1 ? "itself" : "each other",
                       is_later ? ", some of them since a time in the recording," : " from before the recording");
  }
  const double idle_share = recording.has_ended ? 1 - seconds(recording.end.user_us + recording.end.system_us) /
                                                          seconds(recording.end.wall_us)
                                                : 0;
  if (lasting.for_mutexes != 0 || (!lasting.groups.empty() && idle_share > 0.99))
    return text + "; see Waits since before the recording.";
  if (recording.program.is_late && recording.program.has_source("locks") && recording.acquisitions.empty())
    return text + ". No lock was taken; threads that have waited since before are shown by tarn record --cpu --pid.";
  return text + (is_complete ? ". Next: tarn record --cpu shows where the CPU time goes." : " in what was recorded.");
}

// Prints first whether anything is worth doing, a line for each source with a remedy, the largest gain first. That
// does not depend on the sites that the request chooses.
void print_verdict(analyse::analysis& analysis, bool has_records, bool is_complete, const paint& style) {
  const std::vector<analyse::verdict> verdicts = analyse::verdicts_of(analysis);
  if (const std::string orders = possible_deadlock_text(analysis); !orders.empty())
    fmt::print("{}\n", wrap_text(style.bold("Possible deadlock: locks.") + ' ' + orders, 3));
  for (const analyse::verdict& verdict : verdicts) {
    std::string title = fmt::format("{}: {}.", analyse::name(verdict.judged), analyse::name(verdict.source));
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    fmt::print("{}\n", wrap_text(style.bold(title) + ' ' + verdict_text(analysis, verdict, true), 3));
  }
  if (analysis.drop_in_is_worth_it()) {
    // The text has no "at least": work beside the calls may hide a part of what they cost.
    const std::string gain = gain_text(analysis, analysis.whole().drop_in_saves_ns, "");
    fmt::print("{}\n", wrap_text(fmt::format("Without a change: tarn run {}.", gain), 3));
  }
  if (analysis.whole().is_too_short) {
    fmt::print("{} all of its CPU time may be that of the recording.\nRecord more work, or give --cpu-seconds.\n",
               style.bold("Too short to tell what a remedy saves:"));
  } else if (has_records && verdicts.empty() && !analysis.drop_in_is_worth_it()) {
    fmt::print("{}\n", style.bold(nothing_text(analysis, is_complete)));
  }
}

bool is_small(const analyse::site& site) { return site.sums[counter::blocks] < analyse::min_allocations; }

// Counts the sites that the text leaves out, with the options that show them. No --top shows small sites, of which the
// text has at most the first one.
void print_hidden_sites(analyse::analysis& analysis, std::size_t printed_sites, std::size_t printed_small) {
  const std::vector<analyse::site>& sites = analysis.sites();
  const std::size_t hidden = sites.size() - printed_sites;
  const std::size_t small =
      static_cast<std::size_t>(std::count_if(sites.begin(), sites.end(), is_small)) - printed_small;
  const std::string bound = group_digits(analyse::min_allocations) + " allocations: --json --top N";
  if (hidden > small) {
    fmt::print("\n{}; --top N, --category NAME, --alternatives, --json\n", count_text(hidden - small, "more site"));
    if (small != 0) fmt::print("and {} below {}\n", count_text(small, "site"), bound);
  } else if (small != 0) {
    fmt::print("\n{} below {}\n", count_text(small, "more site"), bound);
  }
}

}  // namespace

void print_text(analyse::analysis& analysis, const report_request& request) {
  const paint style;
  std::vector<analyse::site_view> top;
  for (const analyse::site& site : analysis.sites()) {
    if (top.size() == request.top) break;
    if (!request.wants(site)) continue;
    if (top.empty() || !is_small(site)) top.push_back(analysis.view(site));
  }
  print_program(analysis, style);
  const bool has_heap = records_heap(analysis.recording());
  const std::vector<std::string> unrecorded = unrecorded_text(analysis.recording());
  for (const std::string& line : unrecorded) fmt::print("{}.\n", style.bold(line));
  if (const format::module_facts* const module = own_malloc_in(analysis.recording())) {
    fmt::print("{}.\n", style.bold(own_malloc_text(*module)));
  }
  if (const std::string heaps = unrecorded_heaps_text(analysis.recording()); !heaps.empty())
    fmt::print("{}.\n", style.bold(wrap_text(heaps, 0)));
  if (const std::string replaced = replaced_text(analysis.recording()); !replaced.empty())
    fmt::print("{}.\n", style.bold(replaced));
  if (const std::string limits = limits_text(analysis.recording()); !limits.empty())
    fmt::print("{}.\n", style.bold(wrap_text(limits, 3)));
  const std::vector<std::string>& sources = analysis.recording().program.sources;
  const bool has_records = has_heap || std::any_of(sources.begin(), sources.end(), [](const std::string& source) {
                             return source != "heap" && source != "cpu";
                           });
  if (has_lost_all(analysis.recording())) {
    fmt::print("{}\n", style.bold("No events could be read, so there is nothing to judge."));
    fmt::print("Record again; keep tarn record running until the program ends.\n");
    return;
  }
  const bool is_complete = unrecorded.empty() && analysis.recording().damage.empty() && analysis.recording().has_ended;
  print_idle_time(analysis);
  print_verdict(analysis, has_records, is_complete, style);
  if (has_heap) print_heap_summary(analysis);
  for (const section* const part : sections) part->print_summary(analysis);
  if (analysis.recording().images > 1)
    fmt::print("{} programs, one after the other by exec\n", analysis.recording().images);
  for (const analyse::site& site : analysis.heap().sites) {
    if (site.number != 0) continue;
    fmt::print("{}, {:.0f} % of all, were at call stacks beyond the {} that a recording tells apart.\n",
               count_text(site.sums[counter::blocks], "allocation"),
               percent(site.sums[counter::blocks], analysis.heap().allocations),
               group_digits(analysis.recording().sites.size() - 1));
  }
  if (analysis.heap().dropped != 0) {
    fmt::print("{} missing: the recorder had no room for {}\n",
               count_text(analysis.heap().dropped, "event") + (analysis.heap().dropped == 1 ? " is" : " are"),
               analysis.heap().dropped == 1 ? "it" : "them");
  }
  std::size_t printed_sites = 0;
  const std::vector<std::string> titles = titles_of(top);
  for (const analyse::site_view& site : top) {
    const std::string& title = titles[printed_sites];
    print_site(analysis, site, title, ++printed_sites, request.has_alternatives, style);
  }
  if (has_heap) print_hidden_sites(analysis, printed_sites, !top.empty() && is_small(top.front().facts) ? 1 : 0);
  for (const section* const part : sections) part->print(analysis, request.top);
  if (analysis.recording().has_ended) {
    std::string cost = analyse::cost_text_of(analysis.recording());
    cost.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(cost.front())));
    fmt::print("\n{}\n{}.\n", wrap_text(cost + ';', 3), analyse::collector_text_of(analysis.recording()));
    if (std::string doubt = analyse::doubt_text_of(analysis.recording()); !doubt.empty()) {
      doubt.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(doubt.front())));
      fmt::print("{}\n", style.bold(wrap_text(doubt + '.', 3)));
    }
  }
}

}  // namespace tarn::command
