#include <fmt/format.h>

#include "profiler/lab/experiments.hpp"
#include "profiler/lab/result.hpp"

namespace tarn::lab {
namespace {

constexpr std::size_t by_requests = 0, sharing = 1;

verdict judge(const result& result) {
  if (result.axes[by_requests].empty() || !result.find(by_requests, "m_string", result.axes[by_requests].front())) {
    return {claim_outcome::unknown, "The strings were not measured."};
  }
  const std::uint64_t requests = result.axes[by_requests].front();
  const auto uncached = result.count(by_requests, "m_string", requests, "allocations"),
             cached = result.count(by_requests, "m_string, cached", requests, "allocations"),
             bytes = result.count(by_requests, "m_string", requests, "bytes"),
             less_bytes = result.count(by_requests, "m_string, cached", requests, "bytes");
  const std::vector<double> faster = result.ratios(by_requests, "m_string", "m_string, cached"),
                            ours = result.ratios(by_requests, best_other, "recycle");
  verdict judgement;
  if (uncached && cached && bytes && less_bytes && *uncached > 0 && *bytes > 0) {
    const double share = *cached / *uncached, share_of_bytes = *less_bytes / *bytes;
    judgement.outcome = share <= 0.5 && share_of_bytes <= 0.7 ? claim_outcome::yes
                        : share <= 0.5                        ? claim_outcome::partly
                                                              : claim_outcome::no;
    judgement.text = fmt::format(
        "With the cache {:.0f} calls to malloc instead of {:.0f}, {} % (the original: 36 %), and {} % of the bytes "
        "(the original: 71 %). ",
        *cached, *uncached, two_digits(100 * share), two_digits(100 * share_of_bytes));
  } else {
    judgement.text = "Calls and bytes were not counted. ";
  }
  judgement.text += fmt::format("It is {} faster; tarn::recycle takes {} times the time of the fastest other. ",
                                times_text(faster), two_digits(1 / geometric_mean(ours)));
  if (!result.axes[sharing].empty()) {
    const std::uint64_t writes = result.axes[sharing].front();
    if (const auto cost = result.ratio(sharing, "blocks by turns", "a line each", writes)) {
      judgement.text +=
          fmt::format("Two threads' blocks on one cache line cost {} times the time of blocks on lines of their own",
                      two_digits(*cost));
      const auto shared = result.count(sharing, "tarn::heap each", writes, "on_common_lines");
      judgement.text +=
          shared ? fmt::format("; of a heap for each thread {:.0f} % stand so.", 100 * *shared) : std::string(".");
    }
  }
  return judgement;
}

}  // namespace

experiment m_string() {
  experiment definition;
  definition.name = definition.program = "m-string";
  definition.source = "Thread-local storage as an allocation cache (a student project's server)";
  definition.claim =
      "A cache of freed strings with their buffers, a thread each, halves the calls to malloc and saves 30 % of the "
      "bytes.";
  definition.claimed =
      "A server's string is an object and a buffer, short-lived and of nearly constant size. Each thread keeps a "
      "bounded array of freed ones with their buffers. valgrind counted start-up and five minutes with one client: "
      "560,687 allocations and 10,079,622 bytes without, 202,194 and 7,127,472 with the cache. The text also warns "
      "that blocks of two threads on one cache line let the caches fight.";
  definition.why =
      "The fixed work of this server has less beside its strings than the original's start-up had, so the cache saves "
      "more of it. What it saves is no longer the lock of a heap, as every malloc has a cache for each thread, but "
      "growing the buffer anew: realloc and the copies. std::string keeps 15 bytes within itself, and views into the "
      "request need no string at all where nothing outlives it. Heaps that give each thread pages of its own do not "
      "put two threads' blocks on one line; who allocates for others may.";
  definition.unit = "request; or one write of one thread";
  definition.forms = {
      {"m_string", "m-string", role::original},       {"m_string, cached", "m-string-cache", role::original},
      {"std::string", "std-string", role::peer},      {"recycle", "recycle", role::ours},
      {"views and tokens", "views", role::ours},      {"blocks by turns", "one-array", role::original},
      {"a line each", "lines-apart", role::original}, {"one allocates for both", "handed-out", role::peer}};
  std::vector<std::string> strings, blocks;
  for (const form& form : definition.forms) (strings.size() < 5 ? strings : blocks).push_back(form.name);
  for (form form : mallocs("own-malloc")) {
    if (form.name == "glibc tuned") continue;
    if (form.origin == role::original) form.origin = role::peer;
    blocks.push_back(form.name);
    definition.forms.push_back(form);
  }
  definition.forms.push_back({"tarn::heap each", "own-heap", role::ours});
  blocks.emplace_back("tarn::heap each");
  sweep requests;
  requests.name = "requests";
  requests.title = "a line protocol's server, its requests taken apart and answered";
  requests.x_label = "requests";
  requests.y_label = "ns a request";
  requests.axis = {"requests", "requests of the client", {100'000}, {10'000}, 1, 10'000'000, true};
  requests.only = strings;
  requests.is_counted = true;
  requests.ratios = {{"m_string / cached", "m_string", "m_string, cached"},
                     {"best other / recycle", best_other, "recycle"}};
  sweep writes;
  writes.name = "writes";
  writes.program = "false-sharing";
  writes.title = "two threads write, each to blocks of its own: who stands on whose cache line";
  writes.x_label = "writes";
  writes.y_label = "ns a write of one thread";
  writes.axis = {"writes", "of each thread", {20'000'000}, {2'000'000}, 1, 1'000'000'000, true};
  writes.only = blocks;
  writes.ratios = {{"by turns / a line each", "blocks by turns", "a line each"}};
  definition.sweeps = {requests, writes};
  definition.counted_by = counter::valgrind;
  definition.counts = {"allocations", "frees", "bytes", "on_common_lines"};
  definition.judge = judge;
  return definition;
}

}  // namespace tarn::lab
