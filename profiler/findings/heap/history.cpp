#include "profiler/findings/heap/history.hpp"

#include <map>
#include <utility>

#include "profiler/format/reader.hpp"

namespace tarn::analyse {
namespace {

using format::recording;

// Returns for each moment the index of the interval that contains the changes before it.
std::vector<std::uint32_t> merge(const std::vector<format::snapshot_facts>& moments, std::size_t limit,
                                 std::vector<history_interval>& intervals) {
  std::vector<std::uint32_t> indexes;
  const std::uint64_t whole = moments.back().at_ns;
  format::snapshot_facts before;  // the start of the interval
  for (const format::snapshot_facts& snapshot : moments) {
    indexes.push_back(static_cast<std::uint32_t>(intervals.size()));
    // The ends are computed from the start of the run, so that a longer interval makes the next one shorter.
    const std::uint64_t due = (intervals.size() + 1) * (whole / limit);
    if (snapshot.at_ns < due) continue;  // never true for the last moment, whose time is the whole run
    const std::uint64_t spent = snapshot.user_us + snapshot.system_us, spent_before = before.user_us + before.system_us;
    intervals.push_back(
        {before.at_ns, snapshot.at_ns, snapshot.resident_bytes, spent > spent_before ? spent - spent_before : 0});
    before = snapshot;
    if (intervals.size() == limit) {  // only a rounding rest remains
      intervals.back().to_ns = whole;
      indexes.resize(moments.size(), indexes.back());
      break;
    }
  }
  return indexes;
}

class builder final : public format::watcher {
 public:
  builder(const recording& recording, history& result, std::vector<std::uint32_t> interval_indexes)
      : recording_(recording), result_(result), intervals_(std::move(interval_indexes)) {}

  void increase(const format::heap_key& key, const format::heap_counts& increase) override {
    if (!recording_.cells.empty()) add<heap_series>(result_.heap, key, increase);
  }
  void increase(const format::lock_key& key, const format::lock_counts& increase) override {
    if (!recording_.acquisitions.empty()) add<lock_series>(result_.locks, key, increase);
  }
  void increase(const format::wait_key& key, const format::wait_counts& increase) override {
    if (!recording_.waits.empty()) add<wait_series>(result_.waits, key, increase);
  }
  void increase(const format::call_key& key, const format::call_counts& increase) override {
    if (!recording_.calls.empty()) add<call_series>(result_.calls, key, increase);
  }
  void increase(const format::cpu_key& key, const format::cpu_counts& increase) override {
    if (!recording_.cpu.cells.empty()) add<cpu_series>(result_.cpu, key, increase);
  }
  void snapshot(const recording& so_far) override {
    if (snapshots_ < intervals_.size()) result_.intervals[intervals_[snapshots_]].images = so_far.images;
    snapshots_ = so_far.snapshots.size();
  }

 private:
  template <const auto& Kept, class Key, class Counts>
  void add(series<Key, Kept.size()>& series_by_key, const Key& key, const Counts& increase) {
    if (snapshots_ >= intervals_.size()) return;  // after the last moment
    const std::uint32_t interval = intervals_[snapshots_];
    point<Kept.size()> latest{interval, {}};
    bool is_any = false;
    for (std::size_t index = 0; index < Kept.size(); ++index)
      is_any |= (latest.increase[index] = increase[Kept[index]]) != 0;
    if (!is_any) return;
    auto& points = series_by_key[key];
    if (points.empty() || points.back().interval != interval) {
      points.push_back(latest);
    } else {
      for (std::size_t index = 0; index < Kept.size(); ++index) points.back().increase[index] += latest.increase[index];
    }
  }

  const recording& recording_;
  history& result_;
  std::vector<std::uint32_t> intervals_;
  std::size_t snapshots_ = 0;
};

// Gives the cells of the processor the numbers of with_cpu_sites(), by which `joined` was made of `raw`.
void join_cpu(const recording& joined, const recording& raw, series<format::cpu_key, cpu_series.size()>& cpu) {
  if (cpu.empty()) return;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> threads;  // by image and id; the newest one counts
  for (std::uint32_t number = 0; number < joined.threads.size(); ++number)
    threads[{joined.threads[number].image, joined.threads[number].id}] = number;
  const auto first = static_cast<std::uint32_t>(joined.sites.size() - raw.cpu.stacks.size());
  std::map<format::cpu_key, std::map<std::uint32_t, std::array<std::uint64_t, cpu_series.size()>>> sums;
  for (const auto& [key, points] : cpu) {
    const format::cpu_thread& thread = raw.cpu.threads[key.thread];
    auto& cell = sums[{key.site == 0 ? 0 : first + key.site, threads.at({thread.image, thread.id})}];
    for (const auto& point : points) {
      auto& sum = cell[point.interval];
      for (std::size_t index = 0; index < sum.size(); ++index) sum[index] += point.increase[index];
    }
  }
  cpu.clear();
  for (const auto& [key, intervals] : sums) {
    for (const auto& [interval, sum] : intervals) cpu[key].push_back({interval, sum});
  }
}

}  // namespace

std::size_t history::points() const {
  const auto count = [](const auto& series_of_kind) {
    std::size_t sum = 0;
    for (const auto& [key, points] : series_of_kind) sum += points.size();
    return sum;
  };
  return count(heap) + count(locks) + count(waits) + count(calls);  // those that the page has in columns
}

history history_of(const recording& recording, std::string_view bytes, std::size_t limit) {
  history result;
  if (recording.snapshots.empty() || recording.snapshots.back().at_ns == 0) return result;
  builder series_builder(recording, result, merge(recording.snapshots, limit, result.intervals));
  join_cpu(recording, format::parse(bytes, &series_builder), result.cpu);
  return result;
}

std::map<std::uint32_t, levels> levels_of(const format::recording& recording, const history& course) {
  std::map<std::uint32_t, levels> sites;
  for (const auto& [key, points] : course.heap) {
    levels& site = sites[key.site];
    site.resize(course.intervals.size());
    for (const auto& [interval, increase] : points) {
      const auto [blocks, bytes, frees, freed_bytes] = increase;
      site[interval] += static_cast<double>(bytes) - static_cast<double>(freed_bytes);
    }
  }
  for (auto& [number, site] : sites) {
    double level = 0;
    for (std::size_t index = 0; index < site.size(); ++index) {
      level += site[index];
      const bool has_ended = number != 0 && recording.sites[number].image + 1 < course.intervals[index].images;
      site[index] = has_ended ? 0 : level;
    }
  }
  return sites;
}

}  // namespace tarn::analyse
