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

  std::map<std::uint32_t, std::size_t> category_of;  // by site
  for (const site& site : heap.sites) category_of[site.number] = static_cast<std::size_t>(site.category);
  for (const auto& [key, points] : history.heap) {
    const std::size_t category = category_of[key.site];
    for (const auto& [index, increase] : points) {
      timeline.blocks[category][index] += increase[0];
      timeline.bytes[category][index] += increase[1];
    }
  }
  for (const auto& [number, bytes] : levels_of(recording, history)) {
    line& in_use = timeline.in_use[category_of[number]];
    for (std::size_t index = 0; index < count; ++index)
      in_use[index] += static_cast<std::uint64_t>(std::max(0.0, bytes[index]));
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
