#include "profiler/findings/unrecorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tarn::command {

std::vector<std::string> unrecorded_text(const format::recording& recording) {
  const format::unrecorded_facts& facts = recording.unrecorded;
  const std::vector<std::string>& sources = recording.program.sources;
  std::vector<std::string> lines;
  if (facts.is_restricted && std::any_of(sources.begin(), sources.end(),
                                         [](const std::string& source) { return source.starts_with("system calls"); }))
    lines.emplace_back("the program restricted its system calls (seccomp); later system calls were not recorded");
  if (!facts.became.empty()) {
    lines.push_back(fmt::format("not recorded: the program that replaced it by exec, {}",
                                facts.why.empty() ? facts.became + ": the loader did not obey LD_PRELOAD" : facts.why));
  }
  std::vector<std::pair<std::string, std::uint64_t>> programs(facts.programs.begin(), facts.programs.end());
  std::stable_sort(programs.begin(), programs.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::uint64_t starts_of_all = 0;
  std::string names;
  constexpr std::size_t max_names = 6;
  const auto has_reason = [](const auto& program) { return program.first.find(": ") != std::string::npos; };
  for (const auto& [name, starts] : programs) {
    const std::size_t end = name.find(": ");
    if (end == std::string::npos) continue;
    lines.push_back(fmt::format("not recorded: {}{}{}", name.substr(0, end),
                                starts > 1 ? fmt::format(" ×{}", starts) : "", name.substr(end)));
  }
  std::erase_if(programs, has_reason);
  for (std::size_t index = 0; index < programs.size(); ++index) {
    const auto& [name, starts] = programs[index];
    starts_of_all += starts;
    if (index == max_names) names += ", …";
    if (index >= max_names) continue;
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", name, starts > 1 ? fmt::format(" ×{}", starts) : "");
  }
  constexpr const char* help = "use tarn record --follow to record each process";
  if (starts_of_all != 0)
    lines.push_back(fmt::format("not recorded: {} child {} ({}); {}", starts_of_all,
                                starts_of_all == 1 ? "program" : "programs", names, help));
  if (facts.forks != 0)
    lines.push_back(
        fmt::format("not recorded: {} forked {}; {}", facts.forks, facts.forks == 1 ? "process" : "processes", help));
  return lines;
}

}  // namespace tarn::command
