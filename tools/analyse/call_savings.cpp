#include "analyse/call_savings.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tarn::analyse {
namespace {

using format::call_counter;

constexpr double buffer_bytes = 64 * 1024;  // buffer size of tarn::io::reader and writer

double number(std::uint64_t value) { return static_cast<double>(value); }

// Returns the lower bound of a call of this kind that does not wait, measured in memory.
double least_ns(const call_site& of, const call_costs& prices) {
  if (is_reading(of.name)) return prices.plain_ns[call_costs::take];
  if (is_writing(of.name)) return prices.plain_ns[call_costs::put];
  if (of.is == call_category::repeated) return prices.plain_ns[call_costs::look];
  return prices.plain_ns[call_costs::ask];
}

// Returns the processor time of the site without the recorder. A waiting call takes none, and the site waited no
// longer than all threads of the program did, including the time in which other processes had the processor.
range time_of(const call_site& of, const format::recording& in, const costs& prices) {
  const double recorded = number(of.nanoseconds);
  const double cpu_ns = number(in.end.user_us + in.end.system_us) * 1e3;
  const double waited =
      std::max(number(in.end.wall_us) * 1e3 * number(std::max<std::size_t>(in.threads.size(), 1)) - cpu_ns, 0.0);
  const double most = recorded / prices.calls.stretch;
  const double least = number(of.sums[call_counter::calls]) * least_ns(of, prices.calls);
  return {std::min(std::max((recorded - waited) / prices.calls.stretch, least), most), most};
}

// Predicts a buffer: one call moves 64 KiB in place of many calls that move few bytes each. The cost per byte stays.
call_saving by_buffer(const call_site& of, const range& time, const costs& prices) {
  const double calls = number(of.sums[call_counter::calls]), bytes = number(of.sums[call_counter::given]);
  const bool reads = is_reading(of.name);
  if (of.name.starts_with("pread") || of.name.starts_with("pwrite")) {
    return {{}, false, "whether one place follows the other was not recorded"};
  }
  if (reads && bytes * 10 < number(of.sums[call_counter::asked]) * 9) {
    return {{}, false, "it gets less than it asks for: all that is there, perhaps"};
  }
  if (!reads && !is_writing(of.name)) return {{}, false, "how many can go together is not known"};
  const double after = std::ceil(bytes / buffer_bytes);
  if (after >= calls) return {{}, false, "each moves a whole buffer"};
  // A write directly after another write was surely not awaited in between; one after other calls may have been.
  const double sure = reads ? calls - after : number(of.sums[call_counter::in_a_row]) * (1 - after / calls);
  const double copying = bytes * prices.copy_ns.low;
  const auto saved = [&](double spared, double ns) {
    return spared / calls * (ns - copying) - calls * prices.calls.buffered_ns - copying;
  };
  return {{saved(sure, time.low), saved(calls - after, time.high)}, false, {}};
}

call_saving by_memory(const call_site& of, const range& time, const costs& prices) {
  const double calls = number(of.sums[call_counter::calls]), same = number(of.sums[call_counter::same_arguments]);
  if (of.name == "clock_gettime" || of.name == "gettimeofday") {
    return {{}, false, "how old the time may be is not known"};
  }
  if (of.name.starts_with("rt_sig") || of.name == "sigaltstack") return {{}, false, "how few would do is not known"};
  const bool opens = of.name == "open" || of.name == "openat";
  const double asking = opens ? 0 : calls * prices.calls.remembered_ns;
  return {{time.low * (same / calls) - asking, time.high * (same / calls)}, opens, {}};
}

}  // namespace

call_saving saving_of(const call_site& of, const format::recording& in, const costs& prices) {
  if (prices.calls.stretch <= 0) return {{}, false, "what recording adds to a call could not be measured here"};
  if (!in.ended || in.end.wall_us == 0) return {{}, false, "the end of the program was not seen"};
  if (in.part != format::interval{}) return {{}, false, "only of a whole recording"};
  if (of.sums[call_counter::calls] == 0) return {};
  const range time = time_of(of, in, prices);
  call_saving made;
  switch (of.is) {
    case call_category::small: made = by_buffer(of, time, prices); break;
    case call_category::batch:
      if (!is_reading(of.name) && !is_writing(of.name))
        return {{}, false, "what the calls have in common is not known"};
      made = by_buffer(of, time, prices);
      break;
    case call_category::repeated: made = by_memory(of, time, prices); break;
    case call_category::memory: return {{}, false, "it is part of what the heap's remedies save"};
    default: return {{}, false, "how long it would wait then is not known"};
  }
  made.ns = {std::max(made.ns.low, 0.0) * (1 - prediction_error), std::max(made.ns.high, 0.0) * (1 + prediction_error)};
  return made;
}

}  // namespace tarn::analyse
