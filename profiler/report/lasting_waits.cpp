#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using analyse::lasting_group;
using format::awaited;
using nlohmann::json;

std::string threads_text(const std::vector<std::uint32_t>& threads) {
  constexpr std::size_t max_shown = 4;
  std::string text = threads.size() == 1 ? "thread" : "threads";
  for (std::size_t index = 0; index < std::min(max_shown, threads.size()); ++index)
    text += fmt::format("{}{}", index == 0 ? " " : ", ", threads[index]);
  return threads.size() > max_shown ? fmt::format("{} and {} more", text, threads.size() - max_shown) : text;
}

std::string holder_text(const lasting_group& group) {
  if (group.holder == 0) return ", whose holder is not known";
  if (group.is_deadlock && group.threads.front() == group.holder) return ", which it had already";
  return fmt::format(", which thread {} had{}", group.holder,
                     group.is_deadlock     ? " and which waited for it in turn"
                     : group.waits_in_turn ? "; that one waited, too"
                                           : "");
}

void print_group(analyse::analysis& analysis, const lasting_group& group, std::size_t rank) {
  const std::string awaited_text = group.kind == awaited::mutex
                                       ? fmt::format("the mutex at 0x{:x}{}", group.address, holder_text(group))
                                       : fmt::format("the end of thread {}{}", group.holder,
                                                     group.is_deadlock     ? ", which waited for it in turn"
                                                     : group.waits_in_turn ? "; that one waited, too"
                                                                           : "");
  fmt::print("\n{}. {}\n", rank,
             wrap_text(fmt::format("{}{} waited for {}", group.is_deadlock ? "a deadlock: " : "",
                                   threads_text(group.threads), awaited_text),
                       3));
  print_stack(analysis, group.site);
  if (group.holder_site != 0 && !group.waits_in_turn) {
    fmt::print("   meanwhile thread {} was\n", group.holder);
    print_stack(analysis, group.holder_site);
  }
  if (group.is_deadlock && group.kind == awaited::mutex && group.threads.front() != group.holder)
    fmt::print("   → one order everywhere; or both at once: tarn::with(a, b, …), std::scoped_lock\n");
}

void print_lasting_summary(analyse::analysis& analysis) {
  const analyse::lasting_findings& findings = analysis.lasting_waits();
  if (findings.groups.empty()) return;
  const std::string without_holder =
      findings.for_words == 0
          ? ""
          : fmt::format("; {} for what has no holder, such as a condition variable or a semaphore (--cpu shows where)",
                        findings.for_words);
  const std::string deadlock = findings.in_deadlock == 0
                                   ? ""
                                   : fmt::format(", {} of them for {}: a deadlock", findings.in_deadlock,
                                                 findings.in_deadlock == 1 ? "itself" : "each other");
  fmt::print("{}\n", wrap_text(fmt::format("{} waited for a mutex from before the recording until its end{}{}.",
                                           count_text(findings.for_mutexes, "thread"), deadlock, without_holder),
                               3));
}

void print_lasting(analyse::analysis& analysis, std::size_t top) {
  const std::vector<lasting_group>& groups = analysis.lasting_waits().groups;
  for (std::size_t index = 0; index < std::min(top, groups.size()); ++index) {
    if (index == 0) fmt::print("\nWaits since before the recording\n");
    print_group(analysis, groups[index], index + 1);
  }
  if (groups.size() > top) fmt::print("\n{}; --top N\n", count_text(groups.size() - top, "more such wait"));
}

json json_of_lasting(analyse::analysis& analysis, std::size_t top) {
  const analyse::lasting_findings& findings = analysis.lasting_waits();
  json groups = json::array();
  for (std::size_t index = 0; index < std::min(top, findings.groups.size()); ++index) {
    const lasting_group& group = findings.groups[index];
    groups.push_back({{"awaited", group.kind == awaited::mutex ? "mutex" : "thread_end"},
                      {"address", group.address},
                      {"threads", group.threads},
                      {"stack", json_of_stack(analysis, group.site)},
                      {"holder", group.holder == 0 ? json(nullptr) : json(group.holder)},
                      {"holder_at", {{"stack", json_of_stack(analysis, group.holder_site)}}},
                      {"is_deadlock", group.is_deadlock}});
  }
  return {{"groups", groups},
          {"in_deadlock", findings.in_deadlock},
          {"for_mutexes", findings.for_mutexes},
          {"without_holder", findings.for_words}};
}

}  // namespace

const section lasting_section = {"lasting_waits", print_lasting_summary, print_lasting, json_of_lasting};

}  // namespace tarn::command
