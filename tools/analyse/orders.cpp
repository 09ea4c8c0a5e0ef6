#include "analyse/orders.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analyse/stacks.hpp"

namespace tarn::analyse {
namespace {

using lock_number = std::uint32_t;

constexpr std::size_t most_chain_links = 8;
constexpr std::size_t most_inversions = 1000;

// All orders in which one lock was taken while another one was held.
struct edge {
  std::map<std::pair<std::uint32_t, std::uint32_t>, order_step>
      steps;                      // by the sites where the one was acquired and the other is taken
  std::set<std::uint32_t> gates;  // locks held around it; 0 if it also happened without one
};
using graph = std::map<lock_number, std::map<lock_number, edge>>;

std::set<lock_number> read_only_locks(const format::recording& in) {
  std::set<lock_number> shared, exclusive;
  for (const auto& [key, value] : in.lockings)
    (value[format::shared_ones] == value[format::acquisitions] ? shared : exclusive).insert(key.lock);
  std::erase_if(shared, [&](lock_number each) { return exclusive.contains(each); });
  return shared;
}

graph edges_of(const format::recording& in, order_findings& all) {
  const std::set<lock_number> readers = read_only_locks(in);
  graph made;
  for (const auto& [key, value] : in.orders) {
    if (value[format::orders] == 0) continue;
    if (key.lock == 0 || key.held_lock == 0) {
      all.beyond += value[format::orders];
      continue;
    }
    if (key.lock == key.held_lock || readers.contains(key.lock) || readers.contains(key.held_lock)) continue;
    edge& to = made[key.held_lock][key.lock];
    to.gates.insert(key.gate);
    order_step& step = to.steps[{key.held_site, key.site}];
    step.holds = key.held_lock;
    step.takes = key.lock;
    step.held_site = key.held_site;
    step.taken_site = key.site;
    step.times += value[format::orders];
    const auto place = std::lower_bound(step.threads.begin(), step.threads.end(), key.thread);
    if (place == step.threads.end() || *place != key.thread) step.threads.insert(place, key.thread);
  }
  return made;
}

// Combines all steps into the most frequent one, with the threads and the count of all.
order_step main_step(const edge& of) {
  const auto most = std::max_element(of.steps.begin(), of.steps.end(),
                                     [](const auto& a, const auto& b) { return a.second.times < b.second.times; });
  order_step made = most->second;
  std::set<std::uint32_t> threads;
  made.times = 0;
  for (const auto& [places, each] : of.steps) {
    made.times += each.times;
    threads.insert(each.threads.begin(), each.threads.end());
  }
  made.threads.assign(threads.begin(), threads.end());
  return made;
}

// Returns the cycle through these locks; nothing if one lock was held around all of it each time.
std::optional<inversion> circle(const graph& all, const std::vector<lock_number>& locks) {
  inversion made;
  std::set<std::uint32_t> threads, gates;
  bool is_guarded = true;
  for (std::size_t at = 0; at < locks.size(); ++at) {
    const edge& of = all.at(locks[at]).at(locks[(at + 1) % locks.size()]);
    made.steps.push_back(main_step(of));
    threads.insert(made.steps.back().threads.begin(), made.steps.back().threads.end());
    gates.insert(of.gates.begin(), of.gates.end());
    is_guarded = is_guarded && of.gates.size() == 1;
  }
  if (is_guarded && gates.size() == 1 && *gates.begin() != 0) return std::nullopt;
  made.by_one_thread = threads.size() == 1;
  return made;
}

// Removes locks without an incoming edge until there are none: they are in no cycle.
void prune(graph& all) {
  std::map<lock_number, std::size_t> ways_in;
  for (const auto& [from, out] : all) {
    ways_in.try_emplace(from, 0);
    for (const auto& [to, of] : out) ++ways_in[to];
  }
  std::vector<lock_number> next;
  for (const auto& [lock, ways] : ways_in) {
    if (ways == 0) next.push_back(lock);
  }
  while (!next.empty()) {
    const auto out = all.find(next.back());
    next.pop_back();
    if (out == all.end()) continue;
    for (const auto& [to, of] : out->second) {
      if (--ways_in[to] == 0) next.push_back(to);
    }
    all.erase(out);
  }
}

// Returns the shortest cycle from `from` back to it; empty if there is none.
std::vector<lock_number> shortest_circle(const graph& all, lock_number from) {
  std::map<lock_number, lock_number> before;
  std::deque<lock_number> next = {from};
  while (!next.empty()) {
    const lock_number at = next.front();
    next.pop_front();
    const auto out = all.find(at);
    if (out == all.end()) continue;
    for (const auto& [to, of] : out->second) {
      if (to == from) {
        std::vector<lock_number> way = {at};
        while (way.back() != from) way.push_back(before.at(way.back()));
        std::reverse(way.begin(), way.end());
        return way;
      }
      if (before.try_emplace(to, at).second) next.push_back(to);
    }
  }
  return {};
}

class alike_finder {
 public:
  explicit alike_finder(const format::recording& in) : in_(in), own_(in) {}

  using lock_kind = std::pair<format::lock_type, std::vector<std::uint64_t>>;  // type and inner frames of the first use
  using step_kind = std::tuple<lock_kind, lock_kind, std::vector<std::uint64_t>, std::vector<std::uint64_t>>;
  using circle_kind = std::vector<step_kind>;

  // Returns equal values for cycles that differ only in the locks of a kind, or in the lock where they begin.
  circle_kind kind_of(const inversion& of) {
    circle_kind kinds;
    for (const order_step& each : of.steps) {
      kinds.push_back({kind_of(each.holds), kind_of(each.takes), own_.inner_frames(each.held_site),
                       own_.inner_frames(each.taken_site)});
    }
    std::rotate(kinds.begin(), std::min_element(kinds.begin(), kinds.end()), kinds.end());
    return kinds;
  }

 private:
  lock_kind kind_of(lock_number lock) { return {in_.locks[lock].type, own_.inner_frames(in_.locks[lock].site)}; }

  const format::recording& in_;
  own_code own_;
};

std::uint64_t rarest(const inversion& of) {
  return std::min_element(of.steps.begin(), of.steps.end(),
                          [](const auto& a, const auto& b) { return a.times < b.times; })
      ->times;
}

std::vector<inversion> inversions_in(const format::recording& in, graph all) {
  alike_finder alike(in);
  std::map<alike_finder::circle_kind, inversion> found;
  const auto add = [&](const std::vector<lock_number>& locks) {
    const std::optional<inversion> made = circle(all, locks);
    if (!made || found.size() == most_inversions) return;
    const auto [place, is_new] = found.try_emplace(alike.kind_of(*made), *made);
    if (is_new) return;
    ++place->second.alike;
    place->second.by_one_thread = place->second.by_one_thread && made->by_one_thread;
  };
  std::vector<std::pair<lock_number, lock_number>> both;
  for (const auto& [from, out] : all) {
    for (const auto& [to, of] : out) {
      const auto back = all.find(to);
      if (from < to && back != all.end() && back->second.contains(from)) both.emplace_back(from, to);
    }
  }
  for (const auto& [from, to] : both) add({from, to});
  // Longer cycles come from the remaining edges: the shortest one for each lock.
  for (const auto& [from, to] : both) {
    all[from].erase(to);
    all[to].erase(from);
  }
  prune(all);
  std::vector<lock_number> locks;
  for (const auto& [from, out] : all) {
    if (locks.size() < most_inversions) locks.push_back(from);
  }
  for (const lock_number each : locks) {
    const std::vector<lock_number> way = shortest_circle(all, each);
    if (way.empty()) continue;
    add(way);
    all[way.front()].erase(way[1]);  // a cycle is reported only once
  }
  std::vector<inversion> made;
  for (auto& [kind, each] : found) made.push_back(std::move(each));
  std::stable_sort(made.begin(), made.end(), [](const inversion& a, const inversion& b) {
    return std::tuple(a.by_one_thread, a.steps.size(), rarest(b)) <
           std::tuple(b.by_one_thread, b.steps.size(), rarest(a));
  });
  return made;
}

std::vector<wait_chain> chains_in(const format::recording& in) {
  struct next_wait {
    std::uint32_t lock = 0, site = 0;
    std::uint64_t waits = 0, ticks = 0;
  };
  // `then`: the longest wait of a thread while it held a lock from a site. `holders`: for a waiting thread its main
  // holder.
  std::map<std::tuple<std::uint32_t, std::uint32_t, lock_number>, next_wait> then;
  std::map<std::tuple<std::uint32_t, std::uint32_t, lock_number>, std::pair<format::wait_key, std::uint64_t>> holders;
  for (const auto& [key, value] : in.orders) {
    if (value[format::order_ticks] == 0 || key.lock == 0 || key.held_lock == 0) continue;
    next_wait& to = then[{key.thread, key.held_site, key.held_lock}];
    if (value[format::order_ticks] > to.ticks)
      to = {key.lock, key.site, value[format::order_waits], value[format::order_ticks]};
  }
  for (const auto& [key, value] : in.waits) {
    auto& to = holders[{key.thread, key.site, key.lock}];
    if (value[format::waited_ticks] >= to.second) to = {key, value[format::waited_ticks]};
  }
  const auto ns = [&](std::uint64_t ticks) { return format::nanoseconds(in.clock, ticks); };
  std::vector<wait_chain> made;
  std::map<std::vector<std::tuple<lock_number, std::uint32_t, std::uint32_t>>, std::size_t> known;
  for (const auto& [key, value] : in.waits) {
    wait_chain chain;
    chain.nanoseconds = ns(value[format::waited_ticks]);
    chain.links.push_back(
        {key.lock, key.thread, key.site, key.holder, key.holder_site, value[format::waits], chain.nanoseconds});
    while (chain.links.size() < most_chain_links) {
      const chain_link& last = chain.links.back();
      const auto next = then.find({last.holder, last.holder_site, last.lock});
      if (next == then.end()) break;
      const auto holder = holders.find({last.holder, next->second.site, next->second.lock});
      if (holder == holders.end()) break;
      const bool is_known = std::any_of(chain.links.begin(), chain.links.end(),
                                        [&](const chain_link& each) { return each.lock == next->second.lock; });
      if (is_known) break;
      chain.links.push_back({next->second.lock, last.holder, next->second.site, holder->second.first.holder,
                             holder->second.first.holder_site, next->second.waits, ns(next->second.ticks)});
      chain.nanoseconds = std::min(chain.nanoseconds, chain.links.back().nanoseconds);
    }
    if (chain.links.size() < 2 || chain.nanoseconds == 0) continue;
    // Chains of several threads at the same sites become one, with the sum of their times.
    std::vector<std::tuple<lock_number, std::uint32_t, std::uint32_t>> kind;
    for (const chain_link& each : chain.links) kind.emplace_back(each.lock, each.site, each.holder_site);
    const auto [place, is_new] = known.try_emplace(std::move(kind), made.size());
    if (is_new) {
      made.push_back(std::move(chain));
    } else {
      made[place->second].nanoseconds += chain.nanoseconds;
    }
  }
  std::stable_sort(made.begin(), made.end(),
                   [](const wait_chain& a, const wait_chain& b) { return a.nanoseconds > b.nanoseconds; });
  return made;
}

}  // namespace

order_findings find_orders(const format::recording& in) {
  order_findings all;
  all.inversions = inversions_in(in, edges_of(in, all));
  all.chains = chains_in(in);
  return all;
}

}  // namespace tarn::analyse
