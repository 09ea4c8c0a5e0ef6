#include "profiler/predict/call_savings.hpp"

#include <algorithm>
#include <cmath>

namespace tarn::analyse {
namespace {

using format::call_counter;

constexpr double buffer_bytes = 64 * 1024;  // buffer size of tarn::io::reader and writer

// Returns the lower bound of a call of this kind that does not wait, measured in memory.
double min_ns(const call_site& site, const call_costs& costs) {
  if (is_reading(site.name)) return costs.plain_ns[call_costs::read_call];
  if (is_writing(site.name)) return costs.plain_ns[call_costs::write_call];
  if (site.category == call_category::repeated) return costs.plain_ns[call_costs::stat_call];
  return costs.plain_ns[call_costs::trivial_call];
}

// Returns the CPU time of the site without the recorder. A waiting call takes none, and the site waited no
// longer than all threads of the program did, including the time in which other processes had the processor. All calls
// together take no more than the time in the kernel, which some kernels count in ticks.
range time_of(const call_site& site, const format::recording& recording, const cost_model& costs) {
  const double recorded = as_double(site.nanoseconds);
  const double cpu_ns = as_double(recording.end.user_us + recording.end.system_us) * 1e3;
  const double waited = std::max(
      as_double(recording.end.wall_us) * 1e3 * as_double(std::max<std::size_t>(recording.threads.size(), 1)) - cpu_ns,
      0.0);
  constexpr double two_ticks_ns = 8e6;
  const double kernel_ns = as_double(recording.end.system_us) * 1e3 + two_ticks_ns;
  const double largest = std::min(recorded / costs.calls.slowdown, kernel_ns);
  const double min_working_ns = as_double(site.sums[call_counter::calls]) * min_ns(site, costs.calls);
  return {std::min(std::max((recorded - waited) / costs.calls.slowdown, min_working_ns), largest), largest};
}

// Predicts a buffer: one call moves 64 KiB in place of many calls that move few bytes each. The cost per byte stays.
call_saving by_buffer(const call_site& site, const range& time, const cost_model& costs) {
  const double calls = as_double(site.sums[call_counter::calls]),
               bytes = as_double(site.sums[call_counter::returned_bytes]);
  const bool is_reading_call = is_reading(site.name);
  if (site.name.starts_with("pread") || site.name.starts_with("pwrite")) {
    return {{}, false, "the offsets were not recorded, so the calls may not follow each other in the file"};
  }
  if (is_reading_call && bytes * 10 < as_double(site.sums[call_counter::requested_bytes]) * 9) {
    return {{}, false, "reads return less than was asked for; a larger buffer may not help"};
  }
  if (!is_reading_call && !is_writing(site.name))
    return {{}, false, "how many of these calls can be combined is not known"};
  const double after = std::ceil(bytes / buffer_bytes);
  if (after >= calls) return {{}, false, "each moves a whole buffer"};
  // A write directly after another write was surely not awaited in between; one after other calls may have been.
  const double sure =
      is_reading_call ? calls - after : as_double(site.sums[call_counter::in_a_row]) * (1 - after / calls);
  const double copying = bytes * costs.copy_ns.low;
  const auto saved = [&](double spared, double ns) {
    return spared / calls * (ns - copying) - calls * costs.calls.buffered_ns - copying;
  };
  return {{saved(sure, time.low), saved(calls - after, time.high)}, false, {}};
}

call_saving by_cache(const call_site& site, const range& time, const cost_model& costs) {
  const double calls = as_double(site.sums[call_counter::calls]),
               repeated = as_double(site.sums[call_counter::same_arguments]);
  if (site.name == "clock_gettime" || site.name == "gettimeofday") {
    return {{}, false, "how old the time may be is not known"};
  }
  if (site.name.starts_with("rt_sig") || site.name == "sigaltstack")
    return {{}, false, "how many of these calls are needed is not known"};
  const bool is_open_call = site.name == "open" || site.name == "openat";
  const double asking = is_open_call ? 0 : calls * costs.calls.cached_ns;
  return {{time.low * (repeated / calls) - asking, time.high * (repeated / calls)}, is_open_call, {}};
}

}  // namespace

call_saving saving_of(const call_site& site, const format::recording& recording, const cost_model& costs) {
  if (costs.calls.slowdown <= 0) return {{}, false, "what recording adds to a call could not be measured here"};
  if (!recording.has_ended || recording.end.wall_us == 0) return {{}, false, "the end of the program was not seen"};
  if (recording.part != format::interval{}) return {{}, false, "only of a whole recording"};
  if (site.sums[call_counter::calls] == 0) return {};
  const range time = time_of(site, recording, costs);
  call_saving saving;
  switch (site.category) {
    case call_category::small: saving = by_buffer(site, time, costs); break;
    case call_category::batch:
      if (!is_reading(site.name) && !is_writing(site.name))
        return {{}, false, "what the calls have in common is not known"};
      saving = by_buffer(site, time, costs);
      break;
    case call_category::repeated: saving = by_cache(site, time, costs); break;
    case call_category::memory: return {{}, false, "it is part of what the heap's remedies save"};
    default: return {{}, false, "how long it would wait then is not known"};
  }
  saving.ns = {std::max(saving.ns.low, 0.0) * (1 - prediction_error),
               std::max(saving.ns.high, 0.0) * (1 + prediction_error)};
  return saving;
}

}  // namespace tarn::analyse
