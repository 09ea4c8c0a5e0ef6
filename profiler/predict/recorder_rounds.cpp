#include "profiler/predict/recorder_rounds.hpp"

#include <algorithm>

namespace tarn::analyse {
namespace {

double min_ns(const std::vector<work_times>& runs, format::work_item item) {
  double shortest_ns = runs.front().ns[item];
  for (const work_times& run : runs) shortest_ns = std::min(shortest_ns, run.ns[item]);
  return shortest_ns;
}

// These are loops without system calls, so their times repeat closely on an idle machine.
constexpr std::array steady_items = {format::step_work, format::heap_work, format::recorded_lock_work};

bool has_two_alike(const std::vector<work_times>& runs, format::work_item item) {
  constexpr double tolerance = 1.15, resolution_ns = 1;
  const double limit = min_ns(runs, item) * tolerance + resolution_ns;
  return std::count_if(runs.begin(), runs.end(), [&](const work_times& run) { return run.ns[item] <= limit; }) >= 2;
}

}  // namespace

void recorder_rounds::add(const work_times& plain, const work_times& recorded) {
  plain_.push_back(plain);
  recorded_.push_back(recorded);
}

bool recorder_rounds::agree() const {
  return count() >= 2 && std::all_of(steady_items.begin(), steady_items.end(), [&](format::work_item item) {
           return has_two_alike(plain_, item) && has_two_alike(recorded_, item);
         });
}

recorder_rounds::prices recorder_rounds::min_prices() const {
  prices result{};
  const auto added_ns = [&](format::work_item item) {
    return std::max(min_ns(recorded_, item) - min_ns(plain_, item), 0.0);
  };
  for (const auto item :
       {format::dispatch_margin, format::heap_work, format::lock_work, format::recorded_lock_work, format::start_work})
    result[item] = added_ns(item);
  for (const auto item : {format::step_work, format::sample_margin, format::window_margin, format::walk_margin})
    result[item] = min_ns(plain_, item);
  std::fill_n(result.begin(), std::size_t{format::timed_items}, 1.0);
  result[format::timed_lock_work] = 1;
  if (const work_times& last = recorded_.back(); last.changes_of_thread > 0) {
    const double calls_ns = last.dispatches_of_thread * result[format::dispatch_margin];
    result[format::thread_margin] = std::max(added_ns(format::thread_margin) - calls_ns, 0.0) / last.changes_of_thread;
  }
  return result;
}

}  // namespace tarn::analyse
