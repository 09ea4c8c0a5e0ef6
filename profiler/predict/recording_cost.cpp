#include "profiler/predict/recording_cost.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "profiler/findings/waits/awaited_locks.hpp"
#include "profiler/format/recorder_library.hpp"

namespace tarn::analyse {
namespace {

constexpr std::array kind_names = {"heap", "locks", "system calls", "threads", "stacks", "start", "hooks"};
static_assert(kind_names.size() == work_kind_count);

// In the order of work_item.
static_assert(std::size_t{format::timed_items} == format::timed_counters);
constexpr std::array<work_kind, format::work_item_count> kind_of_item = {
    work_kind::heap,     // sample_work
    work_kind::calls,    // dispatch_work
    work_kind::calls,    // window_work
    work_kind::threads,  // thread_work
    work_kind::stacks,   // walk_work
    work_kind::heap,     // sample_margin
    work_kind::calls,    // dispatch_margin
    work_kind::calls,    // window_margin
    work_kind::threads,  // thread_margin
    work_kind::stacks,   // walk_margin
    work_kind::calls,    // step_work
    work_kind::heap,     // heap_work
    work_kind::locks,    // timed_lock_work
    work_kind::locks,    // lock_work
    work_kind::locks,    // recorded_lock_work
    work_kind::start,    // start_work
};

std::string seconds_text(double ns) {
  const double seconds = ns * 1e-9;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", seconds >= 0.995 ? 1 : seconds >= 0.0995 ? 2 : 3, seconds);
  return text.data();
}

// Returns the CPU time for which samples found the recorder's own code.
double sampled_recorder_ns(const format::recording& recording) {
  const format::cpu_recording& cpu = recording.cpu;
  const bool has_own_tables = !cpu.stacks.empty();  // else with_cpu_sites() has moved them
  const std::vector<format::site_facts>& stacks = has_own_tables ? cpu.stacks : recording.sites;
  const std::vector<format::module_facts>& modules = has_own_tables ? cpu.modules : recording.modules;
  std::vector<const format::module_facts*> recorders;  // one of each image
  for (const format::module_facts& module : modules) {
    if (format::is_recorder_library(module.path)) recorders.push_back(&module);
  }
  std::uint64_t samples = 0;
  for (const auto& [key, counts] : cpu.cells) {
    const format::site_facts& stack = stacks[key.site];
    if (counts[format::cpu_samples] == 0 || stack.frames.empty()) continue;
    const std::uint64_t address = stack.frames.front() - 1;
    const bool is_inside = std::any_of(recorders.begin(), recorders.end(), [&](const format::module_facts* recorder) {
      return recorder->image == stack.image && recorder->start <= address && address < recorder->end;
    });
    if (is_inside) samples += counts[format::cpu_samples];
  }
  return as_double(samples) * as_double(cpu.interval_ns);
}

// Returns true if threads waited for each other's locks for a thousandth of the run or more. A recorder makes the work
// under a lock longer, so threads wait more often, and what these waits cost has no price.
bool is_contended(const format::recording& recording) {
  constexpr std::uint64_t wall_parts = 1000;
  const awaited_locks awaited(recording);
  std::uint64_t wait_ticks = 0;
  for (const auto& [key, value] : recording.acquisitions) {
    if (!awaited.has(key.lock)) wait_ticks += value[format::wait_ticks];
  }
  const std::uint64_t waited_ns = format::nanoseconds(recording.clock, wait_ticks);
  return waited_ns != 0 && waited_ns >= recording.end.wall_us * 1000 / wall_parts;
}

}  // namespace

const char* name(work_kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

std::array<std::uint64_t, format::work_item_count> amounts_of(const format::recording& recording) {
  std::array<std::uint64_t, format::work_item_count> amounts{};
  for (std::size_t kind = 0; kind < format::timed_items; ++kind) {
    amounts[kind] = format::nanoseconds(recording.clock, recording.work.counts[kind]);
    amounts[format::timed_items + kind] = recording.work.counts[format::timed_counters + kind];
  }
  amounts[format::timed_lock_work] = format::nanoseconds(recording.clock, recording.work.counts[format::lock_ticks]);
  amounts[format::step_work] = recording.work.counts[format::window_steps];
  amounts[format::start_work] = recording.images;
  for (const format::thread_facts& thread : recording.threads) amounts[format::heap_work] += thread.allocations;
  std::uint64_t acquisitions = 0;
  for (const auto& [key, value] : recording.acquisitions) acquisitions += value[format::acquisitions];
  const bool is_sampled = recording.program.mode == "sampled";
  const std::uint64_t recorded = is_sampled ? recording.work.counts[format::recorded_locks] : acquisitions;
  amounts[format::recorded_lock_work] = recorded;
  amounts[format::lock_work] = acquisitions - std::min(recorded, acquisitions);
  return amounts;
}

recording_cost cost_of(const format::recording& recording) {
  const format::work_facts& work = recording.work;
  recording_cost cost;
  cost.is_known = work.is_priced();
  cost.is_disturbed = work.is_disturbed;
  cost.collector_ns = as_double(work.collector_us) * 1000;
  for (std::size_t item = 0; item < format::work_item_count; ++item)
    cost.ns[static_cast<std::size_t>(kind_of_item[item])] += as_double(work.amounts[item]) * work.prices[item];
  const double beyond_ns = sampled_recorder_ns(recording) - cost.total_ns();
  if (cost.is_known && beyond_ns > 0) cost.ns[static_cast<std::size_t>(work_kind::hooks)] = beyond_ns;
  return cost;
}

std::string cost_text_of(const format::recording& recording) {
  const recording_cost cost = cost_of(recording);
  if (!cost.is_known) return "what recording took is not known: it could not be measured";
  const double total_ns = cost.total_ns();
  const bool adds_waits = is_contended(recording);
  std::string text =
      std::string("recording took ") + (adds_waits ? "at least " : "") + seconds_text(total_ns) + " s of the CPU time";
  if (const double spent_ns = as_double(recording.end.user_us + recording.end.system_us) * 1000; spent_ns > 0) {
    std::array<char, 32> share{};
    std::snprintf(share.data(), share.size(), ", %.1f %%", 100 * std::min(total_ns / spent_ns, 1.0));
    text += share.data();
  }
  std::vector<std::pair<double, const char*>> kinds;
  for (std::size_t kind = 0; kind < work_kind_count; ++kind) kinds.emplace_back(cost.ns[kind], kind_names[kind]);
  std::stable_sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const char* separator = ": ";
  constexpr double min_share = 0.01, min_ns = 0.5e6;  // smaller kinds are left out
  for (const auto& [ns, kind] : kinds) {
    if (ns < min_ns || ns < min_share * total_ns) break;
    text += separator + std::string(kind) + ' ' + seconds_text(ns);
    separator = ", ";
  }
  if (adds_waits) text += ", without the waits for locks that it adds";
  return text;
}

std::string doubt_text_of(const format::recording& recording) {
  const recording_cost cost = cost_of(recording);
  if (!cost.is_known || !recording.has_ended) return {};
  const double spent_ns = as_double(recording.end.user_us + recording.end.system_us) * 1000;
  std::string text;
  if (cost.is_disturbed)
    text = "what recording took was measured on a busy machine: it may be much less, or twice as much";
  if (spent_ns >= shortest_ns && 2 * cost.total_ns() > spent_ns)
    text += std::string(text.empty() ? "" : "; ") + "recording took most of the CPU time: shares of CPU are unreliable";
  return text;
}

std::string collector_text_of(const format::recording& recording) {
  return "tarn record itself took " + seconds_text(cost_of(recording).collector_ns) + " s more";
}

}  // namespace tarn::analyse
