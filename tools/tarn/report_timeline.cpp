#include "tarn/report_timeline.hpp"

#include <nlohmann/json.hpp>

#include "analyse/timeline.hpp"

namespace tarn::command {

using nlohmann::json;

json json_of_timeline(const analyse::analysis& of, const analyse::history& course) {
  if (course.intervals.empty()) return {};
  const format::recording& in = of.recorded();
  const analyse::timeline made =
      analyse::timeline_of(in, course, of.heap(), analyse::find_locks(in), analyse::find_calls(in));
  json all;
  for (const analyse::history_interval& each : course.intervals) {
    all["to_ns"].push_back(each.to_ns);
    all["resident_bytes"].push_back(each.resident_bytes);
    all["cpu_us"].push_back(each.cpu_us);
  }
  const auto add = [&](const char* name, const auto& kinds, const auto& lines) {
    json& to = all[name] = json::object();
    for (std::size_t at = 0; at < kinds.size(); ++at) to[analyse::name(kinds[at])] = lines[at];
  };
  add("allocations", analyse::categories, made.blocks);
  add("bytes", analyse::categories, made.bytes);
  add("in_use_bytes", analyse::categories, made.in_use);
  add("acquisitions", analyse::lock_categories, made.taken);
  add("waited_ns", analyse::lock_categories, made.waited_ns);
  add("syscalls", analyse::call_categories, made.calls);
  add("syscalls_ns", analyse::call_categories, made.calls_ns);
  return all;
}

}  // namespace tarn::command
