#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/findings/waits/stacks.hpp"
#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using analyse::lock_group;
using analyse::lock_site;
using nlohmann::json;

constexpr std::size_t shown_sites = 3, shown_calls = 3, shown_waits = 4;  // per lock in the text; the JSON has all
constexpr std::size_t shown_lock_callers = 3, asked_stacks = 50;          // per site

std::string waits_text(std::uint64_t contended, std::uint64_t waited_ns) {
  if (contended == 0 && waited_ns != 0) return fmt::format("waited {} in all", duration_text(waited_ns));
  return contended == 0 ? "no wait"
                        : fmt::format("{}, {} in all", count_text(contended, "wait"), duration_text(waited_ns));
}

// The use of a lock by one caller of the function that takes it.
struct lock_caller {
  std::string location;
  std::uint64_t acquisitions = 0, held_ns = 0;
};

std::vector<lock_caller> callers_of(analyse::analysis& analysis, const lock_site& site) {
  std::vector<lock_caller> callers;
  for (std::size_t index = 0; index < std::min(asked_stacks, site.stacks.size()); ++index) {
    const analyse::lock_stack& use = site.stacks[index];
    const std::vector<analyse::code_location> stack = analysis.stack(use.site);
    const std::size_t frame = caller_index(stack);
    if (use.acquisitions == 0 || frame == stack.size()) continue;
    const std::string location = location_text(stack[frame], text_width - 56);
    auto match = std::find_if(callers.begin(), callers.end(),
                              [&](const lock_caller& caller) { return caller.location == location; });
    if (match == callers.end()) match = callers.insert(match, {location});
    match->acquisitions += use.acquisitions;
    match->held_ns += use.held_ns;
  }
  std::stable_sort(callers.begin(), callers.end(), [](const lock_caller& a, const lock_caller& b) {
    return std::tie(a.held_ns, a.acquisitions) > std::tie(b.held_ns, b.acquisitions);
  });
  return callers;
}

// Prints the stack that takes a lock most often, or, where several callers do, how much of it each of them does.
void print_lock_stack(analyse::analysis& analysis, const lock_site& site) {
  const std::vector<lock_caller> callers = callers_of(analysis, site);
  const std::vector<analyse::code_location> stack = analysis.stack(site.site);
  if (callers.size() < 2 || stack.empty()) return print_stack(analysis, site.site);
  fmt::print("   at {}\n", location_text(stack[analyse::own_frame_index(stack)], text_width - 6));
  lock_caller sum;
  for (const lock_caller& caller : callers) sum.acquisitions += caller.acquisitions, sum.held_ns += caller.held_ns;
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return fmt::format("{:.0f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
  };
  const std::size_t printed_callers = std::min(shown_lock_callers, callers.size());
  for (std::size_t index = 0; index < printed_callers; ++index) {
    const lock_caller& caller = callers[index];
    const bool is_last = index + 1 == printed_callers && callers.size() > printed_callers;
    fmt::print("   {}{} of the acquisitions: by {}{}\n",
               sum.held_ns == 0 ? "" : share(caller.held_ns, sum.held_ns) + " of the time held, ",
               share(caller.acquisitions, sum.acquisitions), caller.location,
               is_last ? fmt::format(", and {} more", callers.size() - printed_callers) : "");
  }
}

// `is_only` leaves out the figures that the lock's own line has.
void print_site(analyse::analysis& analysis, const lock_site& site, bool is_only) {
  if (!is_only) {
    fmt::print("   {}: {}; held {}\n", estimate_text(site.sums[format::acquisitions], site.error, "time"),
               waits_text(site.sums[format::contended], site.sums[format::wait_ticks]),
               duration_text(site.sums[format::held_ticks]));
  }
  print_lock_stack(analysis, site);
  if (site.waits.empty()) return;
  const analyse::lock_wait& longest = site.waits.front();
  const bool is_same = std::any_of(site.stacks.begin(), site.stacks.end(),
                                   [&](const analyse::lock_stack& stack) { return stack.site == longest.holder_site; });
  const bool is_shown = is_same && site.stacks.size() == 1;
  const std::uint64_t waited_ns = std::max<std::uint64_t>(site.sums[format::wait_ticks], longest.nanoseconds);
  fmt::print(
      "   longest holder meanwhile: thread {}, {} ({:.0f} %), acquired {}{}\n",
      analysis.recording().threads[longest.holder].id, duration_text(longest.nanoseconds),
      100 * static_cast<double>(longest.nanoseconds) / static_cast<double>(std::max<std::uint64_t>(waited_ns, 1)),
      is_same ? "at the same site" : "elsewhere", is_shown ? "" : ":");
  if (!is_shown) print_stack(analysis, longest.holder_site);
}

void print_unfinished_waits(analyse::analysis& analysis, const lock_group& group) {
  const std::vector<format::thread_facts>& threads = analysis.recording().threads;
  for (std::size_t index = 0; index < std::min(shown_waits, group.still_waiting.size()); ++index) {
    const analyse::unfinished_wait& wait = group.still_waiting[index];
    std::string holder;
    if (wait.has_holder) {
      holder = wait.holder == wait.thread ? ", for itself: it held the lock already"
                                          : fmt::format(", for thread {}{}", threads[wait.holder].id,
                                                        wait.is_deadlock ? ", which waited for it in turn" : "");
    }
    fmt::print("   thread {} waited {} and still waited at the end{}\n", threads[wait.thread].id,
               duration_text(wait.nanoseconds), holder);
  }
  if (group.still_waiting.size() > shown_waits)
    fmt::print("   and {} still waited\n", count_text(group.still_waiting.size() - shown_waits, "more thread"));
}

void print_group(analyse::analysis& analysis, const lock_group& group, std::size_t rank) {
  const bool is_condition = group.category == analyse::lock_category::condition;
  fmt::print("\n{}. {}: {}, {}\n", rank, analyse::name(group.category),
             count_text(group.locks, analyse::name(group.type)),
             group.threads == 0 ? "which no thread was seen to acquire"
                                : fmt::format("{} {} by {}", is_condition ? "threads woken" : "acquired",
                                              estimate_text(group.sums[format::acquisitions], group.error, "time"),
                                              thread_count_text(group.threads, group.may_have_more_threads)));
  std::string text = waits_text(group.sums[format::contended], group.sums[format::wait_ticks]);
  if (group.sums[format::contended] > 1)
    text += fmt::format(", {} at most", duration_text(group.sums[format::longest_wait]));
  if (const std::uint64_t holds = group.sums[format::holds] + group.still_held; holds != 0)
    text += fmt::format("; held {} each", duration_text(group.sums[format::held_ticks] / holds));
  if (group.still_held != 0) text += "; still held at the end";
  if (group.sums[format::refused] != 0)
    text += fmt::format("; {} gave up", count_text(group.sums[format::refused], "try"));
  fmt::print("   {}\n", text);
  const std::uint64_t waited_ns = group.sums[format::wait_ticks], held_wait_ns = analyse::held_wait_ns(group);
  if (!is_condition && held_wait_ns < waited_ns / 2) {
    fmt::print("   most of the waiting was for a processor: another thread had the lock for {} of it\n",
               duration_text(held_wait_ns));
  }
  print_unfinished_waits(analysis, group);
  for (std::size_t index = 0; index < std::min(shown_sites, group.sites.size()); ++index)
    print_site(analysis, group.sites[index], group.sites.size() == 1);
  if (group.sites.size() > shown_sites)
    fmt::print("   and {}\n", count_text(group.sites.size() - shown_sites, "more site"));
  for (std::size_t index = 0; index < std::min(shown_calls, group.calls_inside.size()); ++index) {
    const analyse::call_inside& call = group.calls_inside[index];
    const std::vector<analyse::code_location> stack = analysis.stack(call.site);
    fmt::print("   inside: {}, {}{}\n", call.name, duration_text(call.nanoseconds),
               stack.empty() ? "" : ", at " + location_text(stack[analyse::own_frame_index(stack)], 60));
  }
  fmt::print("   → {}\n", wrap_text(group.remedy, 5));
  if (group.read_mostly && group.read_mostly->replacing_site != 0) {
    fmt::print("   {}\n", group.read_mostly->is_known ? "replaced:" : "perhaps replaced:");
    print_stack(analysis, group.read_mostly->replacing_site);
  }
}

json json_of_read_mostly(analyse::analysis& analysis, const lock_group& group) {
  if (!group.read_mostly) return nullptr;
  const analyse::read_mostly_use& use = *group.read_mostly;
  return {{"is_known", use.is_known},
          {"reads", use.reads},
          {"replacements", use.replacements},
          {"stack", json_of_stack(analysis, use.replacing_site)}};
}

json json_of_calls_inside(analyse::analysis& analysis, const lock_group& group) {
  json calls = json::array();
  for (const analyse::call_inside& call : group.calls_inside) {
    calls.push_back({{"name", call.name},
                     {"count", call.calls},
                     {"time_ns", call.nanoseconds},
                     {"stack", json_of_stack(analysis, call.site)}});
  }
  return calls;
}

json json_of_still_waiting(analyse::analysis& analysis, const lock_group& group) {
  json waits = json::array();
  for (const analyse::unfinished_wait& wait : group.still_waiting) {
    waits.push_back(
        {{"thread", wait.thread},
         {"waited_ns", wait.nanoseconds},
         {"stack", json_of_stack(analysis, wait.site)},
         {"holder", wait.has_holder ? json(wait.holder) : json(nullptr)},
         {"held_from", wait.has_holder ? json{{"stack", json_of_stack(analysis, wait.holder_site)}} : json(nullptr)},
         {"is_deadlock", wait.is_deadlock}});
  }
  return waits;
}

json json_of_lock_site(analyse::analysis& analysis, const lock_site& site) {
  json waits = json::array();
  for (const analyse::lock_wait& wait : site.waits) {
    waits.push_back({{"holder", wait.holder},
                     {"waits", wait.waits},
                     {"waited_ns", wait.nanoseconds},
                     {"stack", json_of_stack(analysis, wait.holder_site)}});
  }
  return {{"acquisitions", site.sums[format::acquisitions]},
          {"error", site.error},
          {"waited_count", site.sums[format::contended]},
          {"refused", site.sums[format::refused]},
          {"waited_ns", site.sums[format::wait_ticks]},
          {"held_ns", site.sums[format::held_ticks]},
          {"waits", waits},
          {"stack", json_of_stack(analysis, site.site)}};
}

// Returns the locks that were acquired most often, without condition variables; null if there are none.
const lock_group* busiest_group(const analyse::lock_findings& findings) {
  const lock_group* busiest = nullptr;
  for (const lock_group& group : findings.groups) {
    if (group.category == analyse::lock_category::condition) continue;
    if (busiest == nullptr || group.sums[format::acquisitions] > busiest->sums[format::acquisitions]) busiest = &group;
  }
  return busiest;
}

void print_locks_summary(analyse::analysis& analysis) {
  const analyse::lock_findings& findings = analysis.locks();
  if (findings.groups.empty()) return;
  std::uint64_t locks = 0;
  for (const lock_group& group : findings.groups)
    locks += group.category == analyse::lock_category::condition ? 0 : group.locks;
  const bool has_waited = findings.contended != 0 || findings.wait_nanoseconds != 0;
  const std::string text =
      fmt::format("{}, acquired {}; {}{}{}", count_text(locks, "lock"),
                  estimate_text(findings.acquisitions, findings.error, "time"),
                  !has_waited               ? "none after a wait"
                  : findings.contended == 0 ? "waited " + duration_text(findings.wait_nanoseconds)
                                            : fmt::format("{} after a wait: {}", count_text(findings.contended, "time"),
                                                          duration_text(findings.wait_nanoseconds)),
                  has_waited ? summed_text(analysis.recording()) : "",
                  findings.still_waiting == 0
                      ? ""
                      : fmt::format("; {} still waited at the end", count_text(findings.still_waiting, "thread")));
  fmt::print("{}\n", wrap_text(text, 3));
  if (findings.has_remedy()) return;
  std::string busiest_text;
  if (const lock_group* const group = busiest_group(findings)) {
    const std::vector<analyse::code_location> stack = analysis.stack(group->first_site);
    busiest_text = fmt::format("; the most taken {}: {}", analyse::name(group->type),
                               estimate_text(group->sums[format::acquisitions], group->error, "time"));
    if (!stack.empty()) busiest_text += ", first at " + location_text(stack[analyse::own_frame_index(stack)], 40);
  }
  fmt::print("{}.\n", wrap_text(fmt::format("No {}remedy for locks: threads waited {}{}",
                                            possible_deadlock_text(analysis).empty() ? "" : "other ",
                                            duration_text(findings.wait_nanoseconds), busiest_text),
                                3));
}

void print_locks(analyse::analysis& analysis, std::size_t top) {
  std::size_t printed_groups = 0;
  for (const lock_group& group : analysis.locks().groups) {
    if (group.remedy.empty()) continue;
    if (printed_groups == top) break;
    if (printed_groups == 0) fmt::print("\nLocks\n");
    print_group(analysis, group, ++printed_groups);
  }
}

json json_of_locks(analyse::analysis& analysis, std::size_t top) {
  const analyse::lock_findings& findings = analysis.locks();
  json locks = json::array();
  for (std::size_t index = 0; index < std::min(top, findings.groups.size()); ++index) {
    const lock_group& group = findings.groups[index];
    json sites = json::array();
    for (const lock_site& site : group.sites) sites.push_back(json_of_lock_site(analysis, site));
    locks.push_back({{"type", analyse::name(group.type)},
                     {"category", analyse::name(group.category)},
                     {"locks", group.locks},
                     {"address", group.address},
                     {"threads", group.threads},
                     {"may_have_more_threads", group.may_have_more_threads},
                     {"acquisitions", group.sums[format::acquisitions]},
                     {"error", group.error},
                     {"waited_count", group.sums[format::contended]},
                     {"refused", group.sums[format::refused]},
                     {"shared", group.sums[format::reader_acquisitions]},
                     {"waited_ns", group.sums[format::wait_ticks]},
                     {"longest_wait_ns", group.sums[format::longest_wait]},
                     {"held_wait_ns", analyse::held_wait_ns(group)},
                     {"holds", group.sums[format::holds]},
                     {"held_ns", group.sums[format::held_ticks]},
                     {"longest_held_ns", group.sums[format::longest_held]},
                     {"idle_wakeups", group.idle_wakeups},
                     {"still_held", group.still_held},
                     {"still_waiting", json_of_still_waiting(analysis, group)},
                     {"stack", json_of_stack(analysis, group.first_site)},
                     {"sites", sites},
                     {"read_mostly", json_of_read_mostly(analysis, group)},
                     {"calls_inside", json_of_calls_inside(analysis, group)},
                     {"remedy", group.remedy}});
  }
  return locks;
}

}  // namespace

const section locks_section = {"locks", print_locks_summary, print_locks, json_of_locks};

}  // namespace tarn::command
