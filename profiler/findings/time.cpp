#include "profiler/findings/time.hpp"

#include <algorithm>
#include <map>

namespace tarn::analyse {

time_findings find_time(const format::recording& recording) {
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
  return result;
}

}  // namespace tarn::analyse
