#include "profiler/export/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "profiler/findings/time/sampled_shares.hpp"
#include "profiler/format/recorder_library.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::exports {

std::string_view name(sample_source source) {
  switch (source) {
    case sample_source::heap: return "heap";
    case sample_source::lock: return "lock";
    case sample_source::call: return "call";
    case sample_source::cpu: return "cpu";
    case sample_source::wait: return "wait";
  }
  return "";
}

profile::profile(analyse::analysis& analysis) : analysis_(analysis), recording_(analysis.recording()) {
  add_stacks(analysis.names());
  add_heap(analysis.heap());
  add_locks(analysis.locks());
  add_calls(analysis.calls());
  add_cpu();
  for (std::size_t number = 0; number < measure_count; ++number) {
    const bool is_used =
        std::any_of(samples_.begin(), samples_.end(), [&](const sample& sample) { return sample.sums[number] != 0; });
    if (is_used) used_measures_.push_back(static_cast<measure>(number));
  }
  if (used_measures_.empty()) used_measures_.push_back(bytes);
}

std::uint64_t profile::length_ns() const {
  if (recording_.has_ended) return recording_.end.wall_us * 1000;
  if (recording_.snapshots.empty()) return 0;
  return recording_.snapshots.back().at_ns - (recording_.program.is_late ? recording_.snapshots.front().at_ns : 0);
}

void profile::add_stacks(analyse::symbols& symbols) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> numbers;  // by image and address
  const auto is_recorder = [](const location& location) {
    return format::is_recorder_library(location.lines->front().module);
  };
  stacks_.reserve(recording_.sites.size());
  for (const format::site_facts& site : recording_.sites) {
    std::vector<std::uint32_t>& stack = stacks_.emplace_back();
    for (const std::uint64_t frame : site.frames) {
      const auto [number, is_new] =
          numbers.try_emplace({site.image, frame}, static_cast<std::uint32_t>(locations_.size()));
      if (is_new) {
        location& location = locations_.emplace_back();
        location.lines = &symbols.resolve(site.image, frame);
        location.address = frame - 1;
        const auto module = std::find_if(recording_.modules.begin(), recording_.modules.end(), [&](const auto& loaded) {
          return loaded.image == site.image && location.address >= loaded.start && location.address < loaded.end;
        });
        location.module = module == recording_.modules.end()
                              ? no_module
                              : static_cast<std::size_t>(module - recording_.modules.begin());
      }
      if (!is_recorder(locations_[number->second])) stack.push_back(number->second);
    }
  }
}

void profile::add(const sample& sample) {
  if (std::any_of(sample.sums.begin(), sample.sums.end(), [](std::uint64_t count) { return count != 0; })) {
    samples_.push_back(sample);
  }
}

namespace {

// Sets the heap measures of a site's samples so that each adds up to the figure of the report, which is reconciled with
// the exact totals where the recording is sampled. The values keep their shares, and are rounded by their running sums.
void scale_to(const analyse::site& site, std::span<sample> samples) {
  const std::pair<measure, std::uint64_t> figures[] = {{allocations, site.sums[format::blocks]},
                                                       {bytes, site.sums[format::bytes]},
                                                       {freed_by_same_thread, site.freed_by_same_thread},
                                                       {remote_frees, site.remote_frees},
                                                       {in_use, site.live},
                                                       {short_lived, site.short_lived},
                                                       {reallocs, site.sums[format::reallocs]},
                                                       {copied_bytes, site.sums[format::copied]}};
  for (const auto& [number, figure] : figures) {
    double whole = 0;
    for (const sample& sample : samples) whole += static_cast<double>(sample.sums[number]);
    if (whole == 0) {
      samples.front().sums[number] = figure;  // rounding alone makes it more than 0
      continue;
    }
    const double factor = static_cast<double>(figure) / whole;
    double sum = 0, scaled_sum = 0;
    for (sample& sample : samples) {
      sum += static_cast<double>(sample.sums[number]);
      const double scaled_before = std::exchange(scaled_sum, std::round(sum * factor));
      sample.sums[number] = static_cast<std::uint64_t>(scaled_sum - scaled_before);
    }
  }
}

}  // namespace

void profile::add_heap(const analyse::heap_findings& heap) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> frees;  // by site and owner
  for (const auto& [key, value] : recording_.cells) frees[{key.site, key.owner}] += value[format::frees];
  std::map<std::uint32_t, std::vector<sample>> activities;  // by site
  for (const auto& [key, value] : recording_.cells) {
    sample& activity = activities[key.site].emplace_back();
    activity = {key.site, key.owner, key.actor, sample_source::heap, {}, {}, {}};
    values& heap_sums = activity.sums;
    heap_sums[allocations] = value[format::blocks];
    heap_sums[bytes] = value[format::bytes];
    heap_sums[key.owner == key.actor ? freed_by_same_thread : remote_frees] = value[format::frees];
    heap_sums[reallocs] = value[format::reallocs];
    heap_sums[copied_bytes] = value[format::copied];
    if (key.owner == key.actor) {
      const std::uint64_t freed_blocks = frees[{key.site, key.owner}];
      heap_sums[in_use] = value[format::blocks] - std::min(value[format::blocks], freed_blocks);
      for (std::size_t index = 0; index < format::short_lived_buckets; ++index)
        heap_sums[short_lived] += value[format::life_buckets + index];
    }
  }
  for (const analyse::site& site : heap.sites) {
    scale_to(site, activities[site.number]);
    for (sample& activity : activities[site.number]) activity.category = analyse::name(site.category);
  }
  for (const auto& [site, of_site] : activities) {
    for (const sample& activity : of_site) add(activity);
  }
}

void profile::add_locks(const analyse::lock_findings& locks) {
  std::map<std::pair<format::lock_type, std::uint32_t>, std::string_view> categories;  // by type and first site
  for (const analyse::lock_group& group : locks.groups) {
    categories[{group.type, group.first_site}] = analyse::name(group.category);
  }
  std::map<std::tuple<std::uint32_t, std::uint32_t, format::lock_type, std::uint32_t>, values> sums;
  for (const auto& [key, value] : recording_.acquisitions) {
    const format::lock_facts& lock = recording_.locks[key.lock];
    values& lock_sums = sums[{key.site, key.thread, lock.type, lock.site}];
    lock_sums[lock_acquisitions] += value[format::acquisitions];
    lock_sums[lock_contended] += value[format::contended];
    lock_sums[lock_wait] += format::nanoseconds(recording_.clock, value[format::wait_ticks]);
    lock_sums[lock_held] += format::nanoseconds(recording_.clock, value[format::held_ticks]);
  }
  for (const auto& [key, value] : sums) {
    const auto& [site, thread, type, first] = key;
    add({site, thread, thread, sample_source::lock, categories[{type, first}], analyse::name(type), value});
  }
}

void profile::add_calls(const analyse::call_findings& calls_made) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::string_view, std::string_view>> names;
  for (const analyse::call_site& site : calls_made.sites) {
    names[{site.site, site.number}] = {analyse::name(site.category), site.name};
  }
  for (const auto& [key, value] : recording_.calls) {
    const auto& [category, call] = names[{key.site, key.number}];
    sample activity = {key.site, key.thread, key.thread, sample_source::call, category, call, {}};
    activity.sums[calls] = value[format::calls];
    activity.sums[call_errors] = value[format::errors];
    activity.sums[call_bytes] = value[format::returned_bytes];
    activity.sums[call_time] = format::nanoseconds(recording_.clock, value[format::call_ticks]);
    add(activity);
  }
}

void profile::add_cpu() {
  const analyse::sampled_shares shares(recording_);
  for (const auto& [key, value] : recording_.cpu.cells) {
    if (value[format::cpu_samples] != 0) {
      sample activity = {key.site, key.thread, key.thread, sample_source::cpu, "running", {}, {}};
      activity.sums[cpu_time] = shares.ns_of(key.thread, value[format::cpu_samples]);
      add(activity);
    }
    if (value[format::waiting_ns] != 0) {
      sample activity = {key.site, key.thread, key.thread, sample_source::wait, "waiting", {}, {}};
      activity.sums[wait_time] = value[format::waiting_ns];
      add(activity);
    }
  }
}

std::string frame_name(const analyse::code_location& location) {
  if (!location.function.empty()) return location.function;
  if (location.module.empty()) return "[unknown]";
  if (location.module == analyse::python_module) return location.module;
  return fmt::format("{}+{:#x}", analyse::file_name(location.module), location.offset);
}

std::string thread_name(const format::recording& recording, std::uint32_t thread) {
  const format::thread_facts& facts = recording.threads[thread];
  std::string name =
      facts.name.empty() ? fmt::format("thread {}", facts.id) : fmt::format("{} ({})", facts.name, facts.id);
  if (recording.images > 1) name += fmt::format(", image {}", facts.image + 1);
  return name;
}

std::string leaf_name(const sample& sample) {
  return sample.operation.empty() ? fmt::format("[{}]", sample.category)
                                  : fmt::format("[{}: {}]", sample.operation, sample.category);
}

std::string program_name(const format::recording& recording) {
  std::string name = fmt::format("{}", fmt::join(recording.program.arguments, " "));
  return name.empty() ? "a program" : name;
}

}  // namespace tarn::exports
