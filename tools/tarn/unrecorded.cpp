#include "tarn/unrecorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tarn/failure.hpp"
#include "tarn/program.hpp"

namespace tarn::command {

format::unrecorded_facts unrecorded_in(const region_file& region) {
  format::unrecorded_facts facts = region.unrecorded();
  if (facts.became.empty()) return facts;
  try {
    check_preloadable(facts.became, find_program(facts.became), "libtarn-record.so");
  } catch (const failure& reason) {
    facts.why = reason.what();
  }
  return facts;
}

std::vector<std::string> unrecorded_words(const format::unrecorded_facts& of) {
  std::vector<std::string> lines;
  if (!of.became.empty()) {
    lines.push_back(fmt::format("not recorded: the program that it became by exec, {}",
                                of.why.empty() ? of.became + ": the loader did not obey LD_PRELOAD" : of.why));
  }
  std::vector<std::pair<std::string, std::uint64_t>> programs(of.programs.begin(), of.programs.end());
  std::stable_sort(programs.begin(), programs.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::uint64_t all = 0;
  std::string names;
  constexpr std::size_t most_named = 6;
  for (std::size_t at = 0; at < programs.size(); ++at) {
    const auto& [name, starts] = programs[at];
    all += starts;
    if (at == most_named) names += ", …";
    if (at >= most_named) continue;
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", name, starts > 1 ? fmt::format(" ×{}", starts) : "");
  }
  constexpr const char* help = "tarn record --follow records each process";
  if (all != 0) lines.push_back(fmt::format("not recorded: {} programs that it started ({}); {}", all, names, help));
  if (of.forks > all) {
    lines.push_back(fmt::format("not recorded: {} processes that it forked; {}", of.forks - all, help));
  }
  return lines;
}

}  // namespace tarn::command
