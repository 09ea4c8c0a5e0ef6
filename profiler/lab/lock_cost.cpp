#include <fmt/format.h>

#include "profiler/lab/experiments.hpp"
#include "profiler/lab/result.hpp"

namespace tarn::lab {
namespace {

constexpr std::size_t by_cores = 0, aba = 1;

std::string aba_text(const result& result) {
  if (result.axes[aba].empty()) return {};
  const std::uint64_t operations = result.axes[aba].front();
  const auto untagged = result.count(aba, "untagged list", operations, "given twice"),
             tagged = result.count(aba, "lock-free", operations, "given twice");
  if (!untagged || !tagged) return {};
  return fmt::format(" Without its tag the list gave {} blocks to two threads at once in {} operations, with it {}.",
                     *untagged, operations, *tagged);
}

verdict judge(const result& result) {
  const auto quarter = result.ratio(by_cores, "lock-free", "mutex", 2),
             one_core = result.ratio(by_cores, "mutex", "lock-free", 1);
  const auto mutex = result.count(by_cores, "mutex", 1, "lock cpu ns"),
             spin = result.count(by_cores, "spin", 1, "lock cpu ns");
  if (!quarter && !one_core) return {claim_outcome::unknown, "Neither two cores nor one were measured."};
  const bool is_faster = quarter ? *quarter <= 0.6 : *one_core > 1;
  const bool is_spin_slower = mutex && spin && *spin > 1.05 * *mutex;
  verdict judgement{is_faster && is_spin_slower   ? claim_outcome::yes
                    : is_faster || is_spin_slower ? claim_outcome::partly
                                                  : claim_outcome::no,
                    {}};
  if (quarter) {
    judgement.text = fmt::format(
        "On two cores the lock-free list takes {} times the mutex's time (the original: 0.27). ", two_digits(*quarter));
  }
  if (mutex && spin) {
    judgement.text += fmt::format(
        "On one core Lock and Unlock of a spin lock take {} times the mutex's CPU time (the original's Alloc and "
        "Free: 2.4). ",
        two_digits(*spin / *mutex));
  }
  const auto shared = result.ratio(by_cores, "mutex", "tarn::shared_pool", 2),
             best = result.ratio(by_cores, best_other, "tarn::shared_pool", 2),
             own_free = result.ratio(by_cores, best_other, "tarn::lock_free_pool", 2);
  if (shared && best) {
    judgement.text += fmt::format(
        "Magazines over one depot (tarn::shared_pool) are {} times faster than the mutex and take {} times the time of "
        "the fastest other",
        two_digits(*shared), two_digits(1 / *best));
    judgement.text += own_free ? fmt::format("; tarn::lock_free_pool takes {} times that.", two_digits(1 / *own_free))
                               : std::string(".");
  }
  judgement.text += result.slowdown_text(by_cores, "tarn::lock_free_pool") + aba_text(result);
  return judgement;
}

}  // namespace

experiment lock_cost() {
  experiment definition;
  definition.name = definition.program = "lock-cost";
  definition.source = "A lock-free memory pool, after D. Bulka, D. Mayhew and M. Michael (a note of about 2008)";
  definition.claim =
      "A lock-free pool allocates in a quarter of the time of one behind a mutex; spin locks lose badly on one core.";
  definition.claimed =
      "One thread allocates from a pool, another frees into it. On two cores Alloc and Free behind a mutex take 0.857 "
      "and 0.755, behind a spin lock 0.573 and 0.551, lock-free 0.243 and 0.200 (the note names no unit; it is likely "
      "the microsecond). On one core a spin lock takes twice the time and more. The lock-free list compares and swaps "
      "its head; a tag beside the head keeps the same block from being taken for the same list (the ABA problem), "
      "which the note's own code leaves half open.";
  definition.why =
      "What costs is that both threads write one cache line. A lock adds a second line and, where the threads meet, "
      "the sleep of one of them; the compare-and-swap is one write, to one line. An order of magnitude is gained only "
      "by not sharing: batches of blocks that each thread keeps, exchanged as a whole. On one core nobody can be met "
      "while he runs, and an uncontended lock costs some nanoseconds; but a thread that is interrupted while it holds "
      "a spin lock lets all others spin until their time slices end. Such interruptions are rare with short holds, so "
      "that it shows in the locks' own row (lock cpu ns) more than in Alloc and Free, whose threads wait for each "
      "other at the queue and give the processor away there.";
  definition.unit = "Alloc and its Free, in the calls";
  definition.parameters = {{"pairs", "blocks that are allocated and freed", {100'000}, {30'000}, 1, 100'000'000}};
  definition.forms = {{"mutex", "mutex", role::original},
                      {"spin", "spin", role::original},
                      {"lock-free", "lock-free", role::original},
                      {"Boost.Lockfree", "boost-free", role::peer, {}, "libboost1.81-dev"},
                      {"oneTBB fixed_pool", "tbb-fixed", role::peer, {}, "libtbb-dev"},
                      {"pmr synchronized", "pmr-sync", role::peer}};
  const std::vector<form> malloc_forms = mallocs();
  for (form form : malloc_forms) {
    if (form.name == "glibc") form.origin = role::peer;
    if (form.name != "glibc tuned") definition.forms.push_back(form);
  }
  definition.forms.insert(definition.forms.end(), {{"pool, mutex", "tarn-mutex", role::ours},
                                                   {"pool, spin_mutex", "tarn-spin", role::ours},
                                                   {"tarn::lock_free_pool", "tarn-lock-free", role::ours},
                                                   {"tarn::shared_pool", "tarn-shared", role::ours},
                                                   {"untagged list", "untagged", role::original}});
  sweep cores;
  cores.name = "cores";
  cores.title = "one thread allocates, one frees; on two cores and on one";
  cores.x_label = "cores";
  cores.y_label = "ns in Alloc and Free";
  cores.axis = {"cores", "processors that the two threads have", {2, 1}, {2, 1}, 1, 2, true};
  cores.is_of_cores = true;
  cores.parameters = {"pairs"};
  for (const form& form : definition.forms) {
    if (form.name != "untagged list") cores.only.push_back(form.name);
  }
  cores.ratios = {{"mutex / lock-free", "mutex", "lock-free"},
                  {"mutex / spin", "mutex", "spin"},
                  {"mutex / shared_pool", "mutex", "tarn::shared_pool"}};
  cores.original_ratios = {{"then: m. / lock-free", "times", {{2, (0.857 + 0.7549) / (0.2425 + 0.2002)}}},
                           {"then: mutex / spin",
                            "times",
                            {{2, (0.857 + 0.7549) / (0.5728 + 0.5512)}, {1, (1.176 + 1.506) / (2.443 + 3.96)}}}};
  cores.originals = {{"mutex, 2007", "ns", {{2, 1612}, {1, 2682}}},
                     {"spin, 2007", "ns", {{2, 1124}, {1, 6403}}},
                     {"lock-free, 2007", "ns", {{2, 443}}}};

  sweep storm;
  storm.name = "operations";
  storm.program = "aba";
  storm.title = "the ABA problem: four threads on one core, interrupted between reading and swapping";
  storm.x_label = "operations";
  storm.y_label = "ns an operation";
  storm.axis = {"operations", "takes and gives, in all", {1'000'000}, {100'000}, 1'000, 1'000'000'000, true};
  storm.parameters = std::vector<std::string>{};
  storm.only = {"untagged list", "lock-free", "Boost.Lockfree", "tarn::lock_free_pool"};
  definition.sweeps = {cores, storm};
  definition.counts = {"Lock ns", "Unlock ns", "Alloc ns", "Free ns", "lock cpu ns", "as told", "given twice"};
  definition.judge = judge;
  return definition;
}

}  // namespace tarn::lab
