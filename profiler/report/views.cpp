#include "profiler/report/views.hpp"

#include <map>

#include "profiler/base/progress.hpp"

namespace tarn::command {

analyse::located_sums sums_by_location(analyse::analysis& analysis) {
  progress progress_line("resolving names");
  std::map<const analyse::site*, double> growth;
  for (const analyse::memory_site& site : analysis.memory().sites) {
    if (site.course == analyse::trend::grows) growth[site.origin] = site.bytes_per_second;
  }
  std::vector<analyse::site_view> views;
  const std::vector<analyse::site>& sites = analysis.grouped_sites();
  views.reserve(sites.size());
  for (const analyse::site& site : sites) {
    progress_line.update(views.size(), sites.size());
    views.push_back(analysis.view(site));
    if (const auto match = growth.find(&site); match != growth.end()) views.back().growth = match->second;
  }
  analyse::located_sums sums{.locations = analyse::sums_by_location(views), .by_category = {}};
  for (std::size_t index = 0; index < analyse::category_count; ++index)
    sums.by_category[index] = analyse::sums_by_location(views, static_cast<analyse::heap_category>(index));
  return sums;
}

}  // namespace tarn::command
