#include <nlohmann/json.hpp>

#include "profiler/findings/timeline.hpp"

#include "profiler/report/sections.hpp"

namespace tarn::command {

using nlohmann::json;

constexpr std::size_t max_intervals = 128;

json json_of_timeline(analyse::analysis& analysis) {
  const analyse::history history = analysis.course(max_intervals);
  if (history.intervals.empty()) return {};
  const analyse::timeline timeline =
      analyse::timeline_of(analysis.recording(), history, analysis.heap(), analysis.locks(), analysis.calls());
  json document;
  for (const analyse::history_interval& interval : history.intervals) {
    document["to_ns"].push_back(interval.to_ns);
    document["resident_bytes"].push_back(interval.resident_bytes);
    document["cpu_us"].push_back(interval.cpu_us);
  }
  const auto add = [&](const char* name, const auto& kinds, const auto& lines) {
    json& series = document[name] = json::object();
    for (std::size_t index = 0; index < kinds.size(); ++index) series[analyse::name(kinds[index])] = lines[index];
  };
  add("allocations", analyse::categories, timeline.blocks);
  add("bytes", analyse::categories, timeline.bytes);
  add("in_use_bytes", analyse::categories, timeline.in_use);
  add("acquisitions", analyse::lock_categories, timeline.acquisitions);
  add("waited_ns", analyse::lock_categories, timeline.waited_ns);
  add("syscalls", analyse::call_categories, timeline.calls);
  add("syscalls_ns", analyse::call_categories, timeline.calls_ns);
  return document;
}

}  // namespace tarn::command
