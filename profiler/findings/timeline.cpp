#include "profiler/findings/timeline.hpp"

#include <algorithm>
#include <map>

namespace tarn::analyse {

timeline timeline_of(const format::recording& recording, const history& history, const heap_findings& heap,
                     const lock_findings& locks, const call_findings& calls) {
  timeline timeline;
  const std::size_t count = history.intervals.size();
  const auto clear = [&](auto&... lines) {
    (std::for_each(lines.begin(), lines.end(), [&](line& counts) { counts.assign(count, 0); }), ...);
  };
  clear(timeline.blocks, timeline.bytes, timeline.in_use, timeline.acquisitions, timeline.waited_ns, timeline.calls,
        timeline.calls_ns);
  const auto ns = [&](std::uint64_t ticks) { return format::nanoseconds(recording.clock, ticks); };

  struct in_use_of {
    heap_category category = heap_category::kept;
    std::vector<double> change;  // bytes, by interval
  };
  std::map<std::uint32_t, in_use_of> sites;
  for (const site& site : heap.sites) sites[site.number] = {site.category, {}};
  for (const auto& [key, points] : history.heap) {
    in_use_of& site = sites[key.site];
    site.change.resize(count);
    const auto kind = static_cast<std::size_t>(site.category);
    for (const auto& [index, increase] : points) {
      const auto [blocks, bytes, frees, freed_bytes] = increase;
      timeline.blocks[kind][index] += blocks;
      timeline.bytes[kind][index] += bytes;
      site.change[index] += static_cast<double>(bytes) - static_cast<double>(freed_bytes);
    }
  }
  for (const auto& [number, site] : sites) {
    double bytes = 0;
    for (std::size_t index = 0; index < site.change.size(); ++index) {
      bytes += site.change[index];
      timeline.in_use[static_cast<std::size_t>(site.category)][index] +=
          static_cast<std::uint64_t>(std::max(0.0, bytes));
    }
  }
  for (const auto& [key, points] : history.locks) {
    const lock_group* const group = locks.group_of(recording, key.lock);
    if (group == nullptr) continue;
    for (const auto& [index, increase] : points) {
      timeline.acquisitions[static_cast<std::size_t>(group->category)][index] += increase[0];
      timeline.waited_ns[static_cast<std::size_t>(group->category)][index] += ns(increase[2]);
    }
  }
  for (const auto& [key, points] : history.calls) {
    const call_site* const site = calls.site_of(key.site, key.number);
    if (site == nullptr) continue;
    for (const auto& [index, increase] : points) {
      timeline.calls[static_cast<std::size_t>(site->category)][index] += increase[0];
      timeline.calls_ns[static_cast<std::size_t>(site->category)][index] += ns(increase[4]);
    }
  }
  return timeline;
}

}  // namespace tarn::analyse
