#include <fmt/format.h>

#include "profiler/lab/experiments.hpp"
#include "profiler/lab/result.hpp"

namespace tarn::lab {
namespace {

constexpr std::size_t by_threads = 0, by_cache = 1;
constexpr const char* calls = "system calls";

verdict judge(const result& result) {
  const auto buffered = result.ratio(by_threads, "read, a byte each", "fgetc", 1),
             mapped = result.ratio(by_threads, "fgetc", "mmap", 1);
  if (!buffered || !mapped) return {claim_outcome::unknown, "The original's three programs were not measured."};
  verdict judgement{*buffered >= 5 && *mapped >= 1.5 ? claim_outcome::yes
                    : *buffered >= 2                 ? claim_outcome::partly
                                                     : claim_outcome::no,
                    {}};
  judgement.text = fmt::format(
      "A call for each byte takes {} times the time of stdio, and stdio {} times that of a mapping (the original: 12 "
      "and 4.2). ",
      two_digits(*buffered), two_digits(*mapped));
  const auto by_bytes = result.count(by_threads, "read, a byte each", 1, calls),
             by_stdio = result.count(by_threads, "fgetc", 1, calls),
             by_mapping = result.count(by_threads, "mmap", 1, calls);
  if (by_bytes && by_stdio && by_mapping)
    judgement.text += fmt::format("System calls: {:.0f}, {:.0f} and {:.0f}, the program's start among them. ",
                                  *by_bytes, *by_stdio, *by_mapping);
  if (const auto threaded = result.ratio(by_threads, "fgetc", "getc_unlocked", 2)) {
    judgement.text +=
        fmt::format("In a process of threads fgetc takes a lock for each byte: {} times getc_unlocked's time. ",
                    two_digits(*threaded));
  }
  const std::vector<double> reader = result.ratios(by_threads, best_other, "tarn reader"),
                            file = result.ratios(by_threads, best_other, "tarn mapped_file");
  if (!reader.empty() && !file.empty()) {
    judgement.text +=
        fmt::format("Tarn's reader takes {} times the time of the fastest other, its mapped_file {} times",
                    two_digits(1 / geometric_mean(reader)), two_digits(1 / geometric_mean(file)));
  }
  const auto cold = result.ratio(by_cache, best_other, "tarn reader", 1),
             cold_file = result.ratio(by_cache, best_other, "tarn mapped_file", 1);
  if (cold && cold_file) {
    judgement.text +=
        fmt::format("; with a cold cache {} and {} times", two_digits(1 / *cold), two_digits(1 / *cold_file));
  }
  judgement.text +=
      "." + result.slowdown_text(by_threads, "tarn reader") + result.slowdown_text(by_cache, "tarn mapped_file");
  return judgement;
}

}  // namespace

experiment count_a() {
  experiment definition;
  definition.name = definition.program = "count-a";
  definition.source = "Sidestep System Calls, in: P. Sommerlad, Some Performance Patterns, EuroPLoP 2002";
  definition.claim =
      "System calls cost an order of magnitude more than function calls: count the letter A by read, stdio, mmap.";
  definition.claimed =
      "The same program three times: one read for each byte takes 0.437 s and 408,889 calls, stdio's fgetc 0.038 s and "
      "129, a mapping 0.009 s and about 25. So buffer, map, or redesign until fewer calls are left; but first know "
      "what your program does.";
  definition.why =
      "A system call costs some hundred nanoseconds, a byte from a buffer about one: the gap has grown, as processors "
      "became faster and the way into the kernel, with its barriers against side channels, did not. What comes after "
      "the calls is new: stdio locks its stream for each byte once there are threads, and the loop over single bytes "
      "is what is left, which vectors do 32 bytes at a time. A mapping saves the copy and pays with page faults, which "
      "is why with a cold cache a large read is faster than it.";
  definition.unit = "byte";
  definition.parameters = {{"bytes", "of the file of words that is made", {408'850}, {100'000}, 1, 1'000'000'000}};
  definition.forms = {{"read, a byte each", "read-byte", role::original},
                      {"fgetc", "fgetc", role::original},
                      {"mmap", "mmap", role::original},
                      {"getc_unlocked", "getc-unlocked", role::peer},
                      {"std::ifstream", "istream", role::peer},
                      {"read, 64 KiB each", "read-64k", role::peer},
                      {"mmap, vectors", "mmap-vectors", role::peer},
                      {"tarn reader", "reader", role::ours},
                      {"tarn mapped_file", "mapped-file", role::ours}};
  definition.makes_file = true;
  sweep threads;
  threads.name = "threads";
  threads.title = "in a process of one thread, and of two; warm cache";
  threads.x_label = "threads";
  threads.y_label = "ns a byte";
  threads.axis = {"threads", "threads that the process has, or had", {1, 2}, {1, 2}, 1, 2, true};
  threads.is_counted = true;
  threads.ratios = {{"read / fgetc", "read, a byte each", "fgetc"},
                    {"fgetc / mmap", "fgetc", "mmap"},
                    {"best other / reader", best_other, "tarn reader"}};
  threads.original_ratios = {{"2002: read / fgetc", "times", {{1, 0.437 / 0.038}}},
                             {"2002: fgetc / mmap", "times", {{1, 0.038 / 0.009}}}};
  threads.originals = {{"read, 2002", "ns a byte", {{1, 0.437e9 / 408'850}}},
                       {"fgetc, 2002", "ns a byte", {{1, 0.038e9 / 408'850}}},
                       {"mmap, 2002", "ns a byte", {{1, 0.009e9 / 408'850}}}};
  sweep cold;
  cold.name = "cold";
  cold.title = "with a warm cache (0), and after the kernel was asked to drop the file's pages (1)";
  cold.x_label = "cold";
  cold.y_label = "ns a byte";
  cold.axis = {"cold", "1: the file is not in memory", {0, 1}, {0, 1}, 0, 1, true};
  definition.sweeps = {threads, cold};
  definition.counted_by = counter::strace;
  definition.counts = {calls};
  definition.judge = judge;
  return definition;
}

}  // namespace tarn::lab
