#include "profiler/findings/time/thread_roles.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/findings/waits/stacks.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::command {
namespace {

constexpr std::size_t stacks_of_a_thread = 5;  // stacks of each thread: some may be cut off at their outer end

bool is_library(const analyse::code_location& location) {
  constexpr auto files = std::to_array<std::string_view>(
      {"/libc.so", "/libc-", "/ld-", "/libpthread", "/libstdc++", "/libc++", "/libtarn-"});
  if (std::any_of(files.begin(), files.end(),
                  [&](std::string_view part) { return location.module.find(part) != std::string::npos; })) {
    return true;
  }
  constexpr auto starts =
      std::to_array<std::string_view>({"std::", "__gnu_cxx::", "boost::", "tarn::detail::", "_start", "__libc_start"});
  const std::string_view name = analyse::qualified_name(location.function);
  return name.empty() ||
         std::any_of(starts.begin(), starts.end(), [&](std::string_view part) { return name.starts_with(part); });
}

std::string role_of(const std::vector<analyse::code_location>& stack) {
  const auto outermost = std::find_if_not(stack.rbegin(), stack.rend(), is_library);
  if (outermost == stack.rend()) return {};
  const std::string_view name = analyse::qualified_name(outermost->function);
  return std::string(name.substr(0, std::min(name.find_last_of('('), name.size())));
}

}  // namespace

std::vector<std::string> thread_roles(const format::recording& recording, analyse::symbols& symbols) {
  std::vector<std::map<std::uint32_t, std::uint64_t>> events(recording.threads.size());  // by site
  for (const auto& [key, value] : recording.cells) {
    if (key.owner == key.actor && value[format::blocks] != 0) events[key.actor][key.site] += value[format::blocks];
  }
  for (const auto& [key, value] : recording.calls) events[key.thread][key.site] += value[format::calls];
  for (const auto& [key, value] : recording.acquisitions) events[key.thread][key.site] += value[format::acquisitions];
  std::vector<std::string> roles;
  for (const auto& sites : events) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> frequent;
    for (const auto& [site, count] : sites) {
      if (site != 0) frequent.emplace_back(count, site);
    }
    std::sort(frequent.rbegin(), frequent.rend());
    if (frequent.size() > stacks_of_a_thread) frequent.resize(stacks_of_a_thread);
    std::map<std::string, std::size_t> votes;
    std::string best;
    for (const auto& [count, site] : frequent) {
      std::string role = role_of(analyse::stack_at(recording, site, symbols));
      if (role.empty()) continue;
      ++votes[role];
      if (best.empty() || votes[role] > votes[best]) best = std::move(role);
    }
    roles.push_back(std::move(best));
  }
  return roles;
}

std::size_t count_of_threads(const format::recording& recording, const std::set<std::uint32_t>& threads) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> numbers;  // the kernel's number, and the image
  std::size_t predecessors = 0, sampled_alone = 0;
  for (const std::uint32_t number : threads) {
    const format::thread_facts& thread = recording.threads[number];
    if (number == format::ended_threads && thread.id == 0) continue;  // it stands for threads of other rows
    predecessors += thread.predecessors;
    if (thread.is_sampled_alone) {
      ++sampled_alone;
    } else {
      numbers.emplace_back(thread.id, thread.image);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  // Samples see the earlier threads of a row, too, by numbers that the row no longer has.
  std::size_t sum = std::max(predecessors, sampled_alone);
  std::size_t largest = 0;  // `largest`: threads of one number in one image
  for (auto first = numbers.begin(); first != numbers.end();) {
    const auto last = std::find_if(first, numbers.end(), [&](const auto& number) { return number != *first; });
    largest = std::max(largest, static_cast<std::size_t>(last - first));
    if (last == numbers.end() || last->first != first->first) sum += std::exchange(largest, 0);
    first = last;
  }
  return sum;
}

std::set<std::uint32_t> active_threads(const format::recording& recording) {
  std::vector<bool> is_active(recording.threads.size());
  const auto add = [&](std::uint32_t thread) {
    if (thread >= is_active.size()) is_active.resize(thread + 1);
    is_active[thread] = true;
  };
  for (const auto& [key, value] : recording.cells) add(key.actor);
  for (const auto& [key, value] : recording.calls) add(key.thread);
  for (const auto& [key, value] : recording.acquisitions) add(key.thread);
  for (const auto& [key, value] : recording.cpu.cells) add(key.thread);
  for (std::uint32_t number = 0; number < recording.threads.size(); ++number) {
    if (recording.threads[number].allocations + recording.threads[number].frees != 0) add(number);
  }
  std::set<std::uint32_t> threads;
  for (std::uint32_t number = 0; number < is_active.size(); ++number) {
    if (is_active[number]) threads.insert(threads.end(), number);
  }
  return threads;
}

std::size_t count_of_threads(const format::recording& recording) {
  if (recording.program.is_late) return count_of_threads(recording, active_threads(recording));
  std::set<std::uint32_t> threads;
  for (std::uint32_t number = 0; number < recording.threads.size(); ++number) threads.insert(threads.end(), number);
  return count_of_threads(recording, threads);
}

}  // namespace tarn::command
