#include "tarn/page_timeline.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tarn::command {
namespace {

using nlohmann::json;

constexpr std::size_t most_page_intervals = 96, least_page_intervals = 12;
constexpr std::size_t most_points = 300'000;

// Holds the columns: for each cell its key and its number of points; for each point, cell by cell, its interval and
// its numbers.
class columns {
 public:
  explicit columns(std::initializer_list<const char*> names) {
    for (const char* each : names) made_[each] = json::array();
    made_["points"] = json::array();
    made_["at"] = json::array();
  }
  template <std::size_t Counters>
  void add(std::initializer_list<std::pair<const char*, std::uint64_t>> key,
           const std::vector<analyse::point<Counters>>& points, const std::array<const char*, Counters>& names) {
    for (const auto& [name, value] : key) made_[name].push_back(value);
    made_["points"].push_back(points.size());
    json& at = made_["at"];
    for (const auto& each : points) at.push_back(each.interval);
    for (std::size_t which = 0; which < Counters; ++which) {
      json& to = made_[names[which]];
      for (const auto& each : points) to.push_back(each.more[which]);
    }
  }
  json take() { return std::move(made_); }

 private:
  json made_;
};

template <std::size_t Counters>
std::vector<analyse::point<Counters>> in_nanoseconds(const format::recording& in,
                                                     std::vector<analyse::point<Counters>> points,
                                                     std::initializer_list<std::size_t> which) {
  for (auto& each : points) {
    for (const std::size_t at : which) each.more[at] = format::nanoseconds(in.clock, each.more[at]);
  }
  return points;
}

}  // namespace

analyse::history page_history(const format::recording& of, std::string_view bytes) {
  if (bytes.empty()) return {};  // only a part of the run
  for (std::size_t most = most_page_intervals;; most /= 2) {
    analyse::history made = analyse::history_of(of, bytes, most);
    if (made.points() <= most_points || most <= least_page_intervals) return made;
  }
}

json page_timeline(const analyse::history& of, const format::recording& in, page_stacks& stacks,
                   const analyse::lock_findings& locks, const analyse::call_findings& calls) {
  if (of.intervals.empty()) return {};
  json ends = json::array(), resident = json::array(), cpu = json::array();
  for (const analyse::history_interval& each : of.intervals) {
    ends.push_back(each.to_ns);
    resident.push_back(each.resident_bytes);
    cpu.push_back(each.cpu_us);
  }
  columns heap({"site", "node", "owner", "actor"}), taken({"lock", "place", "node", "thread"}),
      waits({"lock", "place", "wait"}), called({"call", "node", "thread"});
  for (const auto& [key, points] : of.heap) {
    const auto site = stacks.site_of(key.site);
    if (!site) continue;  // not in the page
    heap.add({{"site", site->first}, {"node", site->second}, {"owner", key.owner}, {"actor", key.actor}}, points,
             std::array{"blocks", "bytes", "frees"});
  }
  const auto place_of = [&](std::uint32_t lock, std::uint32_t site) {
    const analyse::lock_group* const group = locks.group_of(in, lock);
    return std::pair(static_cast<std::size_t>(group - locks.groups.data()), group->places.at(site));
  };
  for (const auto& [key, points] : of.locks) {
    const auto [lock, place] = place_of(key.lock, key.site);
    taken.add({{"lock", lock}, {"place", place}, {"node", stacks.node(key.site)}, {"thread", key.thread}},
              in_nanoseconds(in, points, {2, 4}),
              std::array{"taken", "contended", "waited_ns", "held", "held_ns", "refused"});
  }
  for (const auto& [key, points] : of.waits) {
    const auto [lock, place] = place_of(key.lock, key.site);
    const auto& all = locks.groups[lock].sites[place].waits;
    const auto wait = std::find_if(all.begin(), all.end(), [&key = key](const analyse::lock_wait& each) {
      return each.holder_site == key.holder_site && each.holder == key.holder;
    });
    waits.add({{"lock", lock}, {"place", place}, {"wait", static_cast<std::uint64_t>(wait - all.begin())}},
              in_nanoseconds(in, points, {1}), std::array{"waits", "waited_ns"});
  }
  for (const auto& [key, points] : of.calls) {
    called.add(
        {{"call", calls.places.at({key.site, key.number})}, {"node", stacks.node(key.site)}, {"thread", key.thread}},
        in_nanoseconds(in, points, {4}), std::array{"count", "errors", "asked", "given", "ns", "same", "row"});
  }
  return {{"to_ns", ends},         {"resident_bytes", resident}, {"cpu_us", cpu},         {"heap", heap.take()},
          {"locks", taken.take()}, {"waits", waits.take()},      {"calls", called.take()}};
}

}  // namespace tarn::command
