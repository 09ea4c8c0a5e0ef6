#include "tarn/report_quiet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyse/quiet.hpp"
#include "analyse/stacks.hpp"
#include "tarn/stack_words.hpp"
#include "tarn/words.hpp"

namespace tarn::command {
namespace {

using analyse::quiet_view;
using nlohmann::json;

// Returns a text like "3 heap calls, 1 lock wait".
std::string words_of(const format::noise_counts& of) {
  constexpr std::array names = {"heap call", "system call", "lock wait"};
  static_assert(names.size() == format::noise_counter_count);
  std::string words;
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (of[at] == 0) continue;
    words += fmt::format("{}{} {}{}", words.empty() ? "" : ", ", grouped(of[at]), names[at], of[at] == 1 ? "" : "s");
  }
  return words;
}

json json_of(const format::noise_counts& of) {
  return {{"heap_calls", of[format::heap_calls]},
          {"system_calls", of[format::system_calls]},
          {"lock_waits", of[format::lock_waits]}};
}

}  // namespace

void print_quiet_summary(const format::recording& in) {
  const std::vector<quiet_view> all = analyse::find_quiet_regions(in);
  if (all.empty()) return;
  const auto loud = std::count_if(all.begin(), all.end(), [](const quiet_view& each) { return !each.is_quiet(); });
  fmt::print("{} quiet region{}, {}\n", all.size(), all.size() == 1 ? "" : "s",
             loud == 0 ? "all of them quiet" : fmt::format("{} of them not quiet", loud));
}

void print_quiet_regions(const format::recording& in, std::size_t top) {
  analyse::symbols by(in);
  const paint with;
  bool is_first = true;
  for (const quiet_view& each : analyse::find_quiet_regions(in)) {
    if (each.is_quiet()) break;
    if (is_first) fmt::print("\nQuiet regions\n");
    is_first = false;
    fmt::print("\n{}: {} in {} time{}\n", with.strong(cut(each.name, page_width / 2)), words_of(each.sums),
               grouped(each.entered), each.entered == 1 ? "" : "s");
    const std::size_t shown = std::min(top, each.sites.size());
    for (std::size_t at = 0; at < shown; ++at) {
      fmt::print("   {}\n", words_of(each.sites[at].sums));
      print_stack(analyse::stack_at(in, each.sites[at].site, by));
    }
    if (each.sites.size() > shown) fmt::print("   and from {} more call stacks\n", each.sites.size() - shown);
  }
}

json json_of_quiet_regions(const format::recording& in, std::size_t top) {
  analyse::symbols by(in);
  json all = json::array();
  for (const quiet_view& each : analyse::find_quiet_regions(in)) {
    json one = json_of(each.sums), sites = json::array();
    one["name"] = each.name;
    one["entered"] = each.entered;
    for (std::size_t at = 0; at < std::min(top, each.sites.size()); ++at) {
      sites.push_back(json_of(each.sites[at].sums));
      sites.back()["stack"] = json_of_stack(analyse::stack_at(in, each.sites[at].site, by));
    }
    one["sites"] = std::move(sites);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace tarn::command
