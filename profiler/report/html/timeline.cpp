#include "profiler/report/html/timeline.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tarn::command {
namespace {

using nlohmann::json;

constexpr std::size_t max_html_intervals = 96, min_html_intervals = 12;
constexpr std::size_t max_points = 300'000;

// Holds the columns: for each cell its key and its number of points; for each point, cell by cell, its interval and
// its numbers.
class columns {
 public:
  explicit columns(std::initializer_list<const char*> names) {
    for (const char* name : names) columns_[name] = json::array();
    columns_["points"] = json::array();
    columns_["intervals"] = json::array();
  }
  template <std::size_t Counters>
  void add(std::initializer_list<std::pair<const char*, std::uint64_t>> key,
           const std::vector<analyse::point<Counters>>& points, const std::array<const char*, Counters>& names) {
    for (const auto& [name, value] : key) columns_[name].push_back(value);
    columns_["points"].push_back(points.size());
    json& intervals = columns_["intervals"];
    for (const auto& point : points) intervals.push_back(point.interval);
    for (std::size_t counter = 0; counter < Counters; ++counter) {
      json& values = columns_[names[counter]];
      for (const auto& point : points) values.push_back(point.increase[counter]);
    }
  }
  json take() { return std::move(columns_); }

 private:
  json columns_;
};

template <std::size_t Counters>
std::vector<analyse::point<Counters>> in_nanoseconds(const format::recording& recording,
                                                     std::vector<analyse::point<Counters>> points,
                                                     std::initializer_list<std::size_t> counters) {
  for (auto& point : points) {
    for (const std::size_t counter : counters)
      point.increase[counter] = format::nanoseconds(recording.clock, point.increase[counter]);
  }
  return points;
}

analyse::history html_history(const analyse::analysis& analysis) {
  for (std::size_t max_intervals = max_html_intervals;; max_intervals /= 2) {
    analyse::history history = analysis.course(max_intervals);
    if (history.points() <= max_points || max_intervals <= min_html_intervals) return history;
  }
}

}  // namespace

json html_timeline(analyse::analysis& analysis, html_stacks& stacks) {
  const analyse::history history = html_history(analysis);
  const format::recording& recording = analysis.recording();
  const analyse::lock_findings& locks = analysis.locks();
  if (history.intervals.empty()) return {};
  json ends = json::array(), resident = json::array(), cpu = json::array(), images = json::array();
  for (const analyse::history_interval& interval : history.intervals) {
    ends.push_back(interval.to_ns);
    resident.push_back(interval.resident_bytes);
    cpu.push_back(interval.cpu_us);
    images.push_back(interval.images);
  }
  columns heap({"site", "node", "owner", "actor"}), locks_taken({"lock", "site", "node", "thread"}),
      waits({"lock", "site", "wait"}), calls_made({"call", "node", "thread"});
  for (const auto& [key, points] : history.heap) {
    const auto site = stacks.site_of(key.site);
    if (!site) continue;  // not in the page
    heap.add({{"site", site->first}, {"node", site->second}, {"owner", key.owner}, {"actor", key.actor}}, points,
             std::array{"blocks", "bytes", "frees", "freed_bytes"});
  }
  const auto index_of = [&](std::uint32_t lock, std::uint32_t site) {
    const analyse::lock_group* const group = locks.group_of(recording, lock);
    return std::pair(static_cast<std::size_t>(group - locks.groups.data()), group->index_by_site.at(site));
  };
  for (const auto& [key, points] : history.locks) {
    const auto [lock, index] = index_of(key.lock, key.site);
    locks_taken.add({{"lock", lock}, {"site", index}, {"node", stacks.node(key.site)}, {"thread", key.thread}},
                    in_nanoseconds(recording, points, {2, 4}),
                    std::array{"taken", "waited_count", "waited_ns", "holds", "held_ns", "refused"});
  }
  for (const auto& [key, points] : history.waits) {
    const auto [lock, index] = index_of(key.lock, key.site);
    const auto& lock_waits = locks.groups[lock].sites[index].waits;
    const auto wait =
        std::find_if(lock_waits.begin(), lock_waits.end(), [&key = key](const analyse::lock_wait& interval) {
          return interval.holder_site == key.holder_site && interval.holder == key.holder;
        });
    waits.add({{"lock", lock}, {"site", index}, {"wait", static_cast<std::uint64_t>(wait - lock_waits.begin())}},
              in_nanoseconds(recording, points, {1}), std::array{"waits", "waited_ns"});
  }
  for (const auto& [key, points] : history.calls) {
    calls_made.add({{"call", analysis.calls().index_by_site.at({key.site, key.number})},
                    {"node", stacks.node(key.site)},
                    {"thread", key.thread}},
                   in_nanoseconds(recording, points, {4}),
                   std::array{"count", "errors", "asked", "given", "ns", "same_arguments", "in_a_row"});
  }
  return {{"to_ns", ends},       {"resident_bytes", resident},  {"cpu_us", cpu},         {"images", images},
          {"heap", heap.take()}, {"locks", locks_taken.take()}, {"waits", waits.take()}, {"calls", calls_made.take()}};
}

}  // namespace tarn::command
