// Collects data that only the HTML report contains: the counts of each call stack, by thread.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "profiler/advise/analysis.hpp"
#include "profiler/report/html/names.hpp"

namespace tarn::command {

class html_stacks {
 public:
  // Both must outlive it.
  html_stacks(analyse::analysis& analysis, html_names& names);

  // Adds to an element of `sites`, whose `stack` is a node: `weights`, triples of node, blocks and bytes, and
  // `by_thread`, pairs of thread and blocks. Removes `callers`, which the stacks imply.
  void add_to_site(nlohmann::json& site, const analyse::site& facts);
  // Returns the index among the elements, and the node, of a heap site of the recording.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> site_of(std::uint32_t site) const;
  // Adds to the elements of `syscalls` and `locks`, in the order of the findings: `weights`, of node, count, ns and
  // thread.
  void add_to_calls(nlohmann::json& calls);
  void add_to_locks(nlohmann::json& locks);
  // Adds to `cpu`, unless it is null: `weights`, of node, ns of CPU time, those in the kernel, and thread.
  void add_to_cpu(nlohmann::json& cpu);
  // Returns triples of the allocating thread, the freeing thread, and blocks.
  nlohmann::json crossings() const;
  // Returns the node of a site that calls, locks or runs.
  std::uint32_t node(std::uint32_t site);

 private:
  analyse::analysis& analysis_;
  const format::recording& recording_;
  html_names& names_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> blocks_;               // by site and thread
  std::unordered_map<std::uint32_t, const analyse::site*> heap_;                         // by number
  std::unordered_map<std::uint32_t, std::uint32_t> nodes_;                               // those of node(), by site
  std::unordered_map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> elements_;  // heap sites: site_of()
  std::uint32_t sites_ = 0;                                                              // number of elements so far
};

}  // namespace tarn::command
