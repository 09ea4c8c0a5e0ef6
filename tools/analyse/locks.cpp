#include "analyse/locks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyse/share.hpp"
#include "analyse/stacks.hpp"

namespace tarn::analyse {
namespace {

using format::lock_counter;
using format::lock_type;

// Locks with fewer acquisitions and no waits get no suggestion.
constexpr std::uint64_t acquisitions_worth_it = 100'000;
constexpr double seldom = 0.01;                 // share of the acquisitions, or of the program's run time
constexpr std::uint64_t long_hold_ns = 10'000;  // if locks are held longer, the work under the lock causes the waits

format::lock_counts in_nanoseconds(const format::recording& in, format::lock_counts counts) {
  for (const lock_counter each : {format::wait_ticks, format::longest_wait, format::held_ticks, format::longest_held}) {
    counts[each] = format::nanoseconds(in.clock, counts[each]);
  }
  return counts;
}

void add(format::lock_counts& to, const format::lock_counts& more) {
  for (std::size_t at = 0; at < to.size(); ++at) {
    const bool is_longest = at == format::longest_wait || at == format::longest_held;
    to[at] = is_longest ? std::max(to[at], more[at]) : to[at] + more[at];
  }
}

std::uint64_t mean_hold(const lock_group& of) {
  const std::uint64_t holds = of.sums[format::held];
  return holds == 0 ? 0 : of.sums[format::held_ticks] / holds;
}

lock_category categorise(const lock_group& of, bool each_of_one_thread, std::uint64_t wall_ns) {
  if (of.type == lock_type::condition) return lock_category::condition;
  if (each_of_one_thread) return lock_category::one_thread;
  const bool waits = of.sums[format::contended] + of.sums[format::refused] != 0 &&
                     (is_share(of.sums[format::contended], of.sums[format::acquisitions], seldom) ||
                      is_share(of.sums[format::wait_ticks], wall_ns, seldom));
  return waits ? lock_category::contended : lock_category::uncontended;
}

std::string microseconds(std::uint64_t ns) {
  const std::uint64_t tenths = (ns + 50) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " µs";
}

std::string contended_remedy(const lock_group& of) {
  const bool mostly_reads = is_share(of.sums[format::shared_ones], of.sums[format::acquisitions], mostly);
  if (of.type == lock_type::reader_writer && mostly_reads) {
    return "mostly read: tarn::reloadable<T>, whose readers take no lock";
  }
  const std::string held = "held " + microseconds(mean_hold(of)) + " on average: ";
  if (mean_hold(of) >= long_hold_ns) {
    return held +
           "prepare outside, and only exchange the result under it (tarn::with); what is only read: "
           "tarn::reloadable<T>";
  }
  return held +
         "short, and wanted by many: a part for each thread (tarn::transient<T>), tarn::shared_pool<T> for "
         "objects that are handed on, or one acquisition for several pieces of work";
}

std::string foreign_remedy(const lock_group& of) {
  const std::string inside = "inside " + of.library + ", ";
  if (of.is == lock_category::contended)
    return inside + "which threads call at once: an instance for each thread, or fewer calls";
  if (of.is == lock_category::one_thread)
    return inside + "called by one thread alone: its mode without locks, if it has one";
  return {};
}

std::string remedy_for(const lock_group& of, std::uint64_t wall_ns) {
  constexpr std::uint64_t by_chance = 10;  // up to this many waits do not count if they took hardly any time
  const bool is_waited_for =
      of.is == lock_category::contended &&
      (of.sums[format::contended] > by_chance || is_share(of.sums[format::wait_ticks], wall_ns, seldom));
  if (of.sums[format::acquisitions] < acquisitions_worth_it && !is_waited_for) return {};
  if (!of.library.empty()) return foreign_remedy(of);
  switch (of.is) {
    case lock_category::contended: return contended_remedy(of);
    case lock_category::one_thread:
      return "one thread alone takes it: tarn::transient<T> or tarn::thread_checked<T> instead of a lock";
    case lock_category::uncontended:
      if (of.type == lock_type::mutex && mean_hold(of) < 1000) {
        return "hardly ever waited for, and held shortly: tarn::spin_mutex is smaller and costs less";
      }
      return {};
    case lock_category::condition: return {};
  }
  return {};
}

}  // namespace

const char* name(lock_category of) {
  switch (of) {
    case lock_category::contended: return "contended";
    case lock_category::uncontended: return "uncontended";
    case lock_category::one_thread: return "one thread";
    case lock_category::condition: return "condition";
  }
  return "";
}

const char* name(lock_type of) {
  switch (of) {
    case lock_type::mutex: return "mutex";
    case lock_type::reader_writer: return "reader-writer lock";
    case lock_type::spin: return "spin lock";
    case lock_type::condition: return "condition variable";
  }
  return "";
}

const lock_group* lock_findings::group_of(const format::recording& in, std::uint32_t lock) const {
  const format::lock_facts& facts = in.locks[lock];
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const lock_group& each) {
    return each.type == facts.type && each.first_site == facts.site;
  });
  return found == groups.end() ? nullptr : &*found;
}

lock_findings find_locks(const format::recording& in) {
  struct collected_site {
    lock_site facts;
    std::set<std::uint32_t> sites;  // sites of the recording
  };
  struct collected {
    lock_group group;
    std::map<std::vector<std::uint64_t>, collected_site> sites;   // by inner frames
    std::map<std::uint32_t, std::uint64_t> taken;                 // by site
    std::map<std::uint32_t, std::set<std::uint32_t>> threads_of;  // by lock
    std::set<std::uint32_t> threads;
  };
  std::map<std::tuple<lock_type, std::uint32_t>, collected> groups;
  const auto group_of = [&](std::uint32_t lock) -> collected& {
    const format::lock_facts& facts = in.locks[lock];
    collected& found = groups[{facts.type, facts.site}];
    found.group.type = facts.type;
    found.group.first_site = facts.site;
    if (found.group.address == 0) found.group.address = facts.address;
    return found;
  };
  own_code own(in);
  const auto site_of = [&](collected& in_group, std::uint32_t site) -> lock_site& {
    collected_site& found = in_group.sites[own.inner_frames(site)];
    found.sites.insert(site);
    if (found.facts.site == 0 || in_group.taken[site] > in_group.taken[found.facts.site]) found.facts.site = site;
    return found.facts;
  };
  for (const auto& [key, value] : in.lockings) {
    collected& to = group_of(key.lock);
    const format::lock_counts counts = in_nanoseconds(in, value);
    add(to.group.sums, counts);
    to.taken[key.site] += counts[format::acquisitions];
    lock_site& at = site_of(to, key.site);
    add(at.sums, counts);
    to.threads_of[key.lock].insert(key.thread);
    to.threads.insert(key.thread);
  }
  for (const auto& [key, value] : in.waits) {
    lock_site& at = site_of(group_of(key.lock), key.site);
    const std::uint64_t waited = format::nanoseconds(in.clock, value[format::waited_ticks]);
    const auto same = std::find_if(at.waits.begin(), at.waits.end(), [&key = key](const lock_wait& each) {
      return each.holder_site == key.holder_site && each.holder == key.holder;
    });
    if (same == at.waits.end()) {
      at.waits.push_back({key.holder_site, key.holder, value[format::waits], waited});
    } else {
      same->waits += value[format::waits], same->nanoseconds += waited;
    }
  }

  lock_findings all;
  const std::uint64_t wall_ns = in.ended ? in.end.wall_us * 1000 : in.clock.nanoseconds;
  for (auto& [key, each] : groups) {
    lock_group& group = each.group;
    group.locks = static_cast<std::uint32_t>(each.threads_of.size());
    group.threads = static_cast<std::uint32_t>(each.threads.size());
    const bool each_of_one = std::all_of(each.threads_of.begin(), each.threads_of.end(),
                                         [](const auto& of) { return of.second.size() < 2; });
    group.is = categorise(group, each_of_one, wall_ns);
    group.library = own.installed_library(group.first_site);
    group.remedy = remedy_for(group, wall_ns);
    std::vector<collected_site*> order;
    for (auto& [frames, of] : each.sites) {
      std::sort(of.facts.waits.begin(), of.facts.waits.end(),
                [](const lock_wait& a, const lock_wait& b) { return a.nanoseconds > b.nanoseconds; });
      order.push_back(&of);
    }
    std::stable_sort(order.begin(), order.end(), [](const collected_site* a, const collected_site* b) {
      return std::tie(a->facts.sums[format::wait_ticks], a->facts.sums[format::acquisitions]) >
             std::tie(b->facts.sums[format::wait_ticks], b->facts.sums[format::acquisitions]);
    });
    for (collected_site* const of : order) {
      for (const std::uint32_t site : of->sites) group.places[site] = group.sites.size();
      group.sites.push_back(std::move(of->facts));
    }
    if (group.type != lock_type::condition) {
      all.acquisitions += group.sums[format::acquisitions];
      all.contended += group.sums[format::contended];
      all.wait_nanoseconds += group.sums[format::wait_ticks];
    }
    all.groups.push_back(std::move(group));
  }
  // Condition variables come last, because their waits are intended.
  std::stable_sort(all.groups.begin(), all.groups.end(), [](const lock_group& a, const lock_group& b) {
    const bool a_last = a.is == lock_category::condition, b_last = b.is == lock_category::condition;
    if (a_last != b_last) return b_last;
    return std::tie(a.sums[format::wait_ticks], a.sums[format::acquisitions]) >
           std::tie(b.sums[format::wait_ticks], b.sums[format::acquisitions]);
  });
  return all;
}

}  // namespace tarn::analyse
