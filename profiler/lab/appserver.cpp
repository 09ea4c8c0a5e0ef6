#include <fmt/format.h>

#include "profiler/lab/experiments.hpp"
#include "profiler/lab/result.hpp"

namespace tarn::lab {
namespace {

verdict judge(const result& result) {
  const std::vector<double> gains = result.ratios(0, "glibc", "tarn, arenas"),
                            drop = result.ratios(0, "glibc", "tarn drop-in"),
                            best = result.ratios(0, best_other, "tarn, arenas");
  if (gains.empty()) return {claim_outcome::unknown, "The server was not measured."};
  const double gain = geometric_mean(gains);
  verdict judgement{gain >= 1.2 ? claim_outcome::yes : gain >= 1.05 ? claim_outcome::partly : claim_outcome::no, {}};
  judgement.text = fmt::format(
      "On the process's heap of glibc a request takes {} the server's CPU time that it takes with an arena for "
      "each request. ",
      times_text(gains));
  if (!drop.empty())
    judgement.text += fmt::format("On glibc it takes {} that of the same program on the drop-in. ", times_text(drop));
  judgement.text +=
      fmt::format("Arenas take {} times the time of the fastest other malloc.", two_digits(1 / geometric_mean(best)));
  judgement.text += result.slowdown_text(0, "tarn, arenas") + result.slowdown_text(0, "tarn drop-in");
  return judgement;
}

}  // namespace

experiment appserver() {
  experiment definition;
  definition.name = definition.program = "appserver";
  definition.source = "the running example of: P. Sommerlad, Some Performance Patterns, EuroPLoP 2002";
  definition.claim =
      "A server whose transient objects come from a pool of the thread's own spends less time on each request.";
  definition.claimed =
      "The text's running example is an application server: sessions are shared, the configuration is read-only, and "
      "the reply buffer, which grows by appends, is transient and comes from a memory pool of its thread, which is "
      "made beforehand and sized so that the server's footprint is predictable. The text gives no figures.";
  definition.why =
      "The example server builds an HTML page of some rows for each request, under wrk with sixteen connections on "
      "loopback. Half of such a request is the kernel's work for the socket, which no allocator changes; of the rest, "
      "strings that grow by appends are most. An arena gives them memory by moving a pointer, and takes it back as a "
      "whole. On two processors wrk takes its share, too, so that CPU time tells more than requests in a second.";
  definition.unit = "request, of the server's CPU time";
  definition.parameters = {{"seconds", "of load for each measurement, after one to warm up", {1}, {1}, 1, 60}};
  definition.quick_rounds = 1;
  definition.forms = mallocs("global");
  definition.forms.push_back({"tarn, arenas", "tarn", role::ours});
  sweep rows;
  rows.name = "rows";
  rows.title = "pages of so many rows";
  rows.x_label = "rows";
  rows.y_label = "ns a request";
  rows.axis = {"rows", "of each page", {16, 256}, {256}, 1, 100'000, true};
  rows.ratios = {{"glibc / arenas", "glibc", "tarn, arenas"}, {"best other / arenas", best_other, "tarn, arenas"}};
  definition.sweeps = {rows};
  definition.counts = {"requests a second", "p99 us"};
  definition.judge = judge;
  return definition;
}

}  // namespace tarn::lab
