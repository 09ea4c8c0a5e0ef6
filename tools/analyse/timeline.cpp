#include "analyse/timeline.hpp"

#include <algorithm>
#include <map>

namespace tarn::analyse {

timeline timeline_of(const format::recording& in, const history& of, const heap_findings& heap,
                     const lock_findings& locks, const call_findings& calls) {
  timeline made;
  const std::size_t count = of.intervals.size();
  const auto clear = [&](auto&... all) {
    (std::for_each(all.begin(), all.end(), [&](line& to) { to.assign(count, 0); }), ...);
  };
  clear(made.blocks, made.bytes, made.in_use, made.taken, made.waited_ns, made.calls, made.calls_ns);
  const auto ns = [&](std::uint64_t ticks) { return format::nanoseconds(in.clock, ticks); };

  struct in_use_of {
    category is = category::kept;
    double mean = 0;             // mean bytes of a block
    std::vector<double> change;  // blocks, by interval
  };
  std::map<std::uint32_t, in_use_of> sites;
  for (const site& each : heap.sites) {
    const auto blocks = static_cast<double>(each.sums[format::blocks]);
    sites[each.number] = {each.is, blocks == 0 ? 0 : static_cast<double>(each.sums[format::bytes]) / blocks, {}};
  }
  for (const auto& [key, points] : of.heap) {
    in_use_of& site = sites[key.site];
    site.change.resize(count);
    const auto kind = static_cast<std::size_t>(site.is);
    for (const auto& [at, more] : points) {
      const auto [blocks, bytes, frees] = more;
      made.blocks[kind][at] += blocks;
      made.bytes[kind][at] += bytes;
      site.change[at] += static_cast<double>(blocks) - static_cast<double>(frees);
    }
  }
  for (const auto& [number, site] : sites) {
    double blocks = 0;
    for (std::size_t at = 0; at < site.change.size(); ++at) {
      blocks += site.change[at];
      made.in_use[static_cast<std::size_t>(site.is)][at] +=
          static_cast<std::uint64_t>(std::max(0.0, blocks) * site.mean);
    }
  }
  for (const auto& [key, points] : of.locks) {
    const lock_group* const group = locks.group_of(in, key.lock);
    if (group == nullptr) continue;
    for (const auto& [at, more] : points) {
      made.taken[static_cast<std::size_t>(group->is)][at] += more[0];
      made.waited_ns[static_cast<std::size_t>(group->is)][at] += ns(more[2]);
    }
  }
  for (const auto& [key, points] : of.calls) {
    const call_site* const site = calls.site_of(key.site, key.number);
    if (site == nullptr) continue;
    for (const auto& [at, more] : points) {
      made.calls[static_cast<std::size_t>(site->is)][at] += more[0];
      made.calls_ns[static_cast<std::size_t>(site->is)][at] += ns(more[4]);
    }
  }
  return made;
}

}  // namespace tarn::analyse
