#include "profiler/findings/time/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

#include "profiler/findings/waits/awaited_locks.hpp"
#include "profiler/findings/waits/stacks.hpp"

namespace tarn::analyse {
namespace {

constexpr std::size_t max_parts = 8;  // of a state in one lane; its others become one without a place

using amounts = std::vector<std::int64_t>;  // nanoseconds, by interval; a sum that moves elsewhere is below 0

// Holds what the recording says of one thread.
struct thread_record {
  std::array<amounts, 4> times;                                      // running, runnable, waiting, unknown
  std::map<std::uint32_t, amounts> waits;                            // by site
  std::map<std::pair<std::uint32_t, std::uint32_t>, amounts> locks;  // by site and lock
  std::map<std::array<std::uint32_t, 3>, amounts> holders;           // by site, lock and holder
};
using thread_records = std::map<std::uint32_t, thread_record>;

class collector {
 public:
  collector(const format::recording& recording, std::size_t intervals)
      : recording_(recording), awaited_(recording), intervals_(intervals) {}

  void add_times(const format::cpu_key& key, std::size_t interval, const std::array<std::uint64_t, 4>& ns) {
    thread_record& thread = records_[key.thread];
    for (std::size_t index = 0; index < ns.size(); ++index) add(thread.times[index], interval, ns[index]);
    add(thread.waits[key.site], interval, ns[2]);
  }
  void add_lock(const format::lock_key& key, std::size_t interval, std::uint64_t ticks) {
    if (is_lock(key.lock)) add(records_[key.thread].locks[{key.site, key.lock}], interval, nanoseconds(ticks));
  }
  void add_holder(const format::wait_key& key, std::size_t interval, std::uint64_t ticks) {
    if (is_lock(key.lock))
      add(records_[key.thread].holders[{key.site, key.lock, key.holder}], interval, nanoseconds(ticks));
  }
  thread_records take() { return std::move(records_); }

 private:
  bool is_lock(std::uint32_t lock) const { return !awaited_.has(lock); }
  std::uint64_t nanoseconds(std::uint64_t ticks) const { return format::nanoseconds(recording_.clock, ticks); }
  void add(amounts& sums, std::size_t interval, std::uint64_t ns) const {
    sums.resize(intervals_);
    sums[interval] += static_cast<std::int64_t>(ns);
  }

  const format::recording& recording_;
  awaited_locks awaited_;
  std::size_t intervals_;
  thread_records records_;
};

thread_records records_of(const format::recording& recording, const history& course) {
  collector records(recording, course.intervals.size());
  for (const auto& [key, points] : course.cpu) {
    for (const auto& point : points) records.add_times(key, point.interval, point.increase);
  }
  for (const auto& [key, points] : course.locks) {
    for (const auto& point : points) records.add_lock(key, point.interval, point.increase[2]);
  }
  for (const auto& [key, points] : course.waits) {
    for (const auto& point : points) records.add_holder(key, point.interval, point.increase[1]);
  }
  return records.take();
}

// The same for the whole recording, as a single interval.
thread_records sums_of(const format::recording& recording) {
  collector records(recording, 1);
  for (const auto& [key, counts] : recording.cpu.cells) {
    records.add_times(key, 0,
                      {counts[format::running_ns], counts[format::runnable_ns], counts[format::waiting_ns],
                       counts[format::unknown_ns]});
  }
  for (const auto& [key, counts] : recording.acquisitions) records.add_lock(key, 0, counts[format::wait_ticks]);
  for (const auto& [key, counts] : recording.waits) records.add_holder(key, 0, counts[format::waited_ticks]);
  return records.take();
}

// The waits of one thread for a lock at one site, while one thread held it.
struct held_wait {
  std::uint32_t site = 0;
  std::uint32_t lock = 0;
  std::optional<std::uint32_t> holder;
  std::int64_t ns = 0;
};

// Returns the waits for locks of each interval. The recorder knows the holders of a wait when it ends, so their times
// go back from there to the begin of the wait.
std::vector<std::vector<held_wait>> lock_waits_of(const thread_record& thread, std::size_t intervals) {
  std::vector<std::vector<held_wait>> waits(intervals);
  for (const auto& [site_and_lock, waited] : thread.locks) {
    amounts left = waited;
    const auto [site, lock] = site_and_lock;
    for (auto holding = thread.holders.lower_bound({site, lock, 0});
         holding != thread.holders.end() && holding->first[0] == site && holding->first[1] == lock; ++holding) {
      for (std::size_t end = 0; end < intervals; ++end) {
        std::int64_t left_ns = holding->second[end];
        for (std::size_t index = end + 1; index-- > 0 && left_ns > 0;) {
          const std::int64_t part_ns = std::clamp<std::int64_t>(left[index], 0, left_ns);
          if (part_ns == 0) continue;
          waits[index].push_back({site, lock, holding->first[2], part_ns});
          left[index] -= part_ns;
          left_ns -= part_ns;
        }
      }
    }
    for (std::size_t index = 0; index < intervals; ++index) {
      if (left[index] > 0) waits[index].push_back({site, lock, std::nullopt, left[index]});
    }
  }
  return waits;
}

// The names of the C library's functions, or parts of them, and the state of a thread that waits in them.
struct known_function {
  std::string_view part;
  lane_state state;
};
constexpr auto known_functions = std::to_array<known_function>({
    {"mutex_lock", lane_state::lock},      {"mutex_timedlock", lane_state::lock},
    {"mutex_cond_lock", lane_state::lock}, {"mutex_clocklock", lane_state::lock},
    {"rwlock_", lane_state::lock},         {"spin_lock", lane_state::lock},
    {"lll_lock_wait", lane_state::lock},   {"nanosleep", lane_state::sleep},
    {"usleep", lane_state::sleep},         {"cond_wait", lane_state::idle},
    {"cond_timedwait", lane_state::idle},  {"cond_clockwait", lane_state::idle},
    {"cnd_wait", lane_state::idle},        {"sem_wait", lane_state::idle},
    {"sem_timedwait", lane_state::idle},   {"sem_clockwait", lane_state::idle},
    {"new_sem_wait", lane_state::idle},    {"barrier_wait", lane_state::idle},
    {"clockjoin", lane_state::idle},       {"pthread_join", lane_state::idle},
    {"timedjoin", lane_state::idle},       {"epoll_wait", lane_state::idle},
    {"epoll_pwait", lane_state::idle},     {"poll", lane_state::idle},
    {"select", lane_state::idle},          {"accept", lane_state::idle},
    {"sigwait", lane_state::idle},         {"sigtimedwait", lane_state::idle},
    {"sigsuspend", lane_state::idle},      {"pause", lane_state::idle},
    {"wait4", lane_state::idle},           {"waitpid", lane_state::idle},
    {"waitid", lane_state::idle},          {"platform_wait", lane_state::idle},
    {"futex_wait", lane_state::idle},      {"futex_abstimed_wait", lane_state::idle},
});

// Returns the name by which programs call it: without the prefixes of the C library's own names.
std::string public_name(std::string_view function) {
  function = function.substr(0, function.find_first_of("@(<"));
  function = function.substr(function.find_last_of(" :") + 1);
  for (const std::string_view prefix : {"__GI_", "__libc_", "__new_"}) {
    const std::size_t start = std::min(function.find_first_not_of('_'), function.size());
    if (function.starts_with(prefix)) {
      function.remove_prefix(prefix.size());
    } else if (function.substr(start).starts_with(prefix.substr(2))) {
      function.remove_prefix(start + prefix.size() - 2);
    }
  }
  function.remove_prefix(std::min(function.find_first_not_of('_'), function.size()));
  return std::string(function);
}

// Makes the parts of one lane.
class lane_builder {
 public:
  lane_builder(const format::recording& recording, symbols& symbols) : recording_(recording), symbols_(symbols) {}

  lane build(std::uint32_t thread, const thread_record& record, std::size_t intervals) {
    parts_.clear();
    const auto lock_waits = lock_waits_of(record, intervals);
    for (std::uint32_t interval = 0; interval < intervals; ++interval) add(record, lock_waits[interval], interval);
    lane result;
    result.thread = thread;
    for (auto& [key, part] : parts_) {
      result.sums[static_cast<std::size_t>(part.part.state)] += part.part.ns;
      result.parts.push_back(std::move(part.part));
    }
    std::stable_sort(result.parts.begin(), result.parts.end(), [](const lane_part& a, const lane_part& b) {
      return std::tuple(a.state, b.ns) < std::tuple(b.state, a.ns);
    });
    join_short(result.parts);
    return result;
  }

 private:
  struct wait_place {
    wait_kind kind;
    std::string location;
  };
  using waits_at_sites = std::vector<std::pair<std::uint32_t, double>>;  // nanoseconds
  using part_key = std::tuple<lane_state, std::string, std::string, std::optional<std::uint32_t>>;
  struct built_part {
    lane_part part;
    std::map<std::uint32_t, std::uint64_t> sites;
  };

  const wait_place& place_of(std::uint32_t site) {
    const auto [entry, is_new] = places_.try_emplace(site);
    if (!is_new) return entry->second;
    const std::vector<code_location> stack = stack_at(recording_, site, symbols_);
    if (stack.empty()) return entry->second;
    const code_location& location = stack[own_frame_index(stack)];
    entry->second = {
        wait_kind_of(stack),
        location.module + '\n' + location.file + '\n' + location.function + '\n' +
            std::to_string(location.line != 0 ? static_cast<std::uint64_t>(location.line) : location.offset)};
    return entry->second;
  }

  void add_part(lane_state state, const wait_place& spot, std::uint32_t site, std::optional<std::uint32_t> holder,
                std::uint32_t interval, double amount) {
    const auto ns = static_cast<std::uint64_t>(std::llround(amount));
    if (ns == 0) return;
    // The recorder's stacks of locks do not have that function.
    const std::string call = state == lane_state::lock ? "" : spot.kind.call;
    built_part& built = parts_[{state, call, spot.location, holder}];
    built.part.state = state;
    built.part.call = call;
    built.part.holder = holder;
    built.part.ns += ns;
    std::uint64_t& of_site = built.sites[site];
    of_site += ns;
    if (of_site >= built.sites[built.part.site]) built.part.site = site;
    auto& points = built.part.intervals;
    if (points.empty() || points.back().first != interval) points.emplace_back(interval, 0);
    points.back().second += ns;
  }

  // Times move from one state or site to another one when more is known of them. So an interval is divided by what it
  // has of each, and its whole is the time for which the thread lived in it.
  void add(const thread_record& record, const std::vector<held_wait>& lock_waits, std::uint32_t interval) {
    const auto amount_in = [&](const amounts& sums) { return sums.empty() ? 0 : sums[interval]; };
    std::array<double, 4> times{};
    double lifetime = 0, sum = 0;
    for (std::size_t index = 0; index < times.size(); ++index) {
      const auto ns = static_cast<double>(amount_in(record.times[index]));
      lifetime += ns;
      sum += times[index] = std::max(0.0, ns);
    }
    if (lifetime <= 0 || sum <= 0) return;
    for (double& ns : times) ns *= lifetime / sum;
    add_part(lane_state::running, {}, 0, {}, interval, times[0]);
    add_part(lane_state::runnable, {}, 0, {}, interval, times[1]);
    add_part(lane_state::unknown, {}, 0, {}, interval, times[3]);
    add_waits(record, lock_waits, interval, times[2]);
  }

  void add_waits(const thread_record& record, const std::vector<held_wait>& lock_waits, std::uint32_t interval,
                 double waiting) {
    double sum = 0;
    for (const auto& [site, ns] : record.waits) sum += static_cast<double>(std::max<std::int64_t>(0, ns[interval]));
    if (sum <= 0) return add_part(lane_state::unknown, {}, 0, {}, interval, waiting);
    const double factor = waiting / sum;
    double unplaced = 0;
    waits_at_sites in_locks, in_semaphores;
    for (const auto& [site, ns] : record.waits) {
      if (ns[interval] <= 0) continue;
      const double amount = static_cast<double>(ns[interval]) * factor;
      const wait_place& spot = place_of(site);
      if (spot.kind.state == lane_state::unknown) {
        unplaced += amount;
      } else if (spot.kind.state == lane_state::lock) {
        in_locks.emplace_back(site, amount);
      } else if (spot.kind.call.starts_with("sem_")) {
        in_semaphores.emplace_back(site, amount);
      } else {
        add_part(spot.kind.state, spot, site, {}, interval, amount);
      }
    }
    const double stack_sum = sum_of(in_locks), semaphore_sum = sum_of(in_semaphores);
    double recorded = 0, recorded_semaphores = 0;
    for (const held_wait& wait : lock_waits) {
      recorded += static_cast<double>(wait.ns);
      if (recording_.locks[wait.lock].type == format::lock_type::semaphore)
        recorded_semaphores += static_cast<double>(wait.ns);
    }
    // A stack in a semaphore does not tell whether that is a lock, but the waits of those that are have been recorded.
    const double semaphore_locks = std::min(recorded_semaphores, semaphore_sum);
    const double idle_share = semaphore_sum > 0 ? 1 - semaphore_locks / semaphore_sum : 0;
    for (const auto& [site, amount] : in_semaphores)
      add_part(lane_state::idle, place_of(site), site, {}, interval, idle_share * amount);
    // Of waits without a stack, those for locks are known from the locks.
    const double moved = std::clamp(recorded - stack_sum - semaphore_locks, 0.0, unplaced);
    add_part(lane_state::unknown, {}, 0, {}, interval, unplaced - moved);
    const double locks = stack_sum + semaphore_locks + moved;
    const double share = recorded > 0 ? std::min(1.0, locks / recorded) : 0;
    for (const held_wait& wait : lock_waits)
      add_part(lane_state::lock, place_of(wait.site), wait.site, wait.holder, interval,
               share * static_cast<double>(wait.ns));
    const double unheld_share = stack_sum > 0 ? std::max(0.0, locks - recorded) / stack_sum : 0;
    for (const auto& [site, amount] : in_locks)
      add_part(lane_state::lock, place_of(site), site, {}, interval, unheld_share * amount);
  }

  static double sum_of(const waits_at_sites& waits) {
    double sum = 0;
    for (const auto& [site, ns] : waits) sum += ns;
    return sum;
  }

  static void join_short(std::vector<lane_part>& parts) {
    std::map<lane_state, lane_part> others;
    std::map<lane_state, std::size_t> counts;
    std::erase_if(parts, [&](const lane_part& part) {
      if (counts[part.state]++ < max_parts) return false;
      lane_part& remainder = others[part.state];
      remainder.state = part.state;
      remainder.ns += part.ns;
      remainder.intervals.insert(remainder.intervals.end(), part.intervals.begin(), part.intervals.end());
      return true;
    });
    for (auto& [state, remainder] : others) {
      std::map<std::uint32_t, std::uint64_t> sums;
      for (const auto& [interval, ns] : remainder.intervals) sums[interval] += ns;
      remainder.intervals.assign(sums.begin(), sums.end());
      parts.push_back(std::move(remainder));
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const lane_part& a, const lane_part& b) { return a.state < b.state; });
  }

  const format::recording& recording_;
  symbols& symbols_;
  std::map<std::uint32_t, wait_place> places_;  // by site
  std::map<part_key, built_part> parts_;        // of the lane that is built
};

}  // namespace

const char* name(lane_state state) {
  constexpr std::array names = {"running", "runnable", "lock", "kernel", "sleep", "idle", "unknown"};
  static_assert(names.size() == lane_states);
  return names[static_cast<std::size_t>(state)];
}

std::uint64_t lane::lifetime_ns() const { return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}); }

// The first function with a state decides, from the innermost one on, as far as the code is not the program's. A thread
// that waits in code of the program waits for a page.
wait_kind wait_kind_of(const std::vector<code_location>& stack) {
  if (stack.empty()) return {};
  if (!is_runtime_code(stack.front())) return {lane_state::kernel, "page fault"};
  wait_kind first = {lane_state::kernel, ""};
  for (const code_location& location : stack) {
    if (!is_runtime_code(location)) break;
    const std::string called = public_name(location.function);
    // The inner parts of a wait for a futex do not say what it is for.
    const bool is_inner = called.starts_with("futex_") || called.starts_with("lll_");
    for (const known_function& listed : known_functions) {
      if (called.find(listed.part) == std::string::npos) continue;
      if (!is_inner) return {listed.state, called == "platform_wait" ? "atomic wait" : called};
      first.state = listed.state;
    }
    if (first.call.empty() && !called.empty()) first.call = called;
  }
  return first;
}

lane_findings find_lanes(const format::recording& recording, symbols& symbols, const history& course) {
  lane_findings result;
  lane_builder builder(recording, symbols);
  const bool has_course = !course.intervals.empty() && !course.cpu.empty();
  for (const history_interval& interval : course.intervals) {
    if (has_course) result.ends_ns.push_back(interval.to_ns);
  }
  thread_records records = has_course ? records_of(recording, course) : thread_records();
  for (const auto& [thread, sums] : sums_of(recording)) {
    lane built = builder.build(thread, sums, 1);
    if (built.lifetime_ns() == 0) continue;
    for (lane_part& part : built.parts) part.intervals.clear();
    if (has_course) built.parts = builder.build(thread, records[thread], result.ends_ns.size()).parts;
    result.lanes.push_back(std::move(built));
  }
  std::stable_sort(result.lanes.begin(), result.lanes.end(), [](const lane& a, const lane& b) {
    return std::tuple(b.sum(lane_state::running), b.lifetime_ns()) <
           std::tuple(a.sum(lane_state::running), a.lifetime_ns());
  });
  return result;
}

}  // namespace tarn::analyse
