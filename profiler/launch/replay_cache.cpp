#include "profiler/launch/replay_cache.hpp"

#define XXH_INLINE_ALL  // nothing to link
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "profiler/launch/machine_cache.hpp"

namespace tarn::command {
namespace {

using nlohmann::json;

constexpr const char* file_name = "replays.json";

std::uint64_t key_of(const analyse::replay_job& job) {
  const std::string bytes = analyse::encode({job});
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

replay_cache::replay_cache() {
  try {
    const json stored = read_cached(file_name);
    if (stored.is_null()) return;
    const analyse::cost_facts facts{stored.at("machine"), stored.at("library"), stored.at("tarn"), {}};
    if (!facts.is_comparable(facts_of_today())) return;
    const std::vector<std::uint64_t> keys = stored.at("keys");
    const std::vector<analyse::replayed> results = analyse::replayed_from(stored.at("results").dump());
    for (std::size_t index = 0; index < std::min(keys.size(), results.size()); ++index) {
      index_by_key_[keys[index]] = entries_.size();
      entries_.push_back({keys[index], results[index]});
    }
  } catch (const json::exception&) {  // of another version: all is replayed again
  }
}

std::optional<analyse::replayed> replay_cache::find(const analyse::replay_job& job) const {
  const auto match = index_by_key_.find(key_of(job));
  if (match == index_by_key_.end()) return std::nullopt;
  return entries_[match->second].result;
}

void replay_cache::add(const analyse::replay_job& job, const analyse::replayed& result) {
  const std::uint64_t key = key_of(job);
  index_by_key_[key] = entries_.size();
  entries_.push_back({key, result});
}

void replay_cache::write() const {
  const std::size_t first = entries_.size() - std::min(entries_.size(), max_results);
  std::vector<std::uint64_t> keys;
  std::vector<analyse::replayed> results;
  for (std::size_t index = first; index < entries_.size(); ++index) {
    keys.push_back(entries_[index].key);
    results.push_back(entries_[index].result);
  }
  const analyse::cost_facts facts = facts_of_today();
  cache(file_name, {{"machine", facts.machine},
                    {"library", facts.library},
                    {"tarn", facts.tarn},
                    {"keys", keys},
                    {"results", json::parse(analyse::json_of(results))}});
}

void replay_cache::forget() {
  if (!read_cached(file_name).is_null()) cache(file_name, json::object());
}

}  // namespace tarn::command
