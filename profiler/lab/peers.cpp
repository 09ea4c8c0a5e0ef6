#include <fmt/format.h>

#include <algorithm>

#include "profiler/lab/experiments.hpp"
#include "profiler/lab/result.hpp"

namespace tarn::lab {
namespace {

constexpr std::size_t heaps = 0, pools = 1;

// Says in how many rows the form is the fastest, and where it is slower than the fastest other one.
std::string standing(const result& result, std::size_t sweep, const std::string& form) {
  std::size_t first = 0, total = 0;
  std::string slower;
  for (const std::uint64_t x : result.axes[sweep]) {
    const auto ratio = result.ratio(sweep, form, best_other, x);
    if (!ratio) continue;
    ++total;
    if (*ratio <= 1) ++first;
    if (*ratio > 1.1)
      slower += fmt::format("{}{} ({})", slower.empty() ? "" : ", ", result.definition->sweeps[sweep].x_name(x),
                            two_digits(*ratio));
  }
  if (total == 0) return {};
  return fmt::format("{} is the fastest in {} of {} rows; slower than the fastest other by more than a tenth: {}. ",
                     form, first, total, slower.empty() ? "nowhere" : slower + " times");
}

verdict judge(const result& result) {
  const std::vector<double> drop = result.ratios(heaps, best_other, "tarn drop-in"),
                            pool = result.ratios(pools, best_other, "tarn::pool");
  if (drop.empty() && pool.empty()) return {claim_outcome::unknown, "Nothing was measured."};
  std::vector<double> peers = drop;
  peers.insert(peers.end(), pool.begin(), pool.end());
  const double worst = peers.empty() ? 0 : *std::min_element(peers.begin(), peers.end()), mean = geometric_mean(peers);
  return {worst >= 0.9  ? claim_outcome::yes
          : mean >= 0.8 ? claim_outcome::partly
                        : claim_outcome::no,
          standing(result, heaps, "tarn drop-in") + standing(result, heaps, "tarn::allocator") +
              standing(result, pools, "tarn::pool") + standing(result, pools, "tarn::shared_pool")};
}

}  // namespace

experiment peers() {
  experiment definition;
  definition.name = definition.program = "peers";
  definition.source =
      "of ours: rows of the bench (bench/README.md), with the peers at the settings that their makers advise";
  definition.claim =
      "Tarn's drop-in is as fast as the fastest malloc, and tarn::pool as the fastest pool, in every row.";
  definition.claimed =
      "The sources compared themselves with the malloc of their system alone. What else can be installed today is here "
      "side by side: each malloc by preload, each pool as its makers show it. "
      "The whole bench, with all sizes and thread counts, is ./dev bench.";
  definition.why =
      "All mallocs of today keep blocks for each thread and size, so that they differ in what a block of a warm size "
      "costs (a pop from an array or from a list through the blocks), in what many at once cost, and in "
      "what becomes of a block that another thread frees. Pools of one thread need no look-up of size or owner, and "
      "those of many pay either for a lock, for an atomic operation, or for caches of each thread.";
  definition.unit = "unit of the row (a pair, a block, a node, a step)";
  definition.parameters = {{"percent", "of the usual repetitions", {100}, {25}, 1, 10'000}};
  definition.forms = mallocs();
  for (form& form : definition.forms) form.origin = form.origin == role::original ? role::peer : form.origin;
  definition.forms.insert(definition.forms.end(),
                          {{"tarn::allocator", "allocator", role::ours},
                           {"class pool", "class-pool", role::original},
                           {"Boost.Pool", "boost-pool", role::peer, {}, "libboost1.81-dev"},
                           {"Boost.Lockfree", "boost-free", role::peer, {}, "libboost1.81-dev"},
                           {"foonathan", "foonathan-pool", role::peer, {}, "libfoonathan-memory-dev"},
                           {"oneTBB memory_pool", "tbb-pool", role::peer, {}, "libtbb-dev"},
                           {"std::pmr pool", "pmr-pool", role::peer},
                           {"pmr synchronized", "pmr-sync", role::peer},
                           {"pooled", "pooled", role::ours},
                           {"tarn::pool", "pool", role::ours},
                           {"tarn::shared_pool", "shared", role::ours},
                           {"tarn::lock_free_pool", "lock-free", role::ours}});
  const auto numbered = [](std::uint64_t last) {
    std::vector<std::uint64_t> counts;
    for (std::uint64_t count = 1; count <= last; ++count) counts.push_back(count);
    return counts;
  };
  sweep heap;
  heap.name = "heap";
  heap.title = "mallocs and heaps";
  heap.x_label = "row";
  heap.y_label = "ns a unit";
  heap.x_names = {"pair", "burst", "list", "slots", "server", "handoff", "request"};
  heap.axis = {"heap", "rows: pair, burst, list, slots, server, handoff, request", numbered(7), numbered(7), 1, 7,
               true};
  sweep pool = heap;
  pool.name = "pool";
  pool.title = "pools of blocks of one size, beside the mallocs";
  pool.x_names = {"pair", "pair-2t", "burst", "list", "scatter", "slots-64"};
  pool.axis = {
      "pool", "rows: pair, pair of two threads, burst, list, scatter, slots-64", numbered(6), numbered(6), 1, 6, true};
  for (const form& form : definition.forms) {
    if (form.word == "malloc" || form.word == "allocator") heap.only.push_back(form.name);
    if (form.word != "allocator") pool.only.push_back(form.name);
  }
  definition.sweeps = {heap, pool};
  definition.judge = judge;
  return definition;
}

}  // namespace tarn::lab
