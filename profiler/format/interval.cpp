#include "profiler/format/interval.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "profiler/format/reader.hpp"

namespace tarn::format {
namespace {

constexpr std::array thread_counters = {&thread_facts::unknown, &thread_facts::dropped, &thread_facts::allocations,
                                        &thread_facts::frees,   &thread_facts::bytes,   &thread_facts::predecessors};

// Bounds the longest times of a part, where the longest of the whole run fell into another part.
void bound_longest(recording& part, const recording& whole) {
  for (auto& [key, value] : part.acquisitions) {
    const lock_counts& whole_run = whole.acquisitions.counts_of(key);
    const auto bound = [&, &counters = value](lock_counter longest, lock_counter sum) {
      if (counters[longest] == 0) counters[longest] = std::min(whole_run[longest], counters[sum]);
    };
    bound(longest_wait, wait_ticks);
    bound(longest_held, held_ticks);
  }
}

// A wait without a stack counts at the stacks of like waits that are known so far, so a later snapshot may have it at
// another stack: one cell has fallen, and another one has risen by that. Sets the times that have fallen to 0, and
// lowers the others of the same thread so that its sum does not change.
void settle_times(cell_table<cpu_key, cpu_counts>& cells) {
  struct change {
    double sum = 0, risen = 0;
  };
  std::map<std::uint32_t, change> threads;
  for (const auto& [key, counts] : cells) {
    for (std::size_t index = 0; index < counts.size(); ++index) {
      if (!may_fall(key, index)) continue;
      const auto changed = static_cast<double>(static_cast<std::int64_t>(counts[index]));
      threads[key.thread].sum += changed;
      threads[key.thread].risen += std::max(changed, 0.0);
    }
  }
  for (auto& [key, counts] : cells) {
    const auto [sum, risen] = threads[key.thread];
    if (sum == risen) continue;
    const double share = std::max(sum, 0.0) / std::max(risen, 1.0);
    for (std::size_t index = 0; index < counts.size(); ++index) {
      const auto changed = static_cast<std::int64_t>(counts[index]);
      if (may_fall(key, index))
        counts[index] = changed <= 0 ? 0 : static_cast<std::uint64_t>(static_cast<double>(changed) * share);
    }
  }
  erase_if(cells, [](const auto& cell) { return cell.second == cpu_counts{}; });
}

// Lets waits, holds and calls that began before a part begin with it.
void begin_open_uses_at(recording& part, std::uint64_t ticks) {
  for (auto& [key, since] : part.open_uses) since = std::max(since, ticks);
  for (auto& [key, since] : part.open_calls) since = std::max(since, ticks);
}

class collector final : public watcher {
 public:
  explicit collector(const interval& interval_to_cut) : interval_(interval_to_cut) {}

  void increase(const heap_key& key, const heap_counts& increase) override { add(part_.cells, key, increase); }
  void increase(const call_key& key, const call_counts& increase) override { add(part_.calls, key, increase); }
  void increase(const lock_key& key, const lock_counts& increase) override { add(part_.acquisitions, key, increase); }
  void increase(const wait_key& key, const wait_counts& increase) override { add(part_.waits, key, increase); }
  void increase(const order_key& key, const order_counts& increase) override { add(part_.orders, key, increase); }
  void increase(const violation_key& key, const violation_counts& increase) override {
    add(part_.violations, key, increase);
  }
  void increase(const cpu_key& key, const cpu_counts& increase) override { add(part_.cpu.cells, key, increase); }

  void snapshot(const recording& so_far) override {
    const snapshot_facts& now = so_far.snapshots.back();
    if (now.at_ns <= interval_.from_ns) {
      threads_ = so_far.threads;
      begins_ = now;
    }
    if (now.at_ns <= interval_.to_ns) {
      part_.threads = so_far.threads;
      ends_ = now;
      if (now.at_ns > interval_.from_ns) part_.snapshots.push_back(now);
    }
    now_ns_ = now.at_ns;
  }

  recording result(const recording& whole) {
    recording part = std::move(part_);
    const std::vector<thread_facts> until = std::move(part.threads);
    part.program = whole.program;
    part.images = whole.images;
    part.modules = whole.modules;
    part.python_codes = whole.python_codes;
    part.threads = whole.threads;
    part.sites = whole.sites;
    part.locks = whole.locks;
    part.quiet_regions = whole.quiet_regions;
    cell_table<cpu_key, cpu_counts> samples = std::move(part.cpu.cells);
    part.cpu = whole.cpu;
    part.cpu.cells = std::move(samples);
    settle_times(part.cpu.cells);
    part.lasting = whole.lasting;
    part.clock = whole.clock;
    part.has_ended = whole.has_ended;
    part.end = whole.end;
    part.end.instructions = part.end.branch_mispredictions = 0;  // known only for the whole run
    part.excerpts = whole.excerpts;                              // they show how the program uses the heap at any time
    part.damage = whole.damage;
    part.part = interval_;
    part.end.wall_us = (ends_.at_ns - begins_.at_ns) / 1000;
    part.end.user_us = ends_.user_us - std::min(begins_.user_us, ends_.user_us);
    part.end.system_us = ends_.system_us - std::min(begins_.system_us, ends_.system_us);
    for (std::size_t index = 0; index < part.threads.size(); ++index) {
      for (const auto counter : thread_counters) {
        const std::uint64_t before = index < threads_.size() ? threads_[index].*counter : 0;
        const std::uint64_t after = index < until.size() ? until[index].*counter : 0;
        part.threads[index].*counter = after > before ? after - before : 0;
      }
    }
    part.limits = whole.limits;
    part.work = whole.work;  // its times are not known, so it is shared out by CPU time
    const auto processor_us = [](const end_facts& end) { return static_cast<double>(end.user_us + end.system_us); };
    const double share = std::min(processor_us(part.end) / std::max(processor_us(whole.end), 1.0), 1.0);
    for (std::uint64_t& count : part.work.amounts)
      count = static_cast<std::uint64_t>(static_cast<double>(count) * share);
    part.work.collector_us = static_cast<std::uint64_t>(static_cast<double>(whole.work.collector_us) * share);
    bound_longest(part, whole);
    if (!whole.snapshots.empty() && interval_.to_ns >= whole.snapshots.back().at_ns) {
      const double nanoseconds_of_part = static_cast<double>(part.end.wall_us) * 1000;
      const double ticks = nanoseconds_of_part * static_cast<double>(whole.clock.ticks) /
                           static_cast<double>(std::max<std::uint64_t>(whole.clock.nanoseconds, 1));
      part.open_uses = whole.open_uses;
      part.open_calls = whole.open_calls;
      begin_open_uses_at(part, ticks < static_cast<double>(whole.clock.ticks)
                                   ? whole.clock.ticks - static_cast<std::uint64_t>(ticks)
                                   : 0);
    }
    return part;
  }

 private:
  // Changes come before the moment of their snapshot, so now_ns_ is the time of the one before.
  template <class Key, class Counts>
  void add(cell_table<Key, Counts>& sums, const Key& key, const Counts& increase) {
    if (now_ns_ < interval_.from_ns || now_ns_ >= interval_.to_ns) return;
    Counts& sum = sums[key];
    for (std::size_t index = 0; index < sum.size(); ++index)
      sum[index] = is_longest(key, index) ? std::max(sum[index], increase[index]) : sum[index] + increase[index];
  }

  interval interval_;
  std::uint64_t now_ns_ = 0;
  std::vector<thread_facts> threads_;
  snapshot_facts begins_, ends_;
  recording part_;
};

template <class Key, class Counts>
cell_table<Key, Counts> increases(const cell_table<Key, Counts>& before, const cell_table<Key, Counts>& now) {
  cell_table<Key, Counts> part;
  for (const auto& [key, value] : now) {
    const auto earlier = before.find(key);
    if (earlier == before.end()) {
      part.emplace(key, value);
      continue;
    }
    Counts increase{};
    for (std::size_t index = 0; index < value.size(); ++index) {
      const std::uint64_t old = earlier->second[index];
      if (value[index] <= old || is_of_peak(key, index)) continue;
      increase[index] = is_longest(key, index) ? value[index] : value[index] - old;
    }
    if (increase == Counts{}) continue;
    part.emplace(key, increase);
  }
  return part;
}

// Writes the changes of the times between two snapshots into the cells of a part; those that have fallen wrap around.
void set_time_changes(recording& part, const recording& before, const recording& now) {
  const auto add = [&](const cpu_key& key, const cpu_counts& counts, const cpu_counts& earlier) {
    for (std::size_t index = 0; index < counts.size(); ++index) {
      if (may_fall(key, index) && counts[index] != earlier[index])
        part.cpu.cells[key][index] = counts[index] - earlier[index];
    }
  };
  for (const auto& [key, counts] : now.cpu.cells) {
    const auto match = before.cpu.cells.find(key);
    add(key, counts, match == before.cpu.cells.end() ? cpu_counts{} : match->second);
  }
  for (const auto& [key, counts] : before.cpu.cells) {
    if (!now.cpu.cells.contains(key)) add(key, {}, counts);
  }
}

// Sets the peak values of each cell: the bytes and blocks in use at the peak less those in use before the interval.
// They may be below 0.
void set_peaks(recording& part, const recording& before, const recording& now) {
  for (auto& [key, increase] : part.cells) {
    const auto match = before.cells.find(key);
    if (match == before.cells.end()) continue;
    const heap_counts &earlier = match->second, &value = now.cells.counts_of(key);
    increase[peak_blocks] = value[peak_blocks] - (earlier[blocks] - earlier[frees]);
    increase[peak_bytes] = value[peak_bytes] - (earlier[bytes] - earlier[freed_bytes]);
  }
}

}  // namespace

recording since(const recording& before, const recording& now) {
  recording part = now;
  part.cells = increases(before.cells, now.cells);
  part.calls = increases(before.calls, now.calls);
  part.acquisitions = increases(before.acquisitions, now.acquisitions);
  part.waits = increases(before.waits, now.waits);
  part.orders = increases(before.orders, now.orders);
  part.violations = increases(before.violations, now.violations);
  begin_open_uses_at(part, before.clock.ticks);
  for (std::size_t index = 0; index < work_counter_count; ++index)
    part.work.counts[index] -= std::min(part.work.counts[index], before.work.counts[index]);
  part.cpu.cells = increases(before.cpu.cells, now.cpu.cells);
  set_time_changes(part, before, now);
  settle_times(part.cpu.cells);
  part.cpu.lost -= std::min(part.cpu.lost, before.cpu.lost);
  bound_longest(part, now);
  set_peaks(part, before, now);
  for (std::size_t index = 0; index < std::min(before.threads.size(), part.threads.size()); ++index) {
    for (const auto counter : thread_counters) {
      std::uint64_t& value = part.threads[index].*counter;
      value -= std::min(value, before.threads[index].*counter);
    }
  }
  for (const auto counter :
       {&limit_facts::missed_acquisitions, &limit_facts::untimed_holds, &limit_facts::waits_without_holder})
    part.limits.*counter -= std::min(part.limits.*counter, before.limits.*counter);
  for (std::size_t index = 0; index < std::min(before.quiet_regions.size(), part.quiet_regions.size()); ++index) {
    std::uint64_t& entered = part.quiet_regions[index].entered;
    entered -= std::min(entered, before.quiet_regions[index].entered);
  }
  return part;
}

interval to_snapshots(const recording& whole, const interval& request) {
  interval rounded{0, whole.snapshots.back().at_ns};
  for (const snapshot_facts& snapshot : whole.snapshots) {
    if (snapshot.at_ns <= request.from_ns) rounded.from_ns = snapshot.at_ns;
  }
  for (auto snapshot = whole.snapshots.rbegin(); snapshot != whole.snapshots.rend(); ++snapshot) {
    if (snapshot->at_ns >= request.to_ns) rounded.to_ns = snapshot->at_ns;
  }
  return rounded;
}

recording part_of(const recording& whole, std::string_view bytes, const interval& interval_to_cut) {
  collector changes(interval_to_cut);
  parse(bytes, &changes);
  return changes.result(whole);
}

}  // namespace tarn::format
