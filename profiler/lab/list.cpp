#include <fmt/format.h>

#include "profiler/lab/experiments.hpp"
#include "profiler/lab/result.hpp"

namespace tarn::lab {
namespace {

verdict judge(const result& result) {
  const std::vector<double> ratios = result.ratios(0, "glibc", "class pool");
  const double mean = geometric_mean(ratios);
  if (ratios.empty()) return {claim_outcome::unknown, "Neither malloc nor the class pool was measured."};
  const std::vector<double> pooled = result.ratios(0, "class pool", "pooled"),
                            peers = result.ratios(0, best_other, "pooled"),
                            drop = result.ratios(0, best_other, "tarn drop-in");
  verdict judgement{mean >= 3 ? claim_outcome::yes : mean >= 1.2 ? claim_outcome::partly : claim_outcome::no, {}};
  judgement.text = fmt::format(
      "The original's pools were 3.8 to 8.4 times faster than its malloc; the same pool is {} faster than today's "
      "glibc (on the mean {}).",
      times_text(ratios), two_digits(mean));
  const double behind = geometric_mean(peers);
  if (!pooled.empty()) {
    const double pooled_ratio = geometric_mean(pooled);
    judgement.text +=
        fmt::format(" Tarn's pooled, which any thread may free into, takes {} times the class pool's time",
                    two_digits(1 / pooled_ratio));
    judgement.text += fmt::format(" and {} times that of the fastest peer at each N.", two_digits(1 / behind));
  }
  if (!drop.empty()) {
    judgement.text +=
        fmt::format(" The drop-in, without a change to the program, takes {} times that of the fastest malloc or pool.",
                    two_digits(1 / geometric_mean(drop)));
  }
  judgement.text += result.slowdown_text(0, "pooled");
  return judgement;
}

}  // namespace

experiment list_experiment() {
  experiment definition;
  definition.name = definition.program = "list";
  definition.source = "Pool(3C++), UnixWare 7 / Ninth Edition Unix";
  definition.claim = "A pool for each class builds and deletes a list 3.8 to 8.4 times faster than malloc.";
  definition.claimed =
      "The manual builds a linked list of N nodes and deletes it again, with pools and without, on a VAX 8550 and on a "
      "MicroVAX: pools are 3.8 to 4.6 and 6.4 to 8.4 times faster. The free list's links live in the free elements, "
      "and both calls are inline.";
  definition.why =
      "malloc of those days searched a list of all blocks. Today each has a cache of free blocks for each size and "
      "thread, so what is left to gain is the call, the look-up of the size and the words around each block: glibc's "
      "cache holds seven blocks of a size, beyond which its lists and their merging show; the others are near the "
      "pool. A list in the free blocks must read each block that it hands out. An array of addresses need not, which "
      "is why Tarn's forms keep up with a pool that serves one thread only.";
  definition.unit = "node";
  definition.parameters = {{"total", "nodes that are made in all", {2'000'000}, {500'000}, 1, 1'000'000'000}};
  definition.forms = mallocs();
  definition.forms.insert(definition.forms.begin() + 6,
                          {{"class pool", "class-pool", role::original},
                           {"Boost.Pool", "boost-pool", role::peer, {}, "libboost1.81-dev"},
                           {"foonathan", "foonathan-pool", role::peer, {}, "libfoonathan-memory-dev"},
                           {"std::pmr pool", "pmr-pool", role::peer},
                           {"pmr monotonic", "monotonic", role::peer}});
  definition.forms.insert(
      definition.forms.end(),
      {{"pooled", "pooled", role::ours}, {"tarn::pool", "pool", role::ours}, {"tarn::arena", "arena", role::ours}});
  sweep nodes;
  nodes.name = "nodes";
  nodes.title = "a list of N nodes built, then deleted";
  nodes.x_label = "N, nodes";
  nodes.y_label = "ns a node";
  nodes.axis = {"nodes", "nodes of the list", {1, 10, 100, 1000, 10'000, 1'000'000}, {1, 100, 10'000}, 1, 10'000'000,
                true};
  nodes.originals = {
      {"VAX 8550, malloc", "ms a list", {{1, 0.03}, {10, 0.286}, {100, 2.86}, {1000, 30.1}, {10'000, 288}}},
      {"VAX 8550, pools", "ms a list", {{1, 0.008}, {10, 0.066}, {100, 0.65}, {1000, 6.6}, {10'000, 69}}},
      {"MicroVAX, malloc", "ms a list", {{1, 0.229}, {10, 2.31}, {100, 23.4}, {1000, 232}, {10'000, 2400}}},
      {"MicroVAX, pools", "ms a list", {{1, 0.036}, {10, 0.290}, {100, 2.85}, {1000, 28.5}, {10'000, 285}}}};
  for (std::size_t index = 0; index < 4; index += 2) {
    original_curve ratio{index == 0 ? "VAX 8550" : "MicroVAX", "times", {}};
    for (std::size_t point = 0; point < nodes.originals[index].points.size(); ++point) {
      const auto& [x, without] = nodes.originals[index].points[point];
      ratio.points.emplace_back(x, without / nodes.originals[index + 1].points[point].second);
    }
    nodes.original_ratios.push_back(ratio);
  }
  for (original_curve& curve : nodes.originals) {  // in the unit of ours: ns per node
    curve.unit = "ns a node";
    for (auto& [x, y] : curve.points) y *= 1e6 / x;
  }
  nodes.ratios = {{"glibc / class pool", "glibc", "class pool"},
                  {"glibc / pooled", "glibc", "pooled"},
                  {"best other / pooled", best_other, "pooled"},
                  {"glibc / drop-in", "glibc", "tarn drop-in"}};
  definition.sweeps = {nodes};
  definition.judge = judge;
  return definition;
}

}  // namespace tarn::lab
