#include "profiler/findings/waits/lock_order.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "profiler/findings/waits/awaited_locks.hpp"
#include "profiler/findings/waits/stacks.hpp"

namespace tarn::analyse {
namespace {

using lock_number = std::uint32_t;

constexpr std::size_t max_chain_links = 8;
constexpr std::size_t max_inversions = 1000;

// All orders in which one lock was taken while another one was held.
struct edge {
  std::map<std::pair<std::uint32_t, std::uint32_t>, order_step>
      steps;                      // by the sites where the one was acquired and the other is taken
  std::set<std::uint32_t> gates;  // locks held around it; 0 if it also happened without one
};
using graph = std::map<lock_number, std::map<lock_number, edge>>;

std::set<lock_number> read_only_locks(const format::recording& recording) {
  std::set<lock_number> shared, exclusive;
  for (const auto& [key, value] : recording.acquisitions)
    (value[format::reader_acquisitions] == value[format::acquisitions] ? shared : exclusive).insert(key.lock);
  std::erase_if(shared, [&](lock_number lock) { return exclusive.contains(lock); });
  return shared;
}

graph edges_of(const format::recording& recording, order_findings& findings) {
  const std::set<lock_number> readers = read_only_locks(recording);
  graph edges;
  for (const auto& [key, value] : recording.orders) {
    if (value[format::orders] == 0) continue;
    if (key.lock == 0 || key.held_lock == 0) {
      findings.unattributed += value[format::orders];
      continue;
    }
    if (key.lock == key.held_lock || readers.contains(key.lock) || readers.contains(key.held_lock)) continue;
    edge& edge_to_lock = edges[key.held_lock][key.lock];
    edge_to_lock.gates.insert(key.gate);
    order_step& step = edge_to_lock.steps[{key.held_site, key.site}];
    step.holds = key.held_lock;
    step.takes = key.lock;
    step.held_site = key.held_site;
    step.taken_site = key.site;
    step.times += value[format::orders];
    const auto position = std::lower_bound(step.threads.begin(), step.threads.end(), key.thread);
    if (position == step.threads.end() || *position != key.thread) step.threads.insert(position, key.thread);
  }
  return edges;
}

// Combines all steps into the most frequent one, with the threads and the count of all.
order_step main_step(const edge& edge) {
  const auto most_frequent = std::max_element(edge.steps.begin(), edge.steps.end(), [](const auto& a, const auto& b) {
    return a.second.times < b.second.times;
  });
  order_step combined = most_frequent->second;
  std::set<std::uint32_t> threads;
  combined.times = 0;
  for (const auto& [sites, step] : edge.steps) {
    combined.times += step.times;
    threads.insert(step.threads.begin(), step.threads.end());
  }
  combined.threads.assign(threads.begin(), threads.end());
  return combined;
}

// Returns the cycle through these locks; nothing if one lock was held around all of it each time.
std::optional<inversion> cycle(const graph& edges, const std::vector<lock_number>& locks) {
  inversion result;
  std::set<std::uint32_t> threads, gates;
  bool is_guarded = true;
  for (std::size_t index = 0; index < locks.size(); ++index) {
    const edge& edge = edges.at(locks[index]).at(locks[(index + 1) % locks.size()]);
    result.steps.push_back(main_step(edge));
    threads.insert(result.steps.back().threads.begin(), result.steps.back().threads.end());
    gates.insert(edge.gates.begin(), edge.gates.end());
    is_guarded = is_guarded && edge.gates.size() == 1;
  }
  if (is_guarded && gates.size() == 1 && *gates.begin() != 0) return std::nullopt;
  result.has_one_thread = threads.size() == 1;
  return result;
}

// Removes locks without an incoming edge until there are none: they are in no cycle.
void prune(graph& edges) {
  std::map<lock_number, std::size_t> ways_in;
  for (const auto& [held_lock, out] : edges) {
    ways_in.try_emplace(held_lock, 0);
    for (const auto& [taken_lock, edge_taken] : out) ++ways_in[taken_lock];
  }
  std::vector<lock_number> next;
  for (const auto& [lock, ways] : ways_in) {
    if (ways == 0) next.push_back(lock);
  }
  while (!next.empty()) {
    const auto out = edges.find(next.back());
    next.pop_back();
    if (out == edges.end()) continue;
    for (const auto& [taken_lock, edge_taken] : out->second) {
      if (--ways_in[taken_lock] == 0) next.push_back(taken_lock);
    }
    edges.erase(out);
  }
}

// Returns the shortest cycle from `start` back to it; empty if there is none.
std::vector<lock_number> shortest_cycle(const graph& edges, lock_number start) {
  std::map<lock_number, lock_number> before;
  std::deque<lock_number> next = {start};
  while (!next.empty()) {
    const lock_number lock = next.front();
    next.pop_front();
    const auto out = edges.find(lock);
    if (out == edges.end()) continue;
    for (const auto& [taken_lock, edge_taken] : out->second) {
      if (taken_lock == start) {
        std::vector<lock_number> way = {lock};
        while (way.back() != start) way.push_back(before.at(way.back()));
        std::reverse(way.begin(), way.end());
        return way;
      }
      if (before.try_emplace(taken_lock, lock).second) next.push_back(taken_lock);
    }
  }
  return {};
}

class cycle_classifier {
 public:
  explicit cycle_classifier(const format::recording& recording) : recording_(recording), own_code_(recording) {}

  using lock_kind = std::pair<format::lock_type, std::vector<std::uint64_t>>;  // type and inner frames of the first use
  using step_kind = std::tuple<lock_kind, lock_kind, std::vector<std::uint64_t>, std::vector<std::uint64_t>>;
  using cycle_kind = std::vector<step_kind>;

  // Returns equal values for cycles that differ only in the locks of a kind, or in the lock where they begin.
  cycle_kind kind_of(const inversion& inversion) {
    cycle_kind kinds;
    for (const order_step& step : inversion.steps) {
      kinds.push_back({kind_of(step.holds), kind_of(step.takes), own_code_.inner_frames(step.held_site),
                       own_code_.inner_frames(step.taken_site)});
    }
    std::rotate(kinds.begin(), std::min_element(kinds.begin(), kinds.end()), kinds.end());
    return kinds;
  }

 private:
  lock_kind kind_of(lock_number lock) {
    return {recording_.locks[lock].type, own_code_.inner_frames(recording_.locks[lock].site)};
  }

  const format::recording& recording_;
  own_code own_code_;
};

std::uint64_t times_of_rarest_step(const inversion& inversion) {
  return std::min_element(inversion.steps.begin(), inversion.steps.end(),
                          [](const auto& a, const auto& b) { return a.times < b.times; })
      ->times;
}

bool holds_at_end(const format::recording& recording, std::uint32_t thread, lock_number lock) {
  return std::any_of(recording.open_uses.begin(), recording.open_uses.end(), [&](const auto& use) {
    return !use.first.is_wait && use.first.thread == thread && use.first.lock == lock;
  });
}

std::vector<inversion> inversions_in(const format::recording& recording, graph edges) {
  cycle_classifier classifier(recording);
  const auto is_stuck = [&](const order_step& step) {
    return std::any_of(recording.open_uses.begin(), recording.open_uses.end(), [&](const auto& use) {
      return use.first.is_wait && use.first.lock == step.takes && holds_at_end(recording, use.first.thread, step.holds);
    });
  };
  std::map<cycle_classifier::cycle_kind, inversion> inversions;
  const auto add = [&](const std::vector<lock_number>& locks) {
    std::optional<inversion> found_cycle = cycle(edges, locks);
    if (!found_cycle || inversions.size() == max_inversions) return;
    found_cycle->is_deadlock = std::all_of(found_cycle->steps.begin(), found_cycle->steps.end(), is_stuck);
    const auto [position, is_new] = inversions.try_emplace(classifier.kind_of(*found_cycle), *found_cycle);
    if (is_new) return;
    if (found_cycle->is_deadlock && !position->second.is_deadlock) {
      position->second.is_deadlock = true;
      position->second.steps = found_cycle->steps;
    }
    ++position->second.similar_cycles;
    position->second.has_one_thread = position->second.has_one_thread && found_cycle->has_one_thread;
  };
  std::vector<std::pair<lock_number, lock_number>> mutual;
  for (const auto& [held_lock, out] : edges) {
    for (const auto& [taken_lock, edge_taken] : out) {
      const auto opposite = edges.find(taken_lock);
      if (held_lock < taken_lock && opposite != edges.end() && opposite->second.contains(held_lock))
        mutual.emplace_back(held_lock, taken_lock);
    }
  }
  for (const auto& [held_lock, taken_lock] : mutual) add({held_lock, taken_lock});
  // Longer cycles come from the remaining edges: the shortest one for each lock.
  for (const auto& [held_lock, taken_lock] : mutual) {
    edges[held_lock].erase(taken_lock);
    edges[taken_lock].erase(held_lock);
  }
  prune(edges);
  std::vector<lock_number> locks;
  for (const auto& [held_lock, out] : edges) {
    if (locks.size() < max_inversions) locks.push_back(held_lock);
  }
  for (const lock_number lock : locks) {
    const std::vector<lock_number> shortest = shortest_cycle(edges, lock);
    if (shortest.empty()) continue;
    add(shortest);
    edges[shortest.front()].erase(shortest[1]);  // a cycle is reported only once
  }
  std::vector<inversion> sorted;
  for (auto& [kind, inversion] : inversions) sorted.push_back(std::move(inversion));
  std::stable_sort(sorted.begin(), sorted.end(), [](const inversion& a, const inversion& b) {
    return std::tuple(!a.is_deadlock, a.has_one_thread, a.steps.size(), times_of_rarest_step(b)) <
           std::tuple(!b.is_deadlock, b.has_one_thread, b.steps.size(), times_of_rarest_step(a));
  });
  return sorted;
}

std::vector<wait_chain> chains_in(const format::recording& recording) {
  struct next_wait {
    std::uint32_t lock = 0, site = 0;
    std::uint64_t waits = 0, ticks = 0;
  };
  // `next_waits`: the longest wait of a thread while it held a lock from a site. `holders`: for a waiting thread its
  // main holder.
  const awaited_locks awaited(recording);
  std::map<std::tuple<std::uint32_t, std::uint32_t, lock_number>, next_wait> next_waits;
  std::map<std::tuple<std::uint32_t, std::uint32_t, lock_number>, std::pair<format::wait_key, std::uint64_t>> holders;
  for (const auto& [key, value] : recording.orders) {
    if (value[format::order_ticks] == 0 || key.lock == 0 || key.held_lock == 0 || awaited.has(key.lock)) continue;
    next_wait& longest = next_waits[{key.thread, key.held_site, key.held_lock}];
    if (value[format::order_ticks] > longest.ticks)
      longest = {key.lock, key.site, value[format::order_waits], value[format::order_ticks]};
  }
  for (const auto& [key, value] : recording.waits) {
    auto& longest = holders[{key.thread, key.site, key.lock}];
    if (value[format::waited_ticks] >= longest.second) longest = {key, value[format::waited_ticks]};
  }
  const auto ns = [&](std::uint64_t ticks) { return format::nanoseconds(recording.clock, ticks); };
  std::vector<wait_chain> chains;
  std::map<std::vector<std::tuple<lock_number, std::uint32_t, std::uint32_t>>, std::size_t> index_by_kind;
  for (const auto& [key, value] : recording.waits) {
    if (awaited.has(key.lock)) continue;
    wait_chain chain;
    chain.nanoseconds = ns(value[format::waited_ticks]);
    chain.links.push_back(
        {key.lock, key.thread, key.site, key.holder, key.holder_site, value[format::waits], chain.nanoseconds});
    while (chain.links.size() < max_chain_links) {
      const chain_link& last = chain.links.back();
      const auto next = next_waits.find({last.holder, last.holder_site, last.lock});
      if (next == next_waits.end()) break;
      const auto holder = holders.find({last.holder, next->second.site, next->second.lock});
      if (holder == holders.end()) break;
      const bool is_known = std::any_of(chain.links.begin(), chain.links.end(),
                                        [&](const chain_link& link) { return link.lock == next->second.lock; });
      if (is_known) break;
      chain.links.push_back({next->second.lock, last.holder, next->second.site, holder->second.first.holder,
                             holder->second.first.holder_site, next->second.waits, ns(next->second.ticks)});
      chain.nanoseconds = std::min(chain.nanoseconds, chain.links.back().nanoseconds);
    }
    if (chain.links.size() < 2 || chain.nanoseconds == 0) continue;
    // Chains of several threads at the same sites become one, with the sum of their times.
    std::vector<std::tuple<lock_number, std::uint32_t, std::uint32_t>> kind;
    for (const chain_link& link : chain.links) kind.emplace_back(link.lock, link.site, link.holder_site);
    const auto [position, is_new] = index_by_kind.try_emplace(std::move(kind), chains.size());
    if (is_new) {
      chains.push_back(std::move(chain));
    } else {
      chains[position->second].nanoseconds += chain.nanoseconds;
    }
  }
  std::stable_sort(chains.begin(), chains.end(),
                   [](const wait_chain& a, const wait_chain& b) { return a.nanoseconds > b.nanoseconds; });
  return chains;
}

}  // namespace

order_findings find_orders(const format::recording& recording) {
  order_findings findings;
  findings.inversions = inversions_in(recording, edges_of(recording, findings));
  findings.chains = chains_in(recording);
  return findings;
}

}  // namespace tarn::analyse
