#include "analyse/quiet.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace tarn::analyse {
namespace {

void add(format::noise_counts& to, const format::noise_counts& counts) {
  for (std::size_t at = 0; at < to.size(); ++at) to[at] += counts[at];
}

}  // namespace

std::uint64_t noises(const format::noise_counts& of) { return std::accumulate(of.begin(), of.end(), std::uint64_t{0}); }

std::vector<quiet_view> find_quiet_regions(const format::recording& in) {
  std::map<std::string, quiet_view> by_name;
  for (const format::quiet_facts& each : in.quiet_regions) by_name[each.name].entered += each.entered;
  std::map<std::pair<std::string, std::uint32_t>, format::noise_counts> by_site;
  for (const auto& [key, counts] : in.noises) add(by_site[{in.quiet_regions[key.region].name, key.site}], counts);
  for (const auto& [key, counts] : by_site) {
    if (noises(counts) == 0) continue;
    quiet_view& of = by_name[key.first];
    add(of.sums, counts);
    of.sites.push_back({key.second, counts});
  }
  std::vector<quiet_view> all;
  for (auto& [name, each] : by_name) {
    each.name = name;
    std::stable_sort(each.sites.begin(), each.sites.end(), [](const noise_site& one, const noise_site& other) {
      return noises(one.sums) > noises(other.sums);
    });
    all.push_back(std::move(each));
  }
  std::stable_sort(all.begin(), all.end(), [](const quiet_view& one, const quiet_view& other) {
    return noises(one.sums) > noises(other.sums);
  });
  return all;
}

}  // namespace tarn::analyse
