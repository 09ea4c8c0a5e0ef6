#include "profiler/findings/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profiler/base/quantity_text.hpp"
#include "profiler/format/python_layout.hpp"
#include "profiler/format/region.hpp"

namespace tarn::command {

std::vector<reached_limit> reached_limits(const format::recording& recording) {
  std::vector<reached_limit> reached;
  const format::limit_facts& facts = recording.limits;
  const auto add = [&](const std::string& limit, std::uint64_t value, std::uint64_t events, std::string missing,
                       std::string help) {
    reached.push_back({value == 0 ? limit : fmt::format("{} ({})", limit, group_digits(value)), events,
                       std::move(missing), std::move(help)});
  };
  constexpr const char* part = "record a shorter part of the run (--for, --pid)";
  if (facts.has_shared_threads)
    add("threads at one time", format::max_threads - 1, 0, "further ones share one row, and run slower",
        "record fewer threads, or --heap alone");
  if (recording.sites.size() >= format::max_sites)
    add("call stacks", format::max_sites - 1, 0, "events at further ones count at none", part);
  if (recording.cpu.threads.size() >= format::max_threads)
    add("sampled threads", format::max_threads - 1, 0, "further ones count as one", part);
  // The frames that name a site are the innermost ones. Those of an interpreter may fill a stack, but a Python function
  // among them names it.
  const auto deep = std::count_if(recording.sites.begin(), recording.sites.end(), [](const format::site_facts& site) {
    return site.frames.size() == format::max_frames &&
           std::none_of(site.frames.begin(), site.frames.end(), format::is_python_address);
  });
  if (deep != 0)
    add("frames of a call stack", format::max_frames, static_cast<std::uint64_t>(deep),
        fmt::format("{} may lack outermost callers", deep == 1 ? "1 stack" : group_digits(deep) + " stacks"),
        "read them from the innermost frame");
  if (recording.modules.size() >= format::max_modules)
    add("modules", format::max_modules, 0, "functions of further ones have no names", part);
  // Those of samples of the processor may stand behind the recorder's, and have a limit of their own.
  const auto sampled_codes = static_cast<std::size_t>(
      std::count_if(recording.python_codes.begin(), recording.python_codes.end(),
                    [](const auto& code) { return code.start >= format::first_sampled_python_address; }));
  const std::size_t codes = std::max(recording.python_codes.size() - sampled_codes, sampled_codes);
  if (std::max(codes, recording.cpu.python_codes.size()) >= format::max_python_codes)
    add("code objects of Python", format::max_python_codes, 0, "functions of further ones have no names", part);
  if (recording.locks.size() >= format::max_locks)
    add("locks", format::max_locks - 1, 0, "further ones count as one", part);
  std::uint64_t shared_counts = 0;
  for (const auto& [key, value] : recording.acquisitions) {
    if (key.lock != 0 && recording.locks[key.lock].is_sum())
      shared_counts += value[format::acquisitions] + value[format::refused];
  }
  if (shared_counts != 0)
    add("counts of locks by thread and call stack", format::max_lock_cells, shared_counts,
        fmt::format("{} further acquisitions count for all locks of one first use together",
                    group_digits(shared_counts)),
        part);
  if (facts.waits_without_holder != 0)
    add("holders of locks by thread and call stack", format::max_lock_cells, facts.waits_without_holder,
        fmt::format("{} further waits have no holder", group_digits(facts.waits_without_holder)), part);
  std::uint64_t orders = 0;
  for (const auto& [key, value] : recording.orders) {
    if (key.lock == 0 || key.held_lock == 0) orders += value[format::orders];
  }
  if (orders != 0 && recording.locks.size() < format::max_locks)
    add(fmt::format("orders of locks ({} by one thread, {} in all, and of locks that count together)",
                    group_digits(format::max_orders), group_digits(format::max_lock_cells)),
        0, orders, fmt::format("{} further acquisitions have no order", group_digits(orders)), part);
  if (facts.untimed_holds != 0)
    add("locks that one thread holds", format::max_holds, facts.untimed_holds,
        fmt::format("{} further holds have no time", group_digits(facts.untimed_holds)),
        "release locks before others are taken");
  if (facts.missed_acquisitions != 0)
    add("signal handlers that interrupt the recorder", 0, facts.missed_acquisitions,
        fmt::format("{} of their acquisitions of locks are missing", group_digits(facts.missed_acquisitions)),
        "take no lock in a signal handler");
  if (recording.quiet_regions.size() >= format::max_quiet_regions)
    add("quiet regions", format::max_quiet_regions, 0, "further ones are not recorded",
        "give regions of one purpose one name");
  if (facts.has_all_own_ranges)
    add("mappings of the recorder", format::max_own_ranges, 0, "memory of further ones counts as the program's", part);
  return reached;
}

std::string limits_text(const format::recording& recording) {
  std::string text;
  for (const reached_limit& limit : reached_limits(recording))
    text +=
        fmt::format("{}{}: {} → {}", text.empty() ? "Limits reached: " : "; ", limit.limit, limit.missing, limit.help);
  return text;
}

}  // namespace tarn::command
