#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/findings/waits/stacks.hpp"
#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::command {
namespace {

using analyse::lasting_group;
using format::awaited;
using nlohmann::json;

using analyse::named_thread;
using format::ownership;

// Returns "worker (938)", or "thread 938".
std::string thread_text(const named_thread& thread) {
  return thread.name.empty() ? fmt::format("thread {}", thread.id)
                             : fmt::format("{} ({})", without_controls(thread.name), thread.id);
}

std::string threads_text(const std::vector<named_thread>& threads) {
  if (threads.size() == 1) return thread_text(threads.front());
  constexpr std::size_t max_shown = 4;
  std::string text = "threads";
  for (std::size_t index = 0; index < std::min(max_shown, threads.size()); ++index) {
    const named_thread& thread = threads[index];
    text += fmt::format("{}{}", index == 0 ? " " : ", ",
                        thread.name.empty() ? std::to_string(thread.id) : thread_text(thread));
  }
  return threads.size() > max_shown ? fmt::format("{} and {} more", text, threads.size() - max_shown) : text;
}

bool is_in_circle(const lasting_group& group) { return group.is_deadlock || group.may_be_deadlock; }

bool is_for_itself(const lasting_group& group) {
  return is_in_circle(group) && group.threads.front().id == group.holder.id;
}

std::string turn_text(const lasting_group& group) {
  if (is_in_circle(group)) return " and which waited for it in turn";
  return group.waits_in_turn ? "; that one waited, too" : "";
}

std::string holder_text(const lasting_group& group) {
  const std::uint32_t number = group.holder.id;
  if (number == 0 && group.kind == awaited::reader_writer)
    return ", which threads had that read; which ones is not known";
  if (number == 0) return ", whose holder is not known";
  switch (group.owner) {
    case ownership::no_thread: return fmt::format(", which thread {} had, which has ended", number);
    case ownership::parent: return fmt::format(", which thread {} of the parent process had at the fork", number);
    case ownership::shared:
      return fmt::format(", which processes share, and which a thread with the number {} had, of one of them", number);
    case ownership::possible:
    case ownership::thread: break;
  }
  const std::string doubt = group.owner == ownership::possible ? ", or an ended thread with the same number," : "";
  if (is_for_itself(group)) return doubt.empty() ? ", which it had already" : ", which it" + doubt + " had already";
  return fmt::format(", which {}{} had{}", thread_text(group.holder), doubt, turn_text(group));
}

std::string awaited_text(const lasting_group& group) {
  switch (group.kind) {
    case awaited::thread_end:
      return fmt::format("the end of {}{}", thread_text(group.holder),
                         is_in_circle(group)   ? ", which waited for it in turn"
                         : group.waits_in_turn ? "; that one waited, too"
                                               : "");
    case awaited::stream: return fmt::format("the lock of a FILE at 0x{:x}{}", group.address, holder_text(group));
    case awaited::reader_writer:
      return fmt::format("the reader-writer lock at 0x{:x}{}", group.address, holder_text(group));
    default: return fmt::format("the mutex at 0x{:x}{}", group.address, holder_text(group));
  }
}

// Returns the C library's function in which a thread waits; empty if none is on its stack.
std::string call_of(const std::vector<analyse::code_location>& stack) {
  const std::size_t own_index = analyse::own_frame_index(stack);
  const std::string name = own_index == 0 ? std::string() : analyse::without_arguments(stack[own_index - 1].function);
  return name.substr(std::min(name.find_first_not_of('_'), name.size()));  // of an alias, such as ___pthread_cond_wait
}

void print_group(analyse::analysis& analysis, const lasting_group& group, std::size_t rank) {
  const bool has_circle = is_in_circle(group);
  const std::vector<named_thread> actors(group.threads.begin(),
                                         has_circle ? group.threads.begin() + 1 : group.threads.end());
  std::string text = fmt::format("{}{} waited for {}",
                                 group.is_deadlock ? "a deadlock: "
                                 : has_circle      ? "perhaps a deadlock: "
                                                   : "",
                                 threads_text(actors), awaited_text(group));
  if (const std::size_t others = group.threads.size() - actors.size(); others != 0)
    text += fmt::format("; {} waited for it, too, outside of this circle", count_text(others, "more thread"));
  fmt::print("\n{}. {}\n", rank, wrap_text(text, 3));
  print_stack(analysis, group.site);
  if (group.holder_site != 0 && !group.waits_in_turn) {
    const std::string call = call_of(analysis.stack(group.holder_site));
    fmt::print("   meanwhile {} was{}\n", thread_text(group.holder), call.empty() ? "" : " in " + call);
    print_stack(analysis, group.holder_site);
  }
  const bool is_scoped = group.kind == awaited::mutex || group.kind == awaited::reader_writer;
  if (group.is_deadlock && is_scoped && !is_for_itself(group))
    fmt::print("   → one order everywhere; or both at once: tarn::with(a, b, …), std::scoped_lock\n");
}

void print_lasting_summary(analyse::analysis& analysis) {
  const analyse::lasting_findings& findings = analysis.lasting_waits();
  std::string text;
  if (!findings.groups.empty()) {
    const auto waits_for = [&](awaited kind) {
      return std::any_of(findings.groups.begin(), findings.groups.end(),
                         [&](const lasting_group& group) { return group.kind == kind; });
    };
    std::size_t ends_in_deadlock = 0;  // threads that wait in a circle for the end of another one
    for (const lasting_group& group : findings.groups) {
      if (group.is_deadlock && group.kind == awaited::thread_end) ++ends_in_deadlock;
    }
    std::vector<std::string> locks;
    if (waits_for(awaited::mutex)) locks.emplace_back("a mutex");
    if (waits_for(awaited::reader_writer)) locks.emplace_back("a reader-writer lock");
    if (waits_for(awaited::stream)) locks.emplace_back("a FILE");
    if (ends_in_deadlock != 0) locks.emplace_back("the end of a thread");
    text = fmt::format("{} waited for {} from before the recording until its end",
                       count_text(findings.for_mutexes + ends_in_deadlock, "thread"), fmt::join(locks, " or "));
    if (findings.in_deadlock != 0)
      text += fmt::format(", {} of them for {}: a deadlock", findings.in_deadlock,
                          findings.in_deadlock == 1 ? "itself" : "each other");
    if (findings.for_words != 0)
      text +=
          fmt::format("; {} for what has no holder, such as a condition variable or a semaphore (--cpu shows where)",
                      findings.for_words);
  }
  if (findings.interrupted != 0)
    text += fmt::format("{}{} waited for a lock at the begin and at the end, but ran in between, as for a signal",
                        text.empty() ? "" : "; ", count_text(findings.interrupted, "thread"));
  if (!text.empty()) fmt::print("{}.\n", wrap_text(text, 3));
}

void print_lasting(analyse::analysis& analysis, std::size_t top) {
  const std::vector<lasting_group>& groups = analysis.lasting_waits().groups;
  for (std::size_t index = 0; index < std::min(top, groups.size()); ++index) {
    if (index == 0) fmt::print("\nWaits since before the recording\n");
    print_group(analysis, groups[index], index + 1);
  }
  if (groups.size() > top) fmt::print("\n{}; --top N\n", count_text(groups.size() - top, "more such wait"));
}

const char* kind_name(awaited kind) {
  switch (kind) {
    case awaited::mutex: return "mutex";
    case awaited::stream: return "stream";
    case awaited::reader_writer: return "reader_writer";
    default: return "thread_end";
  }
}

const char* owner_name(ownership owner) {
  switch (owner) {
    case ownership::thread: return "thread";
    case ownership::possible: return "possible";
    case ownership::shared: return "shared";
    case ownership::parent: return "parent";
    case ownership::no_thread: break;
  }
  return "ended";
}

json json_of_lasting(analyse::analysis& analysis, std::size_t top) {
  const analyse::lasting_findings& findings = analysis.lasting_waits();
  json groups = json::array();
  for (std::size_t index = 0; index < std::min(top, findings.groups.size()); ++index) {
    const lasting_group& group = findings.groups[index];
    json threads = json::array(), names = json::array();
    for (const named_thread& thread : group.threads) {
      threads.push_back(thread.id);
      names.push_back(thread.name);
    }
    const bool has_holder = group.holder.id != 0 && group.owner == ownership::thread;
    groups.push_back({{"awaited", kind_name(group.kind)},
                      {"address", group.address},
                      {"threads", std::move(threads)},
                      {"names", std::move(names)},
                      {"stack", json_of_stack(analysis, group.site)},
                      {"holder", has_holder ? json(group.holder.id) : json(nullptr)},
                      {"holder_number", group.holder.id == 0 ? json(nullptr) : json(group.holder.id)},
                      {"holder_is", group.holder.id == 0 ? json(nullptr) : json(owner_name(group.owner))},
                      {"holder_name", group.holder.name},
                      {"holder_at", {{"stack", json_of_stack(analysis, group.holder_site)}}},
                      {"is_deadlock", group.is_deadlock},
                      {"may_be_deadlock", group.may_be_deadlock}});
  }
  return {{"groups", groups},
          {"in_deadlock", findings.in_deadlock},
          {"for_mutexes", findings.for_mutexes},
          {"without_holder", findings.for_words},
          {"interrupted", findings.interrupted}};
}

}  // namespace

const section lasting_section = {"lasting_waits", print_lasting_summary, print_lasting, json_of_lasting};

}  // namespace tarn::command
