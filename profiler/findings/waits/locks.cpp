#include "profiler/findings/waits/locks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "profiler/base/quantity_text.hpp"
#include "profiler/findings/heap/share.hpp"
#include "profiler/findings/heap/thread_count.hpp"
#include "profiler/findings/waits/awaited_locks.hpp"
#include "profiler/findings/waits/stacks.hpp"

namespace tarn::analyse {
namespace {

using format::lock_counter;
using format::lock_type;

// Locks with fewer acquisitions and no waits get no suggestion.
constexpr std::uint64_t acquisitions_worth_it = 100'000;
constexpr double seldom = 0.01;                 // share of the acquisitions, or of the program's run time
constexpr std::uint64_t long_hold_ns = 10'000;  // if locks are held longer, the work under the lock causes the waits

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

// Acquisitions are sampled independently of each other, so their variances add up.
double error_of(const format::lock_counts& sums) {
  return relative_error(static_cast<double>(sums[format::lock_spread]),
                        sums[format::acquisitions] + sums[format::refused]);
}

std::uint64_t mean_hold(const lock_group& group) {
  const std::uint64_t holds = group.sums[format::holds] + group.still_held;
  return holds == 0 ? 0 : group.sums[format::held_ticks] / holds;
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

bool has_deadlock(const lock_group& group) {
  return std::any_of(group.still_waiting.begin(), group.still_waiting.end(),
                     [](const unfinished_wait& wait) { return wait.is_deadlock; });
}

lock_category categorise(const lock_group& group, bool has_one_thread_each, std::uint64_t wall_ns) {
  if (!group.still_waiting.empty()) return lock_category::contended;  // also where a thread waits for itself
  if (has_one_thread_each && !group.is_held_elsewhere && !group.is_process_shared) return lock_category::one_thread;
  const bool has_waits = group.sums[format::contended] + group.sums[format::refused] != 0 &&
                         (is_share(group.sums[format::contended], group.sums[format::acquisitions], seldom) ||
                          is_share(group.sums[format::wait_ticks], wall_ns, seldom));
  return has_waits ? lock_category::contended : lock_category::uncontended;
}

std::optional<read_mostly_use> find_read_mostly(const format::recording& recording, const lock_group& group,
                                                const uses_by_stack& uses, own_code& own_frames) {
  if (group.type == lock_type::reader_writer) return known_reads(uses);
  // Locks of many objects, and those of a library, are not to be replaced one by one.
  const bool is_candidate = group.locks == 1 && group.library.empty() && group.category != lock_category::condition;
  return is_candidate ? presumed_reads(recording, uses, own_frames) : std::nullopt;
}

// Describes a presumed use of a lock, and the remedy if the presumption holds.
std::string presumed_remedy(const read_mostly_use& use) {
  return "held " + command::duration_text(use.read_ns) + " by most, and " + std::to_string(use.replacements) + " time" +
         (use.replacements == 1 ? "" : "s") + " for " + command::duration_text(use.replacement_ns) +
         " by another function" + (use.allocates_memory ? ", which allocates" : "") +
         ": if it is only read elsewhere, tarn::reloadable<T>, whose readers take no lock; if not, ";
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

// For data that threads change under a lock which they hold shortly and take often.
constexpr const char* parts_remedy =
    "let each thread fill a part of its own, and merge the parts under the lock at the end, or divide the data by key "
    "into parts with a lock each";

std::string foreign_remedy(const lock_group& group) {
  const std::string prefix = "inside " + group.library + ", ";
  if (group.category == lock_category::contended)
    return prefix + "which threads call at once: an instance for each thread, or fewer calls";
  if (group.category == lock_category::one_thread)
    return prefix + "called by one thread alone: its mode without locks, if it has one";
  return {};
}

std::string remedy_for(const lock_group& group, std::uint64_t wall_ns) {
  constexpr std::uint64_t by_chance = 10;           // up to this many waits do not count if they took hardly any time
  constexpr std::uint64_t min_wait_ns = 1'000'000;  // a run of some milliseconds makes any wait a large share
  const bool is_waited_for =
      has_deadlock(group) ||
      (group.category == lock_category::contended &&
       (group.sums[format::contended] > by_chance ||
        (group.sums[format::wait_ticks] >= min_wait_ns && is_share(group.sums[format::wait_ticks], wall_ns, seldom))));
  if (group.sums[format::acquisitions] < acquisitions_worth_it && !is_waited_for) return {};
  if (!group.library.empty()) return foreign_remedy(group);
  switch (group.category) {
    case lock_category::contended: return contended_remedy(group);
    case lock_category::one_thread:
      return std::string("one thread alone ") + (group.error == 0 ? "takes it" : "was seen to take it") +
             ": tarn::transient<T> or tarn::thread_checked<T> instead of a lock";
    case lock_category::uncontended:
      if (group.read_mostly && !group.read_mostly->is_known) {
        return presumed_remedy(*group.read_mostly) + "tarn::spin_mutex, which costs less";
      }
      if (group.type == lock_type::mutex && !group.is_process_shared && mean_hold(group) < 1000) {
        return "hardly ever waited for, and held shortly: tarn::spin_mutex is smaller and costs less";
      }
      return {};
    case lock_category::condition: return {};
  }
  return {};
}

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

std::uint64_t held_wait_ns(const lock_group& group) {
  const std::uint64_t waited_ns = group.sums[format::wait_ticks];
  return waited_ns - std::min(waited_ns, group.sums[format::free_ticks]);
}

bool is_held_long(const lock_group& group) { return group.typical_hold_ns >= long_hold_ns; }

std::string contended_remedy(const lock_group& group) {
  if (group.read_mostly && group.read_mostly->is_known) {
    return "mostly read: tarn::reloadable<T>, whose readers take no lock";
  }
  if (group.read_mostly) return presumed_remedy(*group.read_mostly) + parts_remedy;
  if (has_deadlock(group))
    return "a deadlock: take the locks in one order everywhere; or both at once: tarn::with(a, b, …), std::scoped_lock";
  if (group.sums[format::holds] + group.still_held == 0)
    return "how long it is held was not seen: it was acquired before the recording, in another process or between two "
           "samples (a start with --full records all)";
  if (group.is_held_elsewhere) {
    return std::string("another process had it meanwhile, or a thread that was not recorded") +
           (group.is_process_shared ? " (it is declared to be one of several processes)" : "") +
           ": record that, too, and do less while it is held there";
  }
  const std::uint64_t mean_ns = mean_hold(group);
  std::string prefix = "held " + command::duration_text(mean_ns) + " on average";
  if (group.typical_hold_ns > 2 * mean_ns)
    prefix += ", most of that time for about " + command::duration_text(group.typical_hold_ns) + " at once";
  prefix += ": ";
  if (!group.calls_inside.empty()) {
    const std::string& call = group.calls_inside.front().name;
    return prefix + "call " + call + " without it" +
           (call == "fsync" || call == "fdatasync" ? ", once for several threads (tarn::io::journal)" : "");
  }
  if (is_held_long(group)) {
    return prefix + "do less while it is held; what is only read: tarn::reloadable<T>";
  }
  // A short hold makes others wait long only where its thread was stopped in the middle of it. With samples, the hold
  // may be one that was not timed.
  constexpr std::uint64_t few_waits = 10, long_wait = 100;
  if (const std::uint64_t waits = group.sums[format::contended];
      waits <= few_waits && group.sums[format::wait_ticks] > waits * long_wait * mean_hold(group)) {
    const std::uint64_t longest_hold = group.sums[format::longest_held];
    if (longest_hold * 2 >= group.sums[format::longest_wait])
      return "held " + command::duration_text(longest_hold) + " at most: do less while it is held then";
    const bool has_seen_all = group.error == 0 && group.sums[format::holds] >= group.sums[format::acquisitions];
    return prefix +
           (has_seen_all ? "each wait was much longer, so its holder was interrupted"
                         : "each wait was much longer, so its holder was interrupted or held it for "
                           "longer, unseen") +
           "; fewer acquisitions make that rarer";
  }
  return prefix + parts_remedy;
}

const lock_group* lock_findings::group_of(const format::recording& recording, std::uint32_t lock) const {
  const format::lock_facts& facts = recording.locks[lock];
  const auto match = std::find_if(groups.begin(), groups.end(), [&](const lock_group& candidate) {
    return candidate.type == facts.type && candidate.first_site == facts.site;
  });
  return match == groups.end() ? nullptr : &*match;
}

lock_findings find_locks(const format::recording& recording) {
  struct collected_site {
    lock_site facts;
    std::set<std::uint32_t> sites;                        // sites of the recording
    std::map<std::uint32_t, std::uint64_t> waits_for_it;  // by the thread that waited for its holds
  };
  struct collected {
    lock_group facts;
    std::map<std::vector<std::uint64_t>, collected_site> sites;  // by inner frames
    uses_by_stack uses;
    std::map<std::uint32_t, std::set<std::uint32_t>> threads_of;  // by lock
    std::set<std::uint32_t> threads;                              // that have acquired one of them
    bool is_awaited = false;
  };
  const awaited_locks awaited(recording);
  std::map<std::tuple<lock_type, std::uint32_t>, collected> groups;
  const auto group_of = [&](std::uint32_t lock) -> collected& {
    const format::lock_facts& facts = recording.locks[lock];
    collected& group = groups[{facts.type, facts.site}];
    group.facts.type = facts.type;
    group.is_awaited = awaited.has(lock);
    group.facts.first_site = facts.site;
    group.facts.is_process_shared = group.facts.is_process_shared || facts.is_process_shared;
    if (group.facts.address == 0) group.facts.address = facts.address;
    return group;
  };
  own_code own_frames(recording);
  const auto site_of = [&](collected& in_group, std::uint32_t site) -> lock_site& {
    collected_site& site_in_group = in_group.sites[own_frames.inner_frames(site)];
    site_in_group.sites.insert(site);
    if (site_in_group.facts.site == 0 ||
        in_group.uses[site].acquisitions > in_group.uses[site_in_group.facts.site].acquisitions)
      site_in_group.facts.site = site;
    return site_in_group.facts;
  };
  for (const auto& [key, value] : recording.acquisitions) {
    collected& group = group_of(key.lock);
    const format::lock_counts counts = in_nanoseconds(recording, value);
    add(group.facts.sums, counts);
    stack_use& use = group.uses[key.site];
    use.acquisitions += counts[format::acquisitions];
    use.reader_acquisitions += counts[format::reader_acquisitions];
    use.holds += counts[format::holds];
    use.held_ns += counts[format::held_ticks];
    use.threads.insert(key.thread);
    lock_site& lock_place = site_of(group, key.site);
    add(lock_place.sums, counts);
    group.threads_of[key.lock].insert(key.thread);
    if (value[format::acquisitions] != 0) group.threads.insert(key.thread);  // else it has waited or tried in vain
  }
  for (const auto& [key, value] : recording.waits) {
    collected& group = group_of(key.lock);
    lock_site& lock_place = site_of(group, key.site);
    if (const auto holder = group.sites.find(own_frames.inner_frames(key.holder_site)); holder != group.sites.end()) {
      // Each wait that got the lock was for another hold. Those that gave up may all have been for one.
      const auto waiter = recording.acquisitions.find({key.site, key.thread, key.lock});
      const std::uint64_t refused = waiter == recording.acquisitions.end() ? 0 : waiter->second[format::refused];
      holder->second.waits_for_it[key.thread] += value[format::waits] - std::min(value[format::waits], refused);
    }
    const std::uint64_t waited = format::nanoseconds(recording.clock, value[format::waited_ticks]);
    add_wait(lock_place, {key.holder_site, key.holder, value[format::waits], waited});
  }
  const last_moment at_end(recording, awaited);
  for (const auto& [key, since] : recording.open_uses) {
    collected& group = group_of(key.lock);
    lock_site& lock_place = site_of(group, key.site);  // nobody may have acquired the lock there yet
    if (group.is_awaited) continue;
    if (!key.is_wait) {
      ++group.facts.still_held;
      continue;
    }
    const unfinished_wait& wait = group.facts.still_waiting.emplace_back(at_end.wait(key, since));
    if (wait.has_holder && wait.holder != wait.thread)
      add_wait(lock_place, {wait.holder_site, wait.holder, 1, at_end.held_ns(key, since)});
  }

  lock_findings findings;
  format::lock_counts totals{};  // without condition variables
  const std::uint64_t wall_ns = recording.has_ended ? recording.end.wall_us * 1000 : recording.clock.nanoseconds;
  for (auto& [key, collected] : groups) {
    lock_group& group = collected.facts;
    group.locks = static_cast<std::uint32_t>(collected.threads_of.size());
    const thread_count count = count_threads(recording, collected.threads);
    group.threads = count.threads;
    group.may_have_more_threads = count.may_be_more;
    const bool has_one_thread_each = std::all_of(collected.threads_of.begin(), collected.threads_of.end(),
                                                 [](const auto& entry) { return entry.second.size() < 2; });
    std::stable_sort(group.still_waiting.begin(), group.still_waiting.end(),
                     [](const unfinished_wait& a, const unfinished_wait& b) { return a.nanoseconds > b.nanoseconds; });
    findings.still_waiting += group.still_waiting.size();
    findings.in_deadlock += static_cast<std::uint64_t>(std::count_if(
        group.still_waiting.begin(), group.still_waiting.end(), [](const auto& wait) { return wait.is_deadlock; }));
    std::vector<collected_site*> order;
    for (auto& [frames, collected_at_site] : collected.sites) {
      // Waits are counted, and acquisitions are estimated: there are at least as many holds as one thread has waited
      // for.
      std::uint64_t& acquisitions = collected_at_site.facts.sums[format::acquisitions];
      std::uint64_t min_count = collected_at_site.facts.sums[format::contended];
      for (const auto& [thread, waits] : collected_at_site.waits_for_it) {
        const bool is_one_thread = thread != format::max_threads;  // which all threads beyond the limit share
        if (is_one_thread) min_count = std::max(min_count, waits);
      }
      if (!collected.is_awaited && acquisitions < min_count) {
        group.sums[format::acquisitions] += min_count - acquisitions;
        acquisitions = min_count;
      }
      collected_at_site.facts.error = error_of(collected_at_site.facts.sums);
      std::sort(collected_at_site.facts.waits.begin(), collected_at_site.facts.waits.end(),
                [](const lock_wait& a, const lock_wait& b) { return a.nanoseconds > b.nanoseconds; });
      order.push_back(&collected_at_site);
    }
    std::stable_sort(order.begin(), order.end(), [](const collected_site* a, const collected_site* b) {
      return std::tie(a->facts.sums[format::wait_ticks], a->facts.sums[format::acquisitions]) >
             std::tie(b->facts.sums[format::wait_ticks], b->facts.sums[format::acquisitions]);
    });
    for (collected_site* const collected_at_site : order) {
      for (const std::uint32_t site : collected_at_site->sites) {
        group.index_by_site[site] = group.sites.size();
        const stack_use& use = collected.uses[site];
        collected_at_site->facts.stacks.push_back({site, use.acquisitions, use.held_ns});
      }
      std::stable_sort(collected_at_site->facts.stacks.begin(), collected_at_site->facts.stacks.end(),
                       [](const lock_stack& a, const lock_stack& b) { return a.acquisitions > b.acquisitions; });
      group.sites.push_back(std::move(collected_at_site->facts));
    }
    group.error = error_of(group.sums);
    group.typical_hold_ns = typical_hold(group, collected.uses);
    group.is_held_elsewhere = has_one_thread_each && group.sums[format::wait_ticks] != 0;
    group.category = collected.is_awaited ? lock_category::condition : categorise(group, has_one_thread_each, wall_ns);
    group.library = own_frames.installed_library(group.first_site);
    group.read_mostly = find_read_mostly(recording, group, collected.uses, own_frames);
    group.remedy = remedy_for(group, wall_ns);
    if (!collected.is_awaited) add(totals, group.sums);
    findings.groups.push_back(std::move(group));
  }
  findings.acquisitions = totals[format::acquisitions];
  findings.contended = totals[format::contended];
  findings.wait_nanoseconds = totals[format::wait_ticks];
  findings.error = error_of(totals);
  // Those that are waited for on purpose come last.
  std::stable_sort(findings.groups.begin(), findings.groups.end(), [](const lock_group& a, const lock_group& b) {
    const bool is_a_last = a.category == lock_category::condition, is_b_last = b.category == lock_category::condition;
    if (is_a_last != is_b_last) return is_b_last;
    return std::tie(a.sums[format::wait_ticks], a.sums[format::acquisitions]) >
           std::tie(b.sums[format::wait_ticks], b.sums[format::acquisitions]);
  });
  return findings;
}

}  // namespace tarn::analyse
