#include "profiler/findings/time/time.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "profiler/findings/waits/stacks.hpp"

namespace tarn::analyse {
namespace {

void find_waits(const format::recording& recording, symbols& symbols, time_findings& result) {
  std::map<std::uint32_t, std::uint64_t> sites;
  std::map<std::uint32_t, std::set<std::string>> names;
  for (const auto& [key, counts] : recording.cpu.cells) {
    if (counts[format::waiting_ns] == 0) continue;
    sites[key.site] += counts[format::waiting_ns];
    names[key.site].insert(recording.threads[key.thread].name);
  }
  struct group {
    wait_site sum;
    std::uint64_t longest_ns = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string, std::uint64_t>, group> groups;
  for (const auto& [site, waited_ns] : sites) {
    const std::vector<code_location> stack = stack_at(recording, site, symbols);
    if (stack.empty()) {
      result.unplaced_ns += waited_ns;
      continue;
    }
    const code_location& location = stack[own_frame_index(stack)];
    auto& [sum, longest_ns] =
        groups[{location.module, location.file, location.function,
                location.line != 0 ? static_cast<std::uint64_t>(location.line) : location.offset}];
    sum.waited_ns += waited_ns;
    ++sum.stacks;
    sum.names.merge(names[site]);
    if (waited_ns > longest_ns) std::tie(longest_ns, sum.site) = std::tie(waited_ns, site);
  }
  for (const auto& [location, members] : groups) result.waits.push_back(members.sum);
  std::stable_sort(result.waits.begin(), result.waits.end(),
                   [](const auto& a, const auto& b) { return a.waited_ns > b.waited_ns; });
}

}  // namespace

time_findings find_time(const format::recording& recording, symbols& symbols) {
  time_findings result;
  result.is_recorded = recording.cpu.interval_ns != 0;
  std::map<std::uint32_t, format::cpu_counts> threads;
  for (const auto& [key, counts] : recording.cpu.cells) {
    for (std::size_t index = 0; index < counts.size(); ++index) threads[key.thread][index] += counts[index];
  }
  std::map<std::string, thread_times> names;
  const auto add = [](thread_times& times, const format::cpu_counts& counts) {
    ++times.threads;
    for (std::size_t index = 0; index < counts.size(); ++index) times.sums[index] += counts[index];
  };
  for (const auto& [thread, counts] : threads) {
    if (thread_times{.sums = counts}.lifetime_ns() == 0) continue;
    add(names[recording.threads[thread].name], counts);
    add(result.whole, counts);
  }
  for (auto& [name, times] : names) {
    times.name = name;
    result.threads.push_back(times);
  }
  std::stable_sort(result.threads.begin(), result.threads.end(),
                   [](const auto& a, const auto& b) { return a.lifetime_ns() > b.lifetime_ns(); });
  find_waits(recording, symbols, result);
  return result;
}

}  // namespace tarn::analyse
