#include "analyse/analysis.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tarn::analyse {
namespace {

constexpr auto read_only_words = "tarn::read_only<T>, if nothing writes to it once threads run";

std::string line_of(const site_view& view) {
  if (view.facts.sums[format::blocks] < least_allocations) return {};
  if (view.facts.is == category::start_up) return read_only_words;
  std::string line;
  for (const offer& each : view.offers) {
    if (each.predicted.by == remedy::drop_in && !line.empty()) break;
    line += (line.empty() ? "" : "; else ") + each.how.words;
    if (!each.how.code.empty()) line += ": " + each.how.code;
    if (each.predicted.by != remedy::hoist) break;
  }
  return line;
}

}  // namespace

analysis::analysis(format::recording of, const costs& prices, double measured_cpu_ns)
    : recording_(std::move(of)),
      heap_(find(recording_)),
      symbols_(recording_),
      predictor_(recording_, prices),
      whole_(predictor_.of(heap_, measured_cpu_ns)) {
  std::map<std::uint32_t, double> cost;  // ns now, by the site's number
  for (const site& each : heap_.sites) cost[each.number] = predictor_.of(each).now_ns.middle();
  std::stable_sort(heap_.sites.begin(), heap_.sites.end(),
                   [&](const site& a, const site& b) { return cost[a.number] > cost[b.number]; });
}

site_view analysis::view(const site& of) {
  site_view made;
  made.facts = of;
  std::vector<place> frames = frames_of(recording_, of, symbols_);
  made.made = made_at(frames);
  read_source(made.made, frames, recording_.program.started);
  made.facts.grows = made.made.grows;
  made.predicted = predictor_.of(made.facts);
  const std::size_t all = frames.size(), own = made.made.place;
  made.stack = stack_of(std::move(frames));
  // The same place in what stack_of left of it; the first where that took more.
  const std::size_t taken = all - made.stack.size();
  made.place_at = own >= taken ? own - taken : 0;
  if (of.sums[format::blocks] >= least_allocations && of.is != category::kept) {
    for (const prediction& each : made.predicted.remedies) {
      if (each.saved_ns.middle() < 0) continue;  // 0 where there are no prices
      if (made.made.is_foreign && each.by != remedy::drop_in) continue;
      made.offers.push_back({each, advise(each.by, made.made, made.facts, growth_of(made.facts))});
    }
  }
  made.remedy = line_of(made);
  return made;
}

range analysis::ms_per_second(const range& ns) const {
  return whole_.wall_ns > 0 ? ns * (1e3 / whole_.wall_ns) : range{};
}

range analysis::share(const range& ns) const {
  if (whole_.cpu_ns.high <= 0) return {};
  return {ns.low / whole_.cpu_ns.high, ns.high / std::max(whole_.cpu_ns.low, 1.0)};
}

}  // namespace tarn::analyse
