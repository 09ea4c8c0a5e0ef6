// The section on time: how long each thread ran and waited.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using analyse::thread_times;
using analyse::time_findings;
using nlohmann::json;

constexpr double min_unknown_share = 0.001, min_undivided_share = 0.01;  // less is not printed

double time_share(const thread_times& times, format::cpu_counter part) {
  return static_cast<double>(times.sums[part]) / static_cast<double>(std::max<std::uint64_t>(times.lifetime_ns(), 1));
}

std::string time_cell(const thread_times& times, format::cpu_counter part) {
  return fmt::format(" {:>7.2f} s {:>3.0f} %", static_cast<double>(times.sums[part]) * 1e-9,
                     100 * time_share(times, part));
}

bool has_unknown_time(const thread_times& times) { return time_share(times, format::unknown_ns) >= min_unknown_share; }

void print_time_summary(analyse::analysis& analysis) {
  const time_findings& findings = analysis.time();
  const thread_times& whole = findings.whole;
  if (whole.threads == 0) return;
  const auto text = [&](format::cpu_counter part) { return duration_text(whole.sums[part]); };
  const bool has_run = analysis.whole().wall_ns > 0;
  fmt::print("Time of {}{}: {} running, {} runnable, {} waiting.\n", count_text(whole.threads, "thread"),
             has_run ? " in a run of " + duration_text(analysis.whole().wall_ns) : "", text(format::running_ns),
             text(format::runnable_ns), text(format::waiting_ns));
  if (has_unknown_time(whole)) {
    fmt::print("What they did in {}, {:.1f} % of their time, is unknown: the kernel dropped these records.\n",
               text(format::unknown_ns), 100 * time_share(whole, format::unknown_ns));
  }
  if (time_share(whole, format::undivided_ns) >= min_undivided_share) {
    fmt::print(
        "{} of the waiting may be time in which threads were woken and not yet running: they ended before\n"
        "that was read, or the kernel does not tell it (/proc/PID/task/TID/schedstat).\n",
        text(format::undivided_ns));
  }
  if (analysis.recording().cpu.is_kernel_hidden)
    fmt::print("Where they waited is not known: the kernel shows it to root, or with kernel.perf_event_paranoid 1.\n");
}

// The record of a name may be lost.
std::string shown_name(const std::string& name) { return name.empty() ? "a thread without a name" : name; }

void print_waits(analyse::analysis& analysis, std::size_t top) {
  const time_findings& findings = analysis.time();
  const std::uint64_t whole_ns = findings.whole.sums[format::waiting_ns];
  if (findings.waits.empty()) return;
  const auto text = [&](std::uint64_t ns) {
    return fmt::format("   {:>7.2f} s {:>3.0f} %", static_cast<double>(ns) * 1e-9,
                       100 * static_cast<double>(ns) / static_cast<double>(whole_ns));
  };
  fmt::print("\nWaiting\n");
  for (std::size_t index = 0; index < std::min(top, findings.waits.size()); ++index) {
    const analyse::wait_site& sum = findings.waits[index];
    std::vector<std::string> names;
    for (const std::string& name : sum.names) names.push_back(shown_name(name));
    fmt::print("{}  by {}\n", text(sum.waited_ns), cut(fmt::format("{}", fmt::join(names, ", ")), 75));
    if (sum.stacks > 1) fmt::print("   through {}, the most by\n", count_text(sum.stacks, "call stack"));
    print_stack(analysis, sum.site);
  }
  std::uint64_t others_ns = 0;
  for (std::size_t index = top; index < findings.waits.size(); ++index) others_ns += findings.waits[index].waited_ns;
  if (findings.waits.size() > top)
    fmt::print("{}  at {}; --top N\n", text(others_ns), count_text(findings.waits.size() - top, "more site"));
  if (findings.unplaced_ns != 0) fmt::print("{}  at unknown sites\n", text(findings.unplaced_ns));
}

void print_time(analyse::analysis& analysis, std::size_t top) {
  const time_findings& findings = analysis.time();
  if (findings.whole.threads == 0) return;
  const bool shows_unknown = std::any_of(findings.threads.begin(), findings.threads.end(), has_unknown_time);
  fmt::print("\nTime{:>14}{:>15}{:>15}{}\n", "running", "runnable", "waiting", shows_unknown ? "        unknown" : "");
  const std::size_t rows = std::min(top, findings.threads.size());
  for (std::size_t index = 0; index < rows; ++index) {
    const thread_times& times = findings.threads[index];
    const std::string figures = "   " + time_cell(times, format::running_ns) + time_cell(times, format::runnable_ns) +
                                time_cell(times, format::waiting_ns) +
                                (shows_unknown ? time_cell(times, format::unknown_ns) : "") + "  ";
    const std::string threads = times.threads == 1 ? "" : fmt::format(" ({})", count_text(times.threads, "thread"));
    const std::string name = shown_name(times.name);
    fmt::print("{}{}{}\n", figures, cut(name, text_width - std::min(text_width - 1, figures.size() + threads.size())),
               threads);
  }
  if (findings.threads.size() > rows)
    fmt::print("   and {}\n", count_text(findings.threads.size() - rows, "more name"));
  print_waits(analysis, top);
}

json json_of_times(const thread_times& times) {
  return {{"threads", times.threads},
          {"running_ns", times.sums[format::running_ns]},
          {"runnable_ns", times.sums[format::runnable_ns]},
          {"waiting_ns", times.sums[format::waiting_ns]},
          {"unknown_ns", times.sums[format::unknown_ns]},
          {"undivided_ns", times.sums[format::undivided_ns]},
          {"waits", times.sums[format::wait_count]},
          {"preemptions", times.sums[format::preemptions]}};
}

json json_of_time(analyse::analysis& analysis, std::size_t top) {
  const time_findings& findings = analysis.time();
  if (!findings.is_recorded) return nullptr;
  json document = json_of_times(findings.whole);
  document["names"] = json::array();
  for (std::size_t index = 0; index < std::min(top, findings.threads.size()); ++index) {
    document["names"].push_back(json_of_times(findings.threads[index]));
    document["names"].back()["name"] = findings.threads[index].name;
  }
  document["sites"] = json::array();
  for (std::size_t index = 0; index < std::min(top, findings.waits.size()); ++index) {
    const analyse::wait_site& sum = findings.waits[index];
    document["sites"].push_back({{"waited_ns", sum.waited_ns},
                                 {"names", sum.names},
                                 {"stacks", sum.stacks},
                                 {"stack", json_of_stack(analysis, sum.site)}});
  }
  document["unplaced_ns"] = findings.unplaced_ns;
  return document;
}

}  // namespace

const section time_section = {"time", print_time_summary, print_time, json_of_time};

}  // namespace tarn::command
