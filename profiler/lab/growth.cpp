#include <fmt/format.h>

#include <algorithm>

#include "profiler/lab/experiments.hpp"
#include "profiler/lab/result.hpp"

namespace tarn::lab {
namespace {

constexpr std::size_t by_threads = 0, by_live = 1, by_size = 2, by_owner = 3;

// The cost of a cache line that another processor has written: about that of lock-cost's compare-and-swap with two
// cores.
constexpr double line_ns = 50;
// The program's own work for each block.
constexpr double work_ns = 1000;

std::string exponent_text(const result& result, std::size_t sweep, const std::string& quantity) {
  const auto ours = result.exponent(sweep, "tarn drop-in");
  std::optional<double> lowest, highest;
  for (const form& form : result.forms) {
    const auto exponent = form.origin == role::ours ? std::nullopt : result.exponent(sweep, form.name);
    if (exponent)
      lowest = std::min(lowest.value_or(*exponent), *exponent),
      highest = std::max(highest.value_or(*exponent), *exponent);
  }
  if (!ours || !lowest) return {};
  return fmt::format("with {} to the power of {:.2f} (the others {:.2f} to {:.2f}), ", quantity, *ours, *lowest,
                     *highest);
}

// Estimates how many processors stay busy before the atomic operations of a form, if all are on lines that all
// processors share, fill the time.
std::string limit_text(const result& result, const std::string& form) {
  const auto atomics = result.count(by_owner, form, 1, "atomics"),
             own_atomics = result.count(by_owner, form, 0, "atomics");
  const auto ns =
      result.axes[by_threads].empty() ? std::nullopt : result.ns(by_threads, form, result.axes[by_threads].front());
  if (!atomics || !own_atomics || !ns) return {};
  const std::string limit =
      *atomics > 0 ? fmt::format("{:.0f}", std::max(1.0, (*ns + work_ns) / (*atomics * line_ns))) : "no limit";
  return fmt::format("{} {} and {} ({}), ", form, two_digits(*own_atomics), two_digits(*atomics), limit);
}

verdict judge(const result& result) {
  const auto threads = result.exponent(by_threads, "tarn drop-in"), size = result.exponent(by_size, "tarn drop-in");
  if (!threads || !size) return {claim_outcome::unknown, "There were too few values for an exponent."};
  verdict judgement{*threads < 0.25 && *size < 0.35 ? claim_outcome::yes
                    : *threads < 0.5                ? claim_outcome::partly
                                                    : claim_outcome::no,
                    {}};
  judgement.text = "The drop-in's time for a block grows " + exponent_text(result, by_threads, "threads") +
                   exponent_text(result, by_live, "live blocks") + exponent_text(result, by_size, "size");
  if (judgement.text.ends_with(", ")) judgement.text.replace(judgement.text.size() - 2, 2, ". ");
  std::string limits;
  for (const form& form : result.forms) {
    if (form.name != "glibc tuned") limits += limit_text(result, form.name);
  }
  if (!limits.empty()) {
    limits.replace(limits.size() - 2, 2, ".");
    judgement.text += fmt::format(
        "Atomic read-modify-writes for a block replaced, its own thread's and another's, and the processors that these "
        "allow a program which itself works 1,000 ns for each block: {}",
        limits);
  }
  return judgement;
}

}  // namespace

experiment growth() {
  experiment definition;
  definition.name = definition.program = "growth";
  definition.source = "of ours: what the sources measure on one machine, as it grows";
  definition.claim =
      "With a heap for each thread the time for a block does not grow with threads, nor much with blocks alive and "
      "their size.";
  definition.claimed =
      "The sources stop at the machines of their day: two processors, some threads, blocks of some kilobytes. Here "
      "time and memory of a block are followed over orders of magnitude, and each curve has an exponent, fitted by "
      "least squares to the logarithms: 0 does not grow, 1 is proportional.";
  definition.why =
      "Time grows with live blocks for everybody, as blocks and what describes them leave the caches; an exponent near "
      "0.3 is what misses alone give. Two processors cannot show what 64 would do, so what would limit them is "
      "counted: each instruction of a block replaced is looked at. The model: an atomic read-modify-write on a line "
      "that another processor wrote costs about 50 ns, and of those on one line only one can go on at a time. With k "
      "of them for a block that takes t ns, more than t / (50 k) processors wait for each other (with w ns of the "
      "program's own work for each block (t + w) / (50 k)), if all are on one line; those on lines of one's own (a "
      "lock that nobody else wants) cost their time but limit nobody. Blocks that another thread allocated are where "
      "the designs differ: each back alone, or many as one.";
  definition.unit = "block replaced, of one processor's time";
  definition.parameters = {{"steps", "blocks that are replaced, in all", {400'000}, {50'000}, 1, 100'000'000},
                           {"replaced", "blocks that are replaced instruction by instruction", {1000}, {300}, 1, 1000}};
  definition.forms = mallocs();
  definition.forms.push_back({"tarn::allocator", "allocator", role::ours});
  const std::vector<std::string> curves = {"steps"}, counts = {"replaced"};
  const auto axis = [&](const char* name, const char* title, const char* x_label, parameter values, numbers fixed) {
    sweep sweep;
    sweep.name = name;
    sweep.title = title;
    sweep.x_label = x_label;
    sweep.y_label = "ns a block, of one processor";
    sweep.axis = std::move(values);
    sweep.fixed = std::move(fixed);
    sweep.parameters = curves;
    return sweep;
  };
  sweep threads = axis("threads", "100,000 live blocks of 64 bytes, shared out among threads", "threads",
                       {"threads", "threads that replace blocks", {1, 2, 4, 16, 64}, {1, 4, 16}, 1, 256, true}, {});
  sweep live = axis("live", "live blocks of 64 bytes, one thread", "live blocks",
                    {"live",
                     "blocks alive",
                     {1000, 10'000, 100'000, 1'000'000, 4'000'000},
                     {1000, 10'000, 100'000},
                     1,
                     100'000'000,
                     true},
                    {});
  sweep size = axis("size", "64 MiB of live blocks, one thread", "bytes",
                    {"size", "bytes of a block", {64, 256, 1024, 4096, 16'384}, {64, 1024, 16'384}, 16, 1 << 24, true},
                    {{"live", 0}});
  sweep owner = axis("remote", "instruction by instruction: blocks of the own thread (0), of another (1)", "remote",
                     {"remote", "1: another thread allocated what is freed", {0, 1}, {0, 1}, 0, 1, true}, {});
  owner.y_label = "ns a block, stopped after each instruction";
  owner.program = "atomics";
  owner.parameters = counts;
  owner.is_exact = true;
  definition.sweeps = {threads, live, size, owner};
  definition.counts = {"bytes a block", "atomics", "calls", "instructions"};
  definition.judge = judge;
  return definition;
}

}  // namespace tarn::lab
