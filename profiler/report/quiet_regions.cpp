#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using analyse::quiet_view;
using nlohmann::json;

// Returns a text like "3 heap calls, 1 lock wait".
std::string text_of(const format::violation_counts& counts) {
  constexpr std::array names = {"heap call", "system call", "lock wait"};
  static_assert(names.size() == format::violation_counter_count);
  std::string text;
  for (std::size_t index = 0; index < names.size(); ++index) {
    if (counts[index] == 0) continue;
    text += (text.empty() ? "" : ", ") + count_text(counts[index], names[index]);
  }
  return text;
}

json json_of(const format::violation_counts& counts) {
  return {{"heap_calls", counts[format::heap_calls]},
          {"system_calls", counts[format::system_calls]},
          {"lock_waits", counts[format::lock_waits]}};
}

void print_quiet_summary(analyse::analysis& analysis) {
  const std::vector<quiet_view>& regions = analysis.quiet_regions();
  if (regions.empty()) return;
  const auto loud =
      std::count_if(regions.begin(), regions.end(), [](const quiet_view& region) { return !region.is_quiet(); });
  fmt::print("{}, {}\n", count_text(regions.size(), "quiet region"),
             loud == 0 ? "all of them quiet" : fmt::format("{} of them not quiet", loud));
}

void print_quiet_regions(analyse::analysis& analysis, std::size_t top) {
  const paint style;
  bool is_first = true;
  for (const quiet_view& region : analysis.quiet_regions()) {
    if (region.is_quiet()) break;
    if (is_first) fmt::print("\nQuiet regions\n");
    is_first = false;
    fmt::print("\n{}: {} in {}\n", style.strong(cut(region.name, text_width / 2)), text_of(region.sums),
               count_text(region.entered, "time"));
    const std::size_t printed_sites = std::min(top, region.sites.size());
    for (std::size_t index = 0; index < printed_sites; ++index) {
      fmt::print("   {}\n", text_of(region.sites[index].sums));
      print_stack(analysis, region.sites[index].site);
    }
    if (region.sites.size() > printed_sites)
      fmt::print("   and from {}\n", count_text(region.sites.size() - printed_sites, "more call stack"));
  }
}

json json_of_quiet_regions(analyse::analysis& analysis, std::size_t top) {
  json regions = json::array();
  for (const quiet_view& region : analysis.quiet_regions()) {
    json element = json_of(region.sums), sites = json::array();
    element["name"] = region.name;
    element["entered"] = region.entered;
    for (std::size_t index = 0; index < std::min(top, region.sites.size()); ++index) {
      sites.push_back(json_of(region.sites[index].sums));
      sites.back()["stack"] = json_of_stack(analysis, region.sites[index].site);
    }
    element["sites"] = std::move(sites);
    regions.push_back(std::move(element));
  }
  return regions;
}

}  // namespace

const section quiet_section = {"quiet_regions", print_quiet_summary, print_quiet_regions, json_of_quiet_regions};

}  // namespace tarn::command
