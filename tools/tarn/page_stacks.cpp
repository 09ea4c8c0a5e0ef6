#include "tarn/page_stacks.hpp"

#include <tuple>
#include <utility>
#include <vector>

#include "analyse/stacks.hpp"

namespace tarn::command {

using format::counter;
using nlohmann::json;

page_stacks::page_stacks(analyse::analysis& of, page_names& names)
    : of_(of), in_(of.recorded()), names_(names), symbols_(in_) {
  for (const auto& [key, value] : in_.cells) {
    if (value[counter::blocks] != 0) blocks_[key.site][key.owner] += value[counter::blocks];
  }
  for (const analyse::site& each : of.heap().sites) heap_[each.number] = &each;
}

void page_stacks::add_to_site(json& site, const analyse::site& facts) {
  std::map<std::uint32_t, std::uint64_t> blocks;
  json weights = json::array(), pairs = json::array();
  const auto add = [&](std::uint32_t number) {
    const analyse::site& each = *heap_.at(number);
    const std::uint32_t node =
        number == facts.number ? site["stack"].get<std::uint32_t>() : names_.node(of_.stack(each));
    places_[number] = {sites_, node};
    weights.push_back(json{node, each.sums[counter::blocks], each.sums[counter::bytes]});
    for (const auto& [thread, count] : blocks_[number]) blocks[thread] += count;
  };
  add(facts.number);
  for (const std::uint32_t other : facts.others) add(other);
  for (const auto& [thread, count] : blocks) pairs.push_back(json{thread, count});
  site["weights"] = std::move(weights);
  site["by_thread"] = std::move(pairs);
  site.erase("callers");
  ++sites_;
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> page_stacks::site_of(std::uint32_t site) const {
  const auto found = places_.find(site);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

std::uint32_t page_stacks::node(std::uint32_t site) {
  const auto [at, is_new] = nodes_.try_emplace(site, 0);
  if (is_new) at->second = names_.node(analyse::stack_at(in_, site, symbols_));
  return at->second;
}

void page_stacks::add_to_calls(json& calls, const analyse::call_findings& found) {
  for (const auto& [key, value] : in_.calls) {
    const std::size_t place = found.places.at({key.site, key.number});
    calls[place]["weights"].push_back(json{node(key.site), value[format::calls],
                                           format::nanoseconds(in_.clock, value[format::call_ticks]), key.thread});
  }
}

void page_stacks::add_to_locks(json& locks, const analyse::lock_findings& found) {
  std::map<std::tuple<format::lock_type, std::uint32_t>, std::size_t> groups;
  for (std::size_t at = 0; at < found.groups.size(); ++at)
    groups[{found.groups[at].type, found.groups[at].first_site}] = at;
  std::map<std::tuple<std::size_t, std::uint32_t, std::uint32_t>, std::pair<std::uint64_t, std::uint64_t>> sums;
  for (const auto& [key, value] : in_.lockings) {
    const format::lock_facts& lock = in_.locks[key.lock];
    const auto group = groups.find({lock.type, lock.site});
    if (group == groups.end()) continue;
    auto& [taken, ticks] = sums[{group->second, key.site, key.thread}];
    taken += value[format::acquisitions];
    ticks += value[format::wait_ticks];
  }
  for (const auto& [key, sum] : sums) {
    const auto& [group, site, thread] = key;
    locks[group]["weights"].push_back(json{node(site), sum.first, format::nanoseconds(in_.clock, sum.second), thread});
  }
}

json page_stacks::crossings() const {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> frees;
  for (const auto& [key, value] : in_.cells) {
    if (value[counter::frees] != 0) frees[{key.owner, key.actor}] += value[counter::frees];
  }
  json all = json::array();
  for (const auto& [pair, count] : frees) all.push_back(json{pair.first, pair.second, count});
  return all;
}

}  // namespace tarn::command
