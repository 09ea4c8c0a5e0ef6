#include "profiler/findings/waits/lasting_waits.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace tarn::analyse {
namespace {

using format::awaited;
using format::lasting_wait;

// The wait of each thread, by its number.
using waits_by_thread = std::map<std::uint32_t, const lasting_wait*>;

const lasting_wait* wait_of(const waits_by_thread& waits, std::uint32_t thread) {
  const auto match = waits.find(thread);
  return match == waits.end() ? nullptr : match->second;
}

bool is_in_deadlock(const waits_by_thread& waits, std::uint32_t start) {
  std::uint32_t thread = start;
  for (std::size_t step = 0; step < waits.size(); ++step) {
    const lasting_wait* const wait = wait_of(waits, thread);
    if (wait == nullptr || wait->holder == 0) return false;
    thread = wait->holder;
    if (thread == start) return true;
  }
  return false;
}

}  // namespace

void add_modules(format::recording& recording, std::vector<format::module_facts> modules) {
  const std::size_t recorded = recording.modules.size();
  for (format::module_facts& module : modules) {
    const auto is_same = [&](const format::module_facts& module_recorded) {
      return module_recorded.image == module.image && module_recorded.start < module.end &&
             module.start < module_recorded.end;
    };
    const auto end = recording.modules.begin() + static_cast<std::ptrdiff_t>(recorded);
    if (std::none_of(recording.modules.begin(), end, is_same)) recording.modules.push_back(std::move(module));
  }
}

format::recording with_lasting_stacks(format::recording recording) {
  format::lasting_waits& lasting = recording.lasting;
  if (lasting.stacks.empty()) return recording;
  if (recording.sites.empty()) recording.sites.emplace_back();
  const auto first = static_cast<std::uint32_t>(recording.sites.size()) - 1;  // stack 0 is site 0
  std::move(lasting.stacks.begin() + 1, lasting.stacks.end(), std::back_inserter(recording.sites));
  for (lasting_wait& wait : lasting.waits) wait.stack = wait.stack == 0 ? 0 : first + wait.stack;
  add_modules(recording, std::move(lasting.modules));
  std::move(lasting.python_codes.begin(), lasting.python_codes.end(), std::back_inserter(recording.python_codes));
  lasting.stacks.clear();
  lasting.modules.clear();
  lasting.python_codes.clear();
  return recording;
}

lasting_findings find_lasting_waits(const format::recording& recording) {
  waits_by_thread waits;
  for (const lasting_wait& wait : recording.lasting.waits) waits[wait.thread] = &wait;
  lasting_findings result;
  std::map<std::tuple<awaited, std::uint64_t, std::uint32_t>, lasting_group> groups;
  for (const lasting_wait& wait : recording.lasting.waits) {
    if (wait.kind == awaited::nothing) continue;
    if (wait.kind == awaited::word) {
      ++result.for_words;
      continue;
    }
    lasting_group& group = groups[{wait.kind, wait.address, wait.holder}];
    const bool is_in_cycle = is_in_deadlock(waits, wait.thread);
    if (group.threads.empty() || (is_in_cycle && !group.is_deadlock)) group.site = wait.stack;
    group.threads.insert(is_in_cycle ? group.threads.begin() : group.threads.end(), wait.thread);
    group.kind = wait.kind;
    group.address = wait.address;
    group.holder = wait.holder;
    group.is_deadlock = group.is_deadlock || is_in_cycle;
    if (is_in_cycle) ++result.in_deadlock;
    if (wait.kind == awaited::mutex) ++result.for_mutexes;
    const lasting_wait* const holder = wait.holder == 0 ? nullptr : wait_of(waits, wait.holder);
    if (holder == nullptr) continue;
    group.holder_site = holder->stack;
    group.waits_in_turn = holder->kind == awaited::mutex || holder->kind == awaited::thread_end;
  }
  if (result.for_mutexes + result.in_deadlock == 0) return result;  // a thread that waits for others to end is usual
  for (auto& [key, group] : groups) result.groups.push_back(std::move(group));
  std::stable_sort(result.groups.begin(), result.groups.end(), [](const auto& a, const auto& b) {
    return std::tuple(!a.is_deadlock, a.kind, b.threads.size()) < std::tuple(!b.is_deadlock, b.kind, a.threads.size());
  });
  return result;
}

}  // namespace tarn::analyse
