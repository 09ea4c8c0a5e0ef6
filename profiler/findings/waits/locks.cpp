#include "profiler/findings/waits/locks.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "profiler/findings/heap/share.hpp"
#include "profiler/findings/heap/thread_count.hpp"
#include "profiler/findings/waits/awaited_locks.hpp"
#include "profiler/findings/waits/lock_remedies.hpp"
#include "profiler/findings/waits/stacks.hpp"

namespace tarn::analyse {
namespace {

using format::lock_counter;
using format::lock_type;

format::lock_counts in_nanoseconds(const format::recording& recording, format::lock_counts counts) {
  for (const lock_counter counter :
       {format::wait_ticks, format::longest_wait, format::held_ticks, format::longest_held, format::free_ticks}) {
    counts[counter] = format::nanoseconds(recording.clock, counts[counter]);
  }
  return counts;
}

void add(format::lock_counts& sums, const format::lock_counts& increase) {
  for (std::size_t index = 0; index < sums.size(); ++index) {
    const bool is_longest = index == format::longest_wait || index == format::longest_held;
    sums[index] = is_longest ? std::max(sums[index], increase[index]) : sums[index] + increase[index];
  }
}

void add_wait(lock_site& site, const lock_wait& wait) {
  const auto match = std::find_if(site.waits.begin(), site.waits.end(), [&](const lock_wait& candidate) {
    return candidate.holder_site == wait.holder_site && candidate.holder == wait.holder;
  });
  if (match == site.waits.end()) {
    site.waits.push_back(wait);
  } else {
    match->waits += wait.waits, match->nanoseconds += wait.nanoseconds;
  }
}

// Orders sums by the time that threads waited, then by acquisitions.
bool has_longer_waits(const format::lock_counts& a, const format::lock_counts& b) {
  return std::tie(a[format::wait_ticks], a[format::acquisitions]) >
         std::tie(b[format::wait_ticks], b[format::acquisitions]);
}

template <class Wait>
bool is_longer(const Wait& a, const Wait& b) {
  return a.nanoseconds > b.nanoseconds;
}

// Acquisitions are sampled independently of each other, so their variances add up.
double error_of(const format::lock_counts& sums) {
  return relative_error(static_cast<double>(sums[format::lock_spread]),
                        sums[format::acquisitions] + sums[format::refused]);
}

// Returns the mean hold of an instant at which the lock is held.
std::uint64_t typical_hold(const lock_group& group, const uses_by_stack& uses) {
  double weighted_ns = 0, held_ns = 0;
  for (const auto& [site, use] : uses) {
    if (use.holds == 0) continue;
    const auto stack_ns = static_cast<double>(use.held_ns);
    weighted_ns += stack_ns * (stack_ns / static_cast<double>(use.holds));
    held_ns += stack_ns;
  }
  return std::max(mean_hold(group), held_ns == 0 ? 0 : static_cast<std::uint64_t>(weighted_ns / held_ns));
}

lock_category categorise(const lock_group& group, bool has_one_thread_each, std::uint64_t wall_ns) {
  if (!group.still_waiting.empty()) return lock_category::contended;  // also where a thread waits for itself
  if (has_one_thread_each && !group.is_held_elsewhere && !group.is_process_shared) return lock_category::one_thread;
  const bool has_waits = group.sums[format::contended] + group.sums[format::refused] != 0 &&
                         (is_share(group.sums[format::contended], group.sums[format::acquisitions], negligible_share) ||
                          is_share(group.sums[format::wait_ticks], wall_ns, negligible_share));
  return has_waits ? lock_category::contended : lock_category::uncontended;
}

std::optional<read_mostly_use> find_read_mostly(const format::recording& recording, const lock_group& group,
                                                const uses_by_stack& uses, own_code& own_frames) {
  if (group.type == lock_type::reader_writer) return known_reads(uses);
  // Locks of many objects, and those of a library, are not to be replaced one by one.
  const bool is_candidate = group.locks == 1 && group.library.empty() && group.category != lock_category::condition;
  return is_candidate ? presumed_reads(recording, uses, own_frames) : std::nullopt;
}

// Who held each lock, and for which lock each thread waited, when the recording ended.
class last_moment {
 public:
  last_moment(const format::recording& recording, const awaited_locks& awaited) : recording_(recording) {
    for (const auto& [key, since] : recording.open_uses) {
      if (awaited.has(key.lock) || recording.locks[key.lock].is_sum()) continue;
      if (key.is_wait) {
        lock_of_[key.thread] = key.lock;
        continue;
      }
      // A lock that another thread releases than the one that acquired it looks as if it were still held.
      const auto [position, is_new] = holders_.try_emplace(key.lock, key, since);
      if (!is_new && since > position->second.second) position->second = {key, since};
    }
  }

  // Returns the wait of an entry of `open_uses`.
  unfinished_wait wait(const format::open_key& key, std::uint64_t since) const {
    unfinished_wait result{.thread = key.thread, .site = key.site, .nanoseconds = nanoseconds_since(since)};
    if (const auto match = holders_.find(key.lock); match != holders_.end()) {
      result.has_holder = true;
      result.holder = match->second.first.thread;
      result.holder_site = match->second.first.site;
      result.is_deadlock = is_deadlock(key.thread);
    }
    return result;
  }
  // Returns how long the holder of the wait has held the lock since the wait began.
  std::uint64_t held_ns(const format::open_key& key, std::uint64_t since) const {
    const auto match = holders_.find(key.lock);
    return match == holders_.end() ? 0 : nanoseconds_since(std::max(since, match->second.second));
  }

 private:
  std::uint64_t nanoseconds_since(std::uint64_t ticks) const {
    const std::uint64_t end = recording_.clock.ticks;
    return format::nanoseconds(recording_.clock, end - std::min(ticks, end));
  }
  bool is_deadlock(std::uint32_t start) const {
    std::uint32_t thread = start;
    for (std::size_t step = 0; step <= lock_of_.size(); ++step) {
      const auto awaited = lock_of_.find(thread);
      if (awaited == lock_of_.end()) return false;
      const auto holder = holders_.find(awaited->second);
      if (holder == holders_.end()) return false;
      thread = holder->second.first.thread;
      if (thread == start) return true;
    }
    return false;
  }

  const format::recording& recording_;
  std::map<std::uint32_t, std::pair<format::open_key, std::uint64_t>> holders_;  // by lock; with the time
  std::map<std::uint32_t, std::uint32_t> lock_of_;                               // by thread
};

// A lock_site in the making.
struct collected_site {
  lock_site facts;
  std::set<std::uint32_t> sites;                        // sites of the recording
  std::map<std::uint32_t, std::uint64_t> waits_for_it;  // by the thread that waited for its holds
};

// A lock_group in the making.
struct collected_group {
  lock_group facts;
  std::map<std::vector<std::uint64_t>, collected_site> sites;  // by inner frames
  uses_by_stack uses;
  std::set<std::uint32_t> threads;  // that have acquired one of them
  bool is_awaited = false;
  bool has_one_thread_each = true;  // no two threads have used the same lock
};

// Waits are counted, and acquisitions are estimated: there are at least as many holds as one thread has waited for.
void raise_to_waits(collected_group& group) {
  for (auto& [frames, site] : group.sites) {
    std::uint64_t& acquisitions = site.facts.sums[format::acquisitions];
    std::uint64_t min_count = site.facts.sums[format::contended];
    for (const auto& [thread, waits] : site.waits_for_it) {
      const bool is_one_thread = thread != format::max_threads;  // which all threads beyond the limit share
      if (is_one_thread) min_count = std::max(min_count, waits);
    }
    if (acquisitions >= min_count) continue;
    group.facts.sums[format::acquisitions] += min_count - acquisitions;
    acquisitions = min_count;
  }
}

// Moves the sites into the facts of their group, sorted, with sorted waits and stacks.
void add_sorted_sites(collected_group& group) {
  std::vector<collected_site*> order;
  for (auto& [frames, site] : group.sites) order.push_back(&site);
  std::stable_sort(order.begin(), order.end(), [](const collected_site* a, const collected_site* b) {
    return has_longer_waits(a->facts.sums, b->facts.sums);
  });
  for (collected_site* const collected : order) {
    lock_site& site = collected->facts;
    site.error = error_of(site.sums);
    std::sort(site.waits.begin(), site.waits.end(), is_longer<lock_wait>);
    for (const std::uint32_t stack : collected->sites) {
      group.facts.index_by_site[stack] = group.facts.sites.size();
      const stack_use& use = group.uses[stack];
      site.stacks.push_back({stack, use.acquisitions, use.held_ns});
    }
    std::stable_sort(site.stacks.begin(), site.stacks.end(),
                     [](const lock_stack& a, const lock_stack& b) { return a.acquisitions > b.acquisitions; });
    group.facts.sites.push_back(std::move(site));
  }
}

// Collects the locks of a recording by type and site of first use, and their uses by function.
class lock_collector {
 public:
  explicit lock_collector(const format::recording& recording)
      : recording_(recording), awaited_(recording), own_frames_(recording), locks_(recording.locks.size()) {
    add_acquisitions();
    add_waits();
    add_open_uses();
    add_idle_wakeups();
  }

  lock_findings findings() {
    lock_findings findings;
    format::lock_counts totals{};  // without condition variables
    for (auto& [key, group] : groups_) {
      complete(group);
      const std::vector<unfinished_wait>& waits = group.facts.still_waiting;
      findings.still_waiting += waits.size();
      findings.in_deadlock += static_cast<std::uint64_t>(
          std::count_if(waits.begin(), waits.end(), [](const unfinished_wait& wait) { return wait.is_deadlock; }));
      if (!group.is_awaited) add(totals, group.facts.sums);
      findings.groups.push_back(std::move(group.facts));
    }
    findings.acquisitions = totals[format::acquisitions];
    findings.contended = totals[format::contended];
    findings.wait_nanoseconds = totals[format::wait_ticks];
    findings.error = error_of(totals);
    // Those that are waited for on purpose come last.
    std::stable_sort(findings.groups.begin(), findings.groups.end(), [](const lock_group& a, const lock_group& b) {
      const bool is_a_last = a.category == lock_category::condition, is_b_last = b.category == lock_category::condition;
      return is_a_last == is_b_last ? has_longer_waits(a.sums, b.sums) : is_b_last;
    });
    return findings;
  }

 private:
  struct collected_lock {
    collected_group* group = nullptr;
    std::optional<std::uint32_t> user;  // the last thread that was seen to use it
  };

  collected_group& group_of(std::uint32_t lock) {
    if (locks_[lock].group == nullptr) locks_[lock].group = &add_to_group(lock);
    return *locks_[lock].group;
  }

  collected_group& add_to_group(std::uint32_t lock) {
    const format::lock_facts& facts = recording_.locks[lock];
    collected_group& group = groups_[{facts.type, facts.site}];
    group.is_awaited = awaited_.has(lock);
    group.facts.type = facts.type;
    group.facts.first_site = facts.site;
    group.facts.is_process_shared = group.facts.is_process_shared || facts.is_process_shared;
    if (group.facts.address == 0) group.facts.address = facts.address;
    return group;
  }

  collected_site& add_stack(collected_group& group, std::uint32_t stack) {
    collected_site& collected = group.sites[own_frames_.inner_frames(stack)];
    collected.sites.insert(stack);
    return collected;
  }

  static void choose_main_stack(collected_group& group, lock_site& site, std::uint32_t stack) {
    if (site.site == stack) return;
    if (site.site == 0 || group.uses[stack].acquisitions > group.uses[site.site].acquisitions) site.site = stack;
  }

  lock_site& site_of(collected_group& group, std::uint32_t stack) {
    lock_site& site = add_stack(group, stack).facts;
    choose_main_stack(group, site, stack);
    return site;
  }

  void add_acquisitions() {
    // The cells of a stack follow each other, so its entry in a group is looked up once.
    struct group_entry {
      collected_group* group;
      stack_use* use;
      lock_site* site;
      std::optional<std::uint32_t> thread, taker;  // of the last cell, and of the last one with an acquisition
    };
    std::vector<group_entry> entries;
    std::uint32_t stack = 0;
    for (const auto& [key, value] : recording_.acquisitions) {
      if (std::exchange(stack, key.site) != key.site) entries.clear();
      collected_group& group = group_of(key.lock);
      auto entry = std::find_if(entries.begin(), entries.end(),
                                [&](const group_entry& candidate) { return candidate.group == &group; });
      if (entry == entries.end()) {
        entries.push_back({&group, &group.uses[stack], &add_stack(group, stack).facts, {}, {}});
        entry = std::prev(entries.end());
      }
      const format::lock_counts counts = in_nanoseconds(recording_, value);
      add(group.facts.sums, counts);
      stack_use& use = *entry->use;
      use.acquisitions += counts[format::acquisitions];
      use.reader_acquisitions += counts[format::reader_acquisitions];
      use.holds += counts[format::holds];
      use.held_ns += counts[format::held_ticks];
      if (std::exchange(entry->thread, key.thread) != key.thread) use.threads.insert(key.thread);
      choose_main_stack(group, *entry->site, stack);
      add(entry->site->sums, counts);
      std::optional<std::uint32_t>& user = locks_[key.lock].user;
      if (!user) ++group.facts.locks;
      if (user && user != key.thread) group.has_one_thread_each = false;
      user = key.thread;
      // Without an acquisition the thread has waited or tried in vain.
      if (value[format::acquisitions] != 0 && std::exchange(entry->taker, key.thread) != key.thread)
        group.threads.insert(key.thread);
    }
  }

  void add_waits() {
    for (const auto& [key, value] : recording_.waits) {
      collected_group& group = group_of(key.lock);
      lock_site& site = site_of(group, key.site);
      const auto holder = group.sites.find(own_frames_.inner_frames(key.holder_site));
      if (holder != group.sites.end()) {
        // Each wait that got the lock was for another hold. Those that gave up may all have been for one.
        const auto waiter = recording_.acquisitions.find({key.site, key.thread, key.lock});
        const std::uint64_t refused = waiter == recording_.acquisitions.end() ? 0 : waiter->second[format::refused];
        holder->second.waits_for_it[key.thread] += value[format::waits] - std::min(value[format::waits], refused);
      }
      const std::uint64_t waited = format::nanoseconds(recording_.clock, value[format::waited_ticks]);
      add_wait(site, {key.holder_site, key.holder, value[format::waits], waited});
    }
  }

  void add_open_uses() {
    const last_moment at_end(recording_, awaited_);
    for (const auto& [key, since] : recording_.open_uses) {
      collected_group& group = group_of(key.lock);
      lock_site& site = site_of(group, key.site);  // nobody may have acquired the lock there yet
      if (group.is_awaited) continue;
      if (!key.is_wait) {
        ++group.facts.still_held;
        continue;
      }
      const unfinished_wait& wait = group.facts.still_waiting.emplace_back(at_end.wait(key, since));
      if (wait.has_holder && wait.holder != wait.thread)
        add_wait(site, {wait.holder_site, wait.holder, 1, at_end.held_ns(key, since)});
    }
  }

  // A wait for a condition begins with a mutex, and a thread that goes on releases that. So a thread that was woken
  // more often than it has acquired mutexes has waited again at once.
  void add_idle_wakeups() {
    std::map<std::uint32_t, std::uint64_t> acquisitions;                       // of mutexes, by thread
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> wakeups;  // by condition variable and thread
    for (const auto& [key, value] : recording_.acquisitions) {
      const lock_type type = recording_.locks[key.lock].type;
      if (type == lock_type::mutex) acquisitions[key.thread] += value[format::acquisitions];
      if (type == lock_type::condition) wakeups[{key.lock, key.thread}] += value[format::acquisitions];
    }
    for (const auto& [use, count] : wakeups) {
      const std::uint64_t first_ones = acquisitions[use.second];
      group_of(use.first).facts.idle_wakeups += count - std::min(count, first_ones);
    }
  }

  // Fills in the facts that follow from all uses of the group.
  void complete(collected_group& collected) {
    lock_group& group = collected.facts;
    const thread_count count = count_threads(recording_, collected.threads);
    group.threads = count.threads;
    group.may_have_more_threads = count.may_be_more;
    std::stable_sort(group.still_waiting.begin(), group.still_waiting.end(), is_longer<unfinished_wait>);
    if (!collected.is_awaited) raise_to_waits(collected);
    add_sorted_sites(collected);
    group.error = error_of(group.sums);
    group.typical_hold_ns = typical_hold(group, collected.uses);
    const bool has_one_thread_each = collected.has_one_thread_each;
    group.is_held_elsewhere = has_one_thread_each && group.sums[format::wait_ticks] != 0;
    const std::uint64_t wall_ns = recording_.has_ended ? recording_.end.wall_us * 1000 : recording_.clock.nanoseconds;
    group.category = collected.is_awaited ? lock_category::condition : categorise(group, has_one_thread_each, wall_ns);
    group.library = own_frames_.installed_library(group.first_site);
    group.read_mostly = find_read_mostly(recording_, group, collected.uses, own_frames_);
    group.remedy = remedy_for(group, wall_ns);
  }

  const format::recording& recording_;
  const awaited_locks awaited_;
  own_code own_frames_;
  std::vector<collected_lock> locks_;  // by number
  std::map<std::pair<lock_type, std::uint32_t>, collected_group> groups_;
};

}  // namespace

const char* name(lock_category category) {
  switch (category) {
    case lock_category::contended: return "contended";
    case lock_category::uncontended: return "uncontended";
    case lock_category::one_thread: return "one thread";
    case lock_category::condition: return "condition";
  }
  return "";
}

const char* name(lock_type type) {
  switch (type) {
    case lock_type::mutex: return "mutex";
    case lock_type::reader_writer: return "reader-writer lock";
    case lock_type::spin: return "spin lock";
    case lock_type::condition: return "condition variable";
    case lock_type::semaphore: return "semaphore";
  }
  return "";
}

std::uint64_t mean_hold(const lock_group& group) {
  const std::uint64_t holds = group.sums[format::holds] + group.still_held;
  return holds == 0 ? 0 : group.sums[format::held_ticks] / holds;
}

std::uint64_t held_wait_ns(const lock_group& group) {
  const std::uint64_t waited_ns = group.sums[format::wait_ticks];
  return waited_ns - std::min(waited_ns, group.sums[format::free_ticks]);
}

bool is_held_long(const lock_group& group) {
  constexpr std::uint64_t long_hold_ns = 10'000;
  return group.typical_hold_ns >= long_hold_ns;
}

const lock_group* lock_findings::group_of(const format::recording& recording, std::uint32_t lock) const {
  const format::lock_facts& facts = recording.locks[lock];
  const auto match = std::find_if(groups.begin(), groups.end(), [&](const lock_group& candidate) {
    return candidate.type == facts.type && candidate.first_site == facts.site;
  });
  return match == groups.end() ? nullptr : &*match;
}

lock_findings find_locks(const format::recording& recording) { return lock_collector(recording).findings(); }

}  // namespace tarn::analyse
