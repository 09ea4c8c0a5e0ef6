#include "profiler/report/html/stacks.hpp"

#include <tuple>
#include <utility>

namespace tarn::command {

using format::counter;
using nlohmann::json;

html_stacks::html_stacks(analyse::analysis& analysis, html_names& names)
    : analysis_(analysis), recording_(analysis.recording()), names_(names) {
  for (const auto& [key, value] : recording_.cells) {
    if (value[counter::blocks] != 0) blocks_[key.site][key.owner] += value[counter::blocks];
  }
  for (const analyse::site& site : analysis.heap().sites) heap_[site.number] = &site;
}

void html_stacks::add_to_site(json& site, const analyse::site& facts) {
  std::map<std::uint32_t, std::uint64_t> blocks;
  json weights = json::array(), pairs = json::array();
  const auto add = [&](std::uint32_t number) {
    const analyse::site& site_facts = *heap_.at(number);
    const std::uint32_t node =
        number == facts.number ? site["stack"].get<std::uint32_t>() : names_.node(analysis_.stack(site_facts));
    elements_[number] = {sites_, node};
    weights.push_back(json{node, site_facts.sums[counter::blocks], site_facts.sums[counter::bytes],
                           site_facts.peak_bytes, site_facts.live_bytes});
    for (const auto& [thread, count] : blocks_[number]) blocks[thread] += count;
  };
  add(facts.number);
  for (const std::uint32_t merged_site : facts.merged_sites) add(merged_site);
  for (const auto& [thread, count] : blocks) pairs.push_back(json{thread, count});
  site["weights"] = std::move(weights);
  site["by_thread"] = std::move(pairs);
  site.erase("callers");
  ++sites_;
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> html_stacks::site_of(std::uint32_t site) const {
  const auto entry = elements_.find(site);
  return entry == elements_.end() ? std::nullopt : std::optional(entry->second);
}

std::uint32_t html_stacks::node(std::uint32_t site) {
  const auto [node, is_new] = nodes_.try_emplace(site, 0);
  if (is_new) node->second = names_.node(analysis_.stack(site));
  return node->second;
}

void html_stacks::add_to_calls(json& calls) {
  for (const auto& [key, value] : recording_.calls) {
    const std::size_t index = analysis_.calls().index_by_site.at({key.site, key.number});
    calls[index]["weights"].push_back(json{node(key.site), value[format::calls],
                                           format::nanoseconds(recording_.clock, value[format::call_ticks]),
                                           key.thread});
  }
}

void html_stacks::add_to_locks(json& locks) {
  const analyse::lock_findings& findings = analysis_.locks();
  std::map<std::tuple<format::lock_type, std::uint32_t>, std::size_t> groups;
  for (std::size_t index = 0; index < findings.groups.size(); ++index)
    groups[{findings.groups[index].type, findings.groups[index].first_site}] = index;
  std::map<std::tuple<std::size_t, std::uint32_t, std::uint32_t>, std::pair<std::uint64_t, std::uint64_t>> sums;
  for (const auto& [key, value] : recording_.acquisitions) {
    const format::lock_facts& lock = recording_.locks[key.lock];
    const auto group = groups.find({lock.type, lock.site});
    if (group == groups.end()) continue;
    auto& [acquisitions, ticks] = sums[{group->second, key.site, key.thread}];
    acquisitions += value[format::acquisitions];
    ticks += value[format::wait_ticks];
  }
  for (const auto& [key, sum] : sums) {
    const auto& [group, site, thread] = key;
    locks[group]["weights"].push_back(
        json{node(site), sum.first, format::nanoseconds(recording_.clock, sum.second), thread});
  }
}

void html_stacks::add_to_cpu(json& cpu) {
  if (!cpu.is_object()) return;
  const analyse::sampled_shares& shares = analysis_.cpu().shares;
  cpu["weights"] = json::array();
  for (const auto& [key, counts] : recording_.cpu.cells) {
    if (counts[format::cpu_samples] == 0 && counts[format::waiting_ns] == 0) continue;
    cpu["weights"].push_back(json{node(key.site), shares.ns_of(key.thread, counts[format::cpu_samples]),
                                  shares.ns_of(key.thread, counts[format::cpu_kernel]), key.thread,
                                  counts[format::waiting_ns]});
  }
}

json html_stacks::crossings() const {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> frees;
  for (const auto& [key, value] : recording_.cells) {
    if (value[counter::frees] != 0) frees[{key.owner, key.actor}] += value[counter::frees];
  }
  json triples = json::array();
  for (const auto& [pair, count] : frees) triples.push_back(json{pair.first, pair.second, count});
  return triples;
}

}  // namespace tarn::command
