// Prints a report for a person: a summary in ten lines, then the sites, the most expensive first.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tarn/own_heap.hpp"
#include "tarn/report.hpp"
#include "tarn/report_calls.hpp"
#include "tarn/report_locks.hpp"
#include "tarn/report_orders.hpp"
#include "tarn/report_quiet.hpp"
#include "tarn/unrecorded.hpp"
#include "tarn/words.hpp"

namespace tarn::command {
namespace {

using analyse::place;
using analyse::range;
using format::counter;

constexpr std::size_t shown_callers = 2;  // per site; the JSON has all
constexpr std::size_t shown_offers = 3;

std::string end_words(const format::recording& in) {
  const std::string which = in.program.parent == 0
                                ? ""
                                : fmt::format("process {}, that comes of {}; ", in.program.process, in.program.parent);
  if (in.ended) {
    return fmt::format("{}{} {}", which, in.end.by_signal ? "killed by signal" : "exit code", in.end.status);
  }
  return which + (which.empty() ? "still running, or lost its recorder" : "how it ended was not seen");
}

double seconds(std::uint64_t microseconds) { return static_cast<double>(microseconds) / 1e6; }
double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string size_words(const analyse::site& of) {
  const auto used = [&](std::size_t bucket) { return of.sums[counter::size_buckets + bucket] != 0; };
  std::size_t low = 0, high = counter::size_bucket_count - 1;
  while (low < high && !used(low)) ++low;
  while (high > low && !used(high)) --high;
  const std::string from = low == 0 ? "0" : std::to_string(format::size_bucket_end(low - 1) + 1);
  return high == counter::size_bucket_count - 1 ? from + " bytes and more"
                                                : fmt::format("{} to {} bytes", from, format::size_bucket_end(high));
}

std::string thread_words(const format::recording& in, const analyse::site& of) {
  std::string words = fmt::format("by {} thread{}", of.threads, of.threads == 1 ? "" : "s");
  if (of.freed_by_other_thread == 0) {
    words += of.freed_by_same_thread == 0 ? ", not freed" : ", freed by the same";
  } else {
    words += fmt::format("; freed {} by the same, {} by others", grouped(of.freed_by_same_thread),
                         grouped(of.freed_by_other_thread));
  }
  if (of.error != 0) words += fmt::format("; counts ± {:.0f} %", of.error * 100);
  if (of.live != 0) words += fmt::format("; {} in use at the end", grouped(of.live));
  if (!of.pairs.empty()) {
    const analyse::pair& most = of.pairs.front();
    words += fmt::format("; most by thread {} for {}", in.threads[most.frees].id, in.threads[most.allocates].id);
  }
  return words;
}

void print_offer(const analyse::analysis& all, const analyse::offer& of, const paint& with) {
  const std::string gain = gain_words(all, of.predicted.saved_ns, of.predicted.at_least);
  fmt::print("   → {}\n     {}\n", with.good(gain), cut(of.how.words, page_width - 5));
  if (!of.how.code.empty()) fmt::print("     {}\n", with.bold(cut(of.how.code, page_width - 5)));
}

// Describes a function without a name by the next one up the stack that has a name.
std::string deciding_words(const analyse::site_view& view, const place& at) {
  std::string words = place_words(at, 60);
  if (!at.function.empty()) return words;
  const auto named = std::find_if(view.stack.begin() + static_cast<std::ptrdiff_t>(view.place_at), view.stack.end(),
                                  [](const place& each) { return !each.function.empty(); });
  if (named == view.stack.end() || view.callers.size() > 1) return words;
  return words.append(", for ").append(function_words(*named, 60));
}

// Prints the next two functions up the stack; of several stacks it prints the most frequent callers.
void print_callers(const analyse::site_view& view, const paint& with) {
  if (view.callers.size() < 2) {
    for (std::size_t up = view.place_at + 1; up <= view.place_at + shown_callers && up < view.stack.size(); ++up) {
      fmt::print("   {}\n", with.faint("by " + place_words(view.stack[up], page_width - 6)));
    }
    return;
  }
  std::size_t shown = std::min(view.callers.size(), shown_callers + 1);
  while (shown > 1 && view.callers[shown - 1].blocks * 100 < view.facts.sums[counter::blocks]) --shown;
  for (std::size_t at = 0; at < shown; ++at) {
    const analyse::caller& each = view.callers[at];
    const std::string share = fmt::format("{:>3.0f} % by ", percent(each.blocks, view.facts.sums[counter::blocks]));
    const std::string more =
        at + 1 == shown && view.callers.size() > shown ? fmt::format(", and {} more", view.callers.size() - shown) : "";
    fmt::print("   {}\n",
               with.faint(fmt::format("{}{}{}", share, place_words(each.at, page_width - 14 - more.size()), more)));
  }
}

void print_site(const analyse::analysis& all, const analyse::site_view& view, std::size_t rank, const paint& with) {
  const analyse::site& of = view.facts;
  const place* const at = view.where();
  fmt::print("\n{}. {}  {}\n", rank,
             with.strong(at == nullptr ? "sites beyond the recorder's limit" : deciding_words(view, *at)),
             cost_words(all, view.predicted.now_ns));
  if (!view.made.source.empty()) fmt::print("   {}\n", with.faint(cut(view.made.source, page_width - 3)));
  fmt::print(
      "   {}\n",
      cut(fmt::format("{}: {} allocations{}, {} each; {}", analyse::name(of.is), grouped(of.sums[counter::blocks]),
                      view.made.type.empty() ? "" : " of " + view.made.type, size_words(of),
                      of.freed_by_same_thread == 0
                          ? "none freed by its own thread"
                          : fmt::format("{:.0f} % short-lived", percent(of.short_lived, of.freed_by_same_thread))),
          page_width - 3));
  fmt::print("   {}\n", cut(thread_words(all.recorded(), of), page_width - 3));
  print_callers(view, with);
  if (!view.is_worth_it || view.remedy.empty()) {
    fmt::print("   → nothing to gain\n");
    return;
  }
  for (std::size_t number = 0; number < std::min(shown_offers, view.offers.size()); ++number) {
    print_offer(all, view.offers[number], with);
  }
  if (view.offers.empty()) fmt::print("   → {}\n", view.remedy);
}

void print_categories(analyse::analysis& all) {
  const analyse::heap_findings& heap = all.heap();
  std::uint64_t estimated = 0;  // the estimate over all sites; with sampling it differs a little from the exact total
  for (const analyse::site& each : heap.sites) estimated += each.sums[counter::blocks];
  for (const auto kind : {analyse::category::transient, analyse::category::shared, analyse::category::start_up,
                          analyse::category::kept}) {
    std::uint64_t sites = 0, blocks = 0;
    for (const analyse::site& each : all.places()) {
      if (each.is != kind) continue;
      ++sites;
      blocks += each.sums[counter::blocks];
    }
    if (sites == 0) continue;
    fmt::print("{:>10} {:>16} allocations {:>5.1f} %, at {} sites\n", analyse::name(kind), grouped(blocks),
               percent(blocks, estimated), grouped(sites));
  }
}

void print_program(analyse::analysis& all, const paint& with) {
  const format::recording& in = all.recorded();
  const analyse::program_costs& whole = all.whole();
  fmt::print("{}\n", with.bold(cut(program_words_of(in), page_width)));
  std::string times;
  if (in.part != format::interval{}) {
    times = fmt::format("; of that from {:.2f} to {:.2f} s", seconds(in.part.from_ns / 1000),
                        seconds(in.part.to_ns / 1000));
  }
  if (in.ended) {
    times +=
        fmt::format("; {:.2f} s, {:.2f} s of processor time, of which the recorder took {} s", seconds(in.end.wall_us),
                    seconds(in.end.user_us + in.end.system_us), range_words(whole.recorder_ns * 1e-9));
  }
  fmt::print("{}{}; {} thread{}\n", end_words(in), times, in.threads.size(), in.threads.size() == 1 ? "" : "s");
}

void print_heap_summary(analyse::analysis& all) {
  const analyse::heap_findings& heap = all.heap();
  const analyse::program_costs& whole = all.whole();
  const char* const more = all.recorded().part != format::interval{} ? "more " : "";
  fmt::print("{} allocations, {}; {} frees; {} {}blocks in use at the end\n", grouped(heap.allocations),
             bytes_words(static_cast<double>(heap.bytes)), grouped(heap.frees), grouped(heap.live), more);
  print_categories(all);
  const bool is_little = all.knows_processor_time() && all.share(whole.heap_ns).high < 0.01;
  fmt::print("The heap costs {}{}.\n", cost_words(all, whole.heap_ns), is_little ? ": little to gain" : "");
}

// Sums what the first remedy of each site saves.
struct first_remedies {
  explicit first_remedies(const std::vector<analyse::site_view>& sites) {
    for (const analyse::site_view& site : sites) {
      if (!site.is_worth_it || site.remedy.empty()) continue;
      is_any = true;
      if (site.offers.empty()) continue;
      const analyse::prediction& first = site.offers.front().predicted;
      saved_ns += first.saved_ns;
      is_at_least = is_at_least || first.at_least;
      ++count;
    }
  }
  range saved_ns;
  std::size_t count = 0;     // sites with a predicted remedy
  bool is_at_least = false;  // some remedies also save what no recording shows
  bool is_any = false;       // some site has a remedy, predicted or not
};

// Prints first whether anything is worth doing.
void print_verdict(const analyse::analysis& all, const first_remedies& heap, bool saw_any, bool saw_all,
                   const paint& with) {
  const bool locks = locks_gain(all.recorded()), calls = calls_gain(all.recorded());
  if (heap.count != 0) {
    fmt::print("{} Taking the first remedy of {} site{} {}.\n", with.bold("Worth doing."), heap.count,
               heap.count == 1 ? "" : "s", with.good(gain_words(all, heap.saved_ns, heap.is_at_least)));
  }
  if (all.whole().drop_in_saves_ns.middle() > 0) {
    fmt::print("Without a change to the program: tarn run {}.\n", gain_words(all, all.whole().drop_in_saves_ns, false));
  }
  if (heap.count == 0 && (heap.is_any || locks || calls)) {
    fmt::print("{} See {} below.\n", with.bold("Worth a look."),
               heap.is_any      ? "the sites"
               : locks && calls ? "the locks and system calls"
               : locks          ? "the locks"
                                : "the system calls");
  }
  if (saw_any && !heap.is_any && !locks && !calls) {
    fmt::print("{}\n", with.bold(saw_all ? "Nothing to gain: this program does not wait for what was recorded."
                                         : "Nothing to gain in what was recorded."));
  }
}

}  // namespace

void print_text(analyse::analysis& of, const report_request& request) {
  const paint with;
  std::vector<analyse::site_view> top;
  for (const analyse::site& each : request.sites(of)) {
    if (top.size() == request.top) break;
    if (request.wants(each)) top.push_back(of.view(each));
  }
  print_program(of, with);
  const bool has_heap = records_heap(of.recorded());
  const std::vector<std::string> unrecorded = unrecorded_words(of.recorded().unrecorded);
  for (const std::string& line : unrecorded) fmt::print("{}.\n", with.bold(line));
  if (const format::module_facts* const own = own_heap_in(of.recorded())) {
    fmt::print("{}.\n", with.bold(own_heap_words(*own)));
  }
  const std::vector<std::string>& sources = of.recorded().program.sources;
  const bool saw_any = has_heap || std::any_of(sources.begin(), sources.end(),
                                               [](const std::string& source) { return source != "heap"; });
  print_verdict(of, first_remedies(top), saw_any, unrecorded.empty(), with);
  if (has_heap) print_heap_summary(of);
  print_locks_summary(of.recorded());
  print_orders_summary(of.recorded());
  print_calls_summary(of.recorded());
  print_quiet_summary(of.recorded());
  if (of.recorded().images > 1) fmt::print("{} programs, one after the other by exec\n", of.recorded().images);
  if (of.heap().forgotten != 0) {
    fmt::print("{} events are missing: the recorder had no room for them\n", grouped(of.heap().forgotten));
  }
  std::size_t shown = 0;
  for (const analyse::site_view& each : top) {
    if (shown != 0 && each.facts.sums[counter::blocks] < analyse::least_allocations) break;
    print_site(of, each, ++shown, with);
  }
  const std::size_t others = has_heap ? request.sites(of).size() - shown : 0;
  if (others != 0) fmt::print("\n{} more sites; --top N, --category NAME, --json\n", grouped(others));
  print_locks(of.recorded(), request.top);
  print_orders(of.recorded(), request.top);
  print_calls(of, request.top);
  print_quiet_regions(of.recorded(), request.top);
}

}  // namespace tarn::command
