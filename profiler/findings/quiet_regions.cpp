#include "profiler/findings/quiet_regions.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace tarn::analyse {
namespace {

void add(format::violation_counts& sums, const format::violation_counts& counts) {
  for (std::size_t index = 0; index < sums.size(); ++index) sums[index] += counts[index];
}

}  // namespace

std::uint64_t violations(const format::violation_counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::vector<quiet_view> find_quiet_regions(const format::recording& recording) {
  std::map<std::string, quiet_view> by_name;
  for (const format::quiet_facts& region : recording.quiet_regions) by_name[region.name].entered += region.entered;
  std::map<std::pair<std::string, std::uint32_t>, format::violation_counts> by_site;
  for (const auto& [key, counts] : recording.violations)
    add(by_site[{recording.quiet_regions[key.region].name, key.site}], counts);
  for (const auto& [key, counts] : by_site) {
    if (violations(counts) == 0) continue;
    quiet_view& region = by_name[key.first];
    add(region.sums, counts);
    region.sites.push_back({key.second, counts});
  }
  std::vector<quiet_view> regions;
  for (auto& [name, region] : by_name) {
    region.name = name;
    std::stable_sort(region.sites.begin(), region.sites.end(),
                     [](const violation_site& site, const violation_site& second) {
                       return violations(site.sums) > violations(second.sums);
                     });
    regions.push_back(std::move(region));
  }
  std::stable_sort(regions.begin(), regions.end(), [](const quiet_view& region, const quiet_view& second) {
    return violations(region.sums) > violations(second.sums);
  });
  return regions;
}

}  // namespace tarn::analyse
