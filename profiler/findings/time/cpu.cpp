#include "profiler/findings/time/cpu.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "profiler/findings/waits/lasting_waits.hpp"
#include "profiler/format/recorder_library.hpp"

namespace tarn::analyse {
namespace {

// A function is recorded by its name and module, in Python also by its file; without a name, by its module alone.
using function_key = std::tuple<std::string, std::string, std::string>;

function_key key_of(const code_location& location) {
  return {location.function, location.module, location.module == python_module ? location.file : std::string()};
}

bool is_python_loop(const code_location& location) {
  return location.is_interpreter && location.function == "_PyEval_EvalFrameDefault";
}

// Finds the recorded thread of each sampled one, and adds those that the recorder did not see.
std::vector<std::uint32_t> thread_numbers(format::recording& recording) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> recorded;  // by image and id; the newest one counts
  for (std::uint32_t number = 0; number < recording.threads.size(); ++number)
    recorded[{recording.threads[number].image, recording.threads[number].id}] = number;
  std::vector<std::uint32_t> numbers;
  for (const format::cpu_thread& sampled : recording.cpu.threads) {
    const auto [number, is_new] =
        recorded.try_emplace({sampled.image, sampled.id}, static_cast<std::uint32_t>(recording.threads.size()));
    if (is_new) recording.threads.push_back({.image = sampled.image, .id = sampled.id, .is_sampled_alone = true});
    std::string& name = recording.threads[number->second].name;
    if (name.empty()) name = sampled.name;
    numbers.push_back(number->second);
  }
  return numbers;
}

}  // namespace

format::recording with_cpu_sites(format::recording recording) {
  format::cpu_recording& cpu = recording.cpu;
  if (cpu.stacks.empty()) return recording;
  if (recording.sites.empty()) recording.sites.emplace_back();
  join_modules(recording, std::move(cpu.modules), cpu.stacks);
  const auto first = static_cast<std::uint32_t>(recording.sites.size()) - 1;  // stack 0 is site 0
  std::move(cpu.stacks.begin() + 1, cpu.stacks.end(), std::back_inserter(recording.sites));
  const std::vector<std::uint32_t> threads = thread_numbers(recording);
  format::cell_table<format::cpu_key, format::cpu_counts> cells;
  for (const auto& [key, counts] : cpu.cells) {
    format::cpu_counts& sum = cells[{key.site == 0 ? 0 : first + key.site, threads[key.thread]}];
    for (std::size_t index = 0; index < counts.size(); ++index) sum[index] += counts[index];
  }
  std::move(cpu.python_codes.begin(), cpu.python_codes.end(), std::back_inserter(recording.python_codes));
  cpu.python_codes.clear();
  cpu.stacks.clear();
  cpu.threads.clear();
  cpu.modules.clear();
  cpu.cells = std::move(cells);
  return recording;
}

cpu_findings find_cpu(const format::recording& recording, symbols& symbols) {
  cpu_findings result;
  result.interval_ns = recording.cpu.interval_ns;
  result.lost = recording.cpu.lost;
  result.is_kernel_hidden = recording.cpu.is_kernel_hidden;
  result.shares = sampled_shares(recording);
  struct class_samples {
    sampled_shares::samples self{}, total{};
  };
  std::vector<class_samples> by_class;  // of each function
  std::map<function_key, std::size_t> numbers;
  for (const auto& [key, counts] : recording.cpu.cells) {
    const std::uint64_t samples = counts[format::cpu_samples];
    if (samples == 0) continue;
    result.samples += samples;
    result.kernel += counts[format::cpu_kernel];
    result.cut += counts[format::cpu_cut];
    result.threads[key.thread] += samples;
    const std::size_t thread_class = result.shares.class_of(key.thread);
    const format::site_facts& stack = recording.sites[key.site];
    std::set<std::size_t> visited;  // a recursive function counts once
    bool is_innermost = true, has_loop = false, has_python = false;
    for (const std::uint64_t frame : stack.frames) {
      for (const code_location& location : symbols.resolve(stack.image, frame)) {
        const auto [number, is_new] = numbers.try_emplace(key_of(location), result.functions.size());
        has_python = has_python || location.module == python_module;
        has_loop = has_loop || is_python_loop(location);
        if (is_new) {
          result.functions.push_back({location});
          by_class.emplace_back();
        }
        class_samples& sums = by_class[number->second];
        if (visited.insert(number->second).second) sums.total[thread_class] += samples;
        if (is_innermost) sums.self[thread_class] += samples;
        if (is_innermost && format::is_recorder_library(location.module)) result.recorder += samples;
        is_innermost = false;
      }
    }
    if (has_loop && !has_python) result.without_python += samples;
  }
  for (std::size_t index = 0; index < by_class.size(); ++index) {
    const auto& [self, total] = by_class[index];
    cpu_function& function = result.functions[index];
    function.self = std::accumulate(self.begin(), self.end(), std::uint64_t{0});
    function.total = std::accumulate(total.begin(), total.end(), std::uint64_t{0});
    function.self_share = result.shares.share_of(self);
    function.total_share = result.shares.share_of(total);
  }
  std::stable_sort(result.functions.begin(), result.functions.end(), [](const auto& a, const auto& b) {
    return std::tie(a.self_share.share, a.total_share.share) > std::tie(b.self_share.share, b.total_share.share);
  });
  return result;
}

share_estimate share_at(const format::recording& recording, symbols& symbols,
                        const std::function<bool(const code_location&)>& is_meant) {
  const sampled_shares shares(recording);
  sampled_shares::samples samples{};
  for (const auto& [key, counts] : recording.cpu.cells) {
    const format::site_facts& stack = recording.sites[key.site];
    const auto is_in = [&](std::uint64_t frame) {
      const auto& locations = symbols.resolve(stack.image, frame);
      return std::any_of(locations.begin(), locations.end(), is_meant);
    };
    if (counts[format::cpu_samples] != 0 && std::any_of(stack.frames.begin(), stack.frames.end(), is_in))
      samples[shares.class_of(key.thread)] += counts[format::cpu_samples];
  }
  return shares.share_of(samples);
}

}  // namespace tarn::analyse
