#include "profiler/findings/waits/lasting_waits.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "profiler/format/generations.hpp"
#include "profiler/format/module_generations.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::analyse {
namespace {

using format::awaited;
using format::lasting_wait;
using format::ownership;
using format::wait_start;

// The wait of each thread, by its number.
using waits_by_thread = std::map<std::uint32_t, const lasting_wait*>;

const lasting_wait* wait_of(const waits_by_thread& waits, std::uint32_t thread) {
  const auto match = waits.find(thread);
  return match == waits.end() ? nullptr : match->second;
}

// How a thread waits for itself, perhaps by way of others.
struct circle {
  bool is_closed = false;
  bool is_certain = true;  // each holder is known to be no ended thread of the same number
  bool is_later = false;   // it was closed while the process was recorded, or a thread in it has run since
};

circle circle_of(const waits_by_thread& waits, std::uint32_t start) {
  circle result;
  std::uint32_t thread = start;
  for (std::size_t step = 0; step < waits.size(); ++step) {
    const lasting_wait* const wait = wait_of(waits, thread);
    if (wait == nullptr || wait->holder == 0) return result;
    if (wait->owner != ownership::thread && wait->owner != ownership::possible) return result;
    result.is_certain = result.is_certain && wait->owner == ownership::thread;
    result.is_later = result.is_later || wait->start != wait_start::before;
    thread = wait->holder;
    result.is_closed = thread == start;
    if (result.is_closed) return result;
  }
  return result;
}

// Returns false for modules with the same addresses that are known to be of two files. One file may have several paths,
// and another build id once it is replaced.
bool may_be_same(const format::module_facts& a, const format::module_facts& b) {
  return a.build_id.empty() || b.build_id.empty() || a.build_id == b.build_id || file_name(a.path) == file_name(b.path);
}

}  // namespace

bool is_for_lock(awaited kind) {
  return kind == awaited::mutex || kind == awaited::stream || kind == awaited::reader_writer;
}

void join_modules(format::recording& recording, std::vector<format::module_facts> modules,
                  std::vector<format::site_facts>& stacks) {
  const std::size_t recorded = recording.modules.size();
  std::vector<std::pair<format::module_facts, std::uint64_t>> changed_modules;  // with the new generation
  for (format::module_facts& module : modules) {
    const std::uint64_t before = format::generation_of(module);
    std::uint64_t generation = before, next_generation = 0;
    bool is_recorded = false;
    for (std::size_t number = 0; number < recorded; ++number) {
      const format::module_facts& candidate = recording.modules[number];
      if (!format::share_addresses(candidate, module)) continue;
      const std::uint64_t generation_found = format::generation_of(candidate);
      next_generation = std::max(next_generation, generation_found + 1);
      if (may_be_same(candidate, module) && (!is_recorded || candidate.build_id == module.build_id)) {
        is_recorded = true;
        generation = generation_found;
      }
    }
    if (!is_recorded) generation = std::max(generation, next_generation);
    if (generation != before) changed_modules.emplace_back(module, generation);
    if (is_recorded) continue;
    format::set_generation(module, generation);
    recording.modules.push_back(std::move(module));
  }
  if (changed_modules.empty()) return;
  for (format::site_facts& stack : stacks) {
    for (std::uint64_t& frame : stack.frames) {
      const auto match = std::find_if(changed_modules.begin(), changed_modules.end(), [&](const auto& changed) {
        return changed.first.image == stack.image && frame - 1 >= changed.first.start && frame - 1 < changed.first.end;
      });
      if (match != changed_modules.end())
        frame = format::in_generation(format::without_generation(frame), match->second);
    }
  }
}

format::recording with_lasting_stacks(format::recording recording) {
  format::lasting_waits& lasting = recording.lasting;
  if (lasting.stacks.empty()) return recording;
  if (recording.sites.empty()) recording.sites.emplace_back();
  join_modules(recording, std::move(lasting.modules), lasting.stacks);
  const auto first = static_cast<std::uint32_t>(recording.sites.size()) - 1;  // stack 0 is site 0
  std::move(lasting.stacks.begin() + 1, lasting.stacks.end(), std::back_inserter(recording.sites));
  for (lasting_wait& wait : lasting.waits) wait.stack = wait.stack == 0 ? 0 : first + wait.stack;
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
  const auto is_in_group = [&](const lasting_wait& wait) {
    if (wait.kind == awaited::nothing || wait.kind == awaited::word) return false;
    return wait.start == wait_start::before || circle_of(waits, wait.thread).is_closed;
  };
  bool has_lock = false;
  for (const lasting_wait& wait : recording.lasting.waits) {
    if (!is_in_group(wait)) {
      if (wait.kind == awaited::word && wait.start == wait_start::before) ++result.for_words;
      if (is_for_lock(wait.kind) && wait.start == wait_start::interrupted) ++result.interrupted;
      continue;
    }
    const circle own_circle = circle_of(waits, wait.thread);
    lasting_group& group = groups[{wait.kind, wait.address, wait.holder}];
    if (group.threads.empty() || own_circle.is_closed) group.site = wait.stack;
    group.threads.insert(own_circle.is_closed ? group.threads.begin() : group.threads.end(), {wait.thread, wait.name});
    group.kind = wait.kind;
    group.address = wait.address;
    group.holder.id = wait.holder;
    group.owner = wait.owner;
    group.is_deadlock = group.is_deadlock || (own_circle.is_closed && own_circle.is_certain);
    group.may_be_deadlock = group.may_be_deadlock || (own_circle.is_closed && !own_circle.is_certain);
    group.is_deadlock_later = group.is_deadlock_later || (own_circle.is_closed && own_circle.is_later);
    if (own_circle.is_closed && own_circle.is_certain) ++result.in_deadlock;
    if (is_for_lock(wait.kind)) ++result.for_mutexes;
    has_lock = has_lock || is_for_lock(wait.kind) || own_circle.is_closed;
    const lasting_wait* const holder = wait.holder == 0 ? nullptr : wait_of(waits, wait.holder);
    if (holder == nullptr || (wait.owner != ownership::thread && wait.owner != ownership::possible)) continue;
    group.holder.name = holder->name;
    group.holder_site = holder->stack;
    group.waits_in_turn = is_in_group(*holder);
  }
  // A thread that waits for others to end is usual.
  if (!has_lock) return result;
  for (auto& [key, group] : groups) result.groups.push_back(std::move(group));
  std::stable_sort(result.groups.begin(), result.groups.end(), [](const auto& a, const auto& b) {
    const auto rank = [](const lasting_group& group) { return std::tuple(!group.is_deadlock, !group.may_be_deadlock); };
    return std::tuple(rank(a), a.kind, b.threads.size()) < std::tuple(rank(b), b.kind, a.threads.size());
  });
  return result;
}

}  // namespace tarn::analyse
