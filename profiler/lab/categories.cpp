#include <fmt/format.h>

#include "profiler/lab/experiments.hpp"
#include "profiler/lab/result.hpp"

namespace tarn::lab {
namespace {

verdict judge(const result& result) {
  const std::vector<double> mutexes = result.ratios(0, "a mutex each", "categories"),
                            shared = result.ratios(0, "reader-writer locks", "categories");
  if (mutexes.empty() || shared.empty()) return {claim_outcome::unknown, "The categories were not measured."};
  const double gain = geometric_mean(mutexes);
  verdict judgement{gain >= 1.5 ? claim_outcome::yes : gain >= 1.1 ? claim_outcome::partly : claim_outcome::no, {}};
  judgement.text = fmt::format(
      "With a mutex round each object a request takes {} the time that it takes by categories, with reader-writer "
      "locks {}. ",
      times_text(mutexes), times_text(shared));
  const std::uint64_t first_x = result.axes[0].front();
  const auto with_mutexes = result.count(0, "a mutex each", first_x, "locks"),
             with_categories = result.count(0, "categories", first_x, "locks");
  if (with_mutexes && with_categories)
    judgement.text += fmt::format("Locks for a request: {:.0f} and {:.0f}. ", *with_mutexes, *with_categories);
  const std::vector<double> reloadable = result.ratios(0, "categories", "reloadable");
  if (!reloadable.empty()) {
    judgement.text +=
        fmt::format("A configuration that can be replaced while it serves takes {} times the time of one that cannot.",
                    two_digits(1 / geometric_mean(reloadable)));
  }
  return judgement;
}

}  // namespace

experiment categories() {
  experiment definition;
  definition.name = definition.program = "categories";
  definition.source = "Locking Categories, in: P. Sommerlad, Some Performance Patterns, EuroPLoP 2002";
  definition.claim =
      "Objects classed as transient, shared and read-only shared need fewer locks than objects with a lock each.";
  definition.claimed =
      "An application server has three kinds of objects. The session manager is shared and needs a lock; the "
      "configuration is read-only shared, made before the workers start; a reply that grows by appends is transient, "
      "of one thread and one request. Only the first needs a lock. The text gives no figures.";
  definition.why =
      "The requests read three settings, append forty pieces to a reply, and touch one session. An uncontended lock "
      "costs 10 to 20 ns, so that some fifty of them are most of such a request; a contended one costs more, and a "
      "reader-writer lock is written by each reader. What is read-only or of one thread is reached without. Two "
      "threads on two cores meet at the one lock that is left for a small part of the time only.";
  definition.unit = "request";
  definition.parameters = {{"requests", "in all", {100'000}, {10'000}, 1, 100'000'000},
                           {"pieces", "appended to a reply", {40}, {40}, 0, 100'000}};
  definition.forms = {{"a mutex each", "mutexes", role::original},
                      {"reader-writer locks", "reader-writer-locks", role::original},
                      {"categories", "categories", role::ours},
                      {"reloadable", "categories-reloadable", role::ours}};
  sweep threads;
  threads.name = "threads";
  threads.title = "a server's requests by more and more threads";
  threads.x_label = "threads";
  threads.y_label = "ns a request, wall time of all";
  threads.axis = {"threads", "workers", {1, 2, 4, 16}, {1, 2, 4}, 1, 256, true};
  threads.ratios = {{"mutexes / categories", "a mutex each", "categories"},
                    {"rw / categories", "reader-writer locks", "categories"}};
  definition.sweeps = {threads};
  definition.counts = {"locks"};
  definition.judge = judge;
  return definition;
}

}  // namespace tarn::lab
