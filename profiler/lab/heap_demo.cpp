#include <fmt/format.h>

#include <algorithm>

#include "profiler/lab/experiments.hpp"
#include "profiler/lab/machine.hpp"
#include "profiler/lab/result.hpp"

namespace tarn::lab {
namespace {

constexpr std::size_t by_threads = 0, by_size = 1;
constexpr const char* source_3 = "Improving Performance with Thread-Private Heaps, C/C++ Users Journal 9/1999";

parameter threads_axis() {
  return {"threads", "threads that allocate", {1, 2, 4, 8, 16, 32, 64}, {1, 4, 16}, 1, 256, true};
}

std::uint64_t max_threads(const result& result) {
  return *std::max_element(result.axes[by_threads].begin(), result.axes[by_threads].end());
}

// Returns how much longer an allocation takes with the most threads than with one thread per processor. Where
// processors share parts of a core, the second thread costs something that no heap can avoid.
double growth(const result& result, const std::string& form) {
  std::uint64_t min_threads = max_threads(result);
  for (const std::uint64_t count : result.axes[by_threads]) {
    if (count >= cores()) min_threads = std::min(min_threads, count);
  }
  const auto with_few = result.ns(by_threads, form, min_threads),
             with_many = result.ns(by_threads, form, max_threads(result));
  return with_few && with_many && *with_few > 0 ? *with_many / *with_few : 0;
}

// The claim of both experiments: threads delay each other behind one lock, but not in heaps of their own.
verdict judge_threads(const result& result, const std::string& shared, const std::string& private_heap) {
  const std::vector<double> gains = result.ratios(by_threads, shared, private_heap);
  if (gains.empty()) return {claim_outcome::unknown, "Neither the shared heap nor the private ones were measured."};
  const double gain = geometric_mean(gains), flat = growth(result, private_heap), glibc = growth(result, "glibc");
  verdict judgement{gain >= 4 && flat < 3 ? claim_outcome::yes
                    : gain >= 1.5         ? claim_outcome::partly
                                          : claim_outcome::no,
                    {}};
  judgement.text = fmt::format(
      "Behind one lock an allocation takes {} the time that it takes in a heap of the thread's own; there it takes {} "
      "times as long beside {} threads as beside one for each processor. ",
      times_text(gains), two_digits(flat), max_threads(result));
  const std::vector<double> today = result.ratios(by_threads, "glibc", private_heap),
                            best = result.ratios(by_threads, best_other, private_heap),
                            drop = result.ratios(by_threads, best_other, "tarn drop-in");
  if (glibc > 0) {
    judgement.text += fmt::format(
        "But the process's heap of today has a cache for each thread: glibc's takes {} times as long, and a private "
        "heap gains {} on it. ",
        two_digits(glibc), times_text(today));
  }
  judgement.text +=
      fmt::format("Tarn's takes {} times the time of the fastest other", two_digits(1 / geometric_mean(best)));
  judgement.text +=
      drop.empty() ? std::string(".") : fmt::format(", the drop-in {} times.", two_digits(1 / geometric_mean(drop)));
  judgement.text += result.slowdown_text(by_threads, private_heap);
  return judgement;
}

verdict judge_heap_demo(const result& result) {
  verdict judgement = judge_threads(result, "one lock", "tarn::heap");
  if (judgement.outcome == claim_outcome::unknown || result.axes[by_size].empty()) return judgement;
  // The crossover is where a private heap gains less than a half.
  std::uint64_t gains_at = 0, min_gain_at = 0;
  double largest_gain = 0;
  for (const std::uint64_t size : result.axes[by_size]) {
    const auto gain = result.ratio(by_size, "one arena", "tarn::heap", size);
    if (!gain) continue;
    largest_gain = std::max(largest_gain, *gain);
    if (*gain >= 1.5) gains_at = std::max(gains_at, size);
    if (*gain < 1.5) min_gain_at = std::max(min_gain_at, size);
  }
  if (largest_gain == 0) return judgement;
  judgement.text += fmt::format(
      " By size: against glibc with one arena and no cache, which is the article's heap today, private heaps are up to "
      "{} times faster",
      two_digits(largest_gain));
  judgement.text += min_gain_at > gains_at
                        ? fmt::format("; above {} bytes they gain little, as the kernel's work dominates.", gains_at)
                        : fmt::format(", still at {} bytes: no crossover as the article's, at 61,432.", gains_at);
  judgement.text += result.slowdown_text(by_size, "tarn::heap");
  return judgement;
}

std::vector<form> locked_forms() {
  return {{"one lock", "one-lock", role::original},
          {"one arena",
           "malloc",
           role::original,
           {},
           {},
           {"GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0"}}};
}

constexpr const char* why_threads =
    "An allocation and its free take a few nanoseconds, a lock that is not free some hundred: its cache line moves "
    "between the processors, and a thread that sleeps must be woken. Every malloc of today therefore keeps a few free "
    "blocks for each thread, and its time hardly grows with threads; glibc's keeps seven of each size, up to 1,032 "
    "bytes, and shares arenas among threads beyond. The times are those of one processor: a line that stays level "
    "means that threads do not hold up each other. What is left for a private heap is what the look-up of the thread, "
    "the size and the owner cost, and to be given back whole.";

}  // namespace

experiment heap_demo() {
  experiment definition;
  definition.name = definition.program = "heapdemo";
  definition.source = source_3;
  definition.claim =
      "With one shared heap time grows steeply with threads; private heaps stay flat, and are 9 to 43 times faster "
      "from 1 KB to just below 64 KB.";
  definition.claimed =
      "HeapDemo's threads do nothing but allocate and free, 200,000 times each, on Windows NT 4. With the process's "
      "heap, one critical section around it, time grows steeply with threads; with a heap for each thread it does not. "
      "From 1 KB to just below 64 KB and four threads private heaps are 9 to 43 times faster; below 1 KB and above "
      "61,432 bytes there is nothing to gain, there because the operating system's own work dominates.";
  definition.why =
      std::string(why_threads) +
      " Above 128 KiB glibc would ask the kernel for each block, but it learns from the first free and keeps blocks up "
      "to 32 MiB; what the article met at 61,432 bytes is met by whoever still gives each block back.";
  definition.unit = "allocation and its free, of one processor's time";
  definition.parameters = {
      {"allocations", "of each thread; less where blocks are above 64 KiB", {200'000}, {20'000}, 1, 100'000'000}};
  definition.forms = mallocs();
  const std::vector<form> locked = locked_forms();
  definition.forms.insert(definition.forms.begin() + 1, locked.begin(), locked.end());
  definition.forms.insert(definition.forms.end() - 1,
                          {{"pmr pool, private", "private-pmr", role::peer},
                           {"oneTBB, private", "private-tbb", role::peer, {}, "libtbb-dev"}});
  definition.forms.push_back({"tarn::heap", "private-heap", role::ours});

  sweep threads;
  threads.name = "threads";
  threads.title = "blocks of 1,024 bytes, more and more threads";
  threads.x_label = "threads";
  threads.y_label = "ns an allocation, of one processor";
  threads.axis = threads_axis();
  threads.fixed = {{"size", 1024}};
  threads.ratios = {{"one lock / own heap", "one lock", "tarn::heap"},
                    {"glibc / own heap", "glibc", "tarn::heap"},
                    {"best other / own", best_other, "tarn::heap"}};

  sweep size;
  size.name = "size";
  size.title = "four threads, larger and larger blocks";
  size.x_label = "bytes";
  size.y_label = threads.y_label;
  size.axis = {"size",
               "bytes of a block",
               {16, 256, 1024, 4096, 16'384, 61'432, 65'536, 262'144, 1'048'576},
               {16, 1024, 61'432},
               8,
               1 << 30,
               true};
  size.fixed = {{"threads", 4}};
  size.adjust = [](numbers& values, std::uint64_t x) {
    if (x > 65'536) values["allocations"] = std::max<std::uint64_t>(1, values["allocations"] * 65'536 / x);
  };
  size.ratios = {{"one arena / own heap", "one arena", "tarn::heap"},
                 {"one lock / own heap", "one lock", "tarn::heap"},
                 {"glibc / own heap", "glibc", "tarn::heap"}};
  size.original_ratios = {
      {"article: at min_threads", "times", {{256, 1}, {1024, 9}, {4096, 9}, {16'384, 9}, {61'432, 9}, {65'536, 1}}},
      {"article: at most", "times", {{256, 1}, {1024, 43}, {4096, 43}, {16'384, 43}, {61'432, 43}, {65'536, 1}}}};
  definition.sweeps = {threads, size};
  definition.judge = judge_heap_demo;
  return definition;
}

experiment heap_demo_2() {
  experiment definition;
  definition.name = definition.program = "heapdemo2";
  definition.source = source_3;
  definition.claim =
      "A class of 1,024 bytes whose base class gives it the thread's own heap: time stays flat with threads.";
  definition.claimed =
      "HeapDemo2's threads create and destroy an object of 1,024 bytes. An abstract base class with its own new and "
      "delete puts it on the thread's private heap; without the base class it comes from the heap of the process. One "
      "word in the class's declaration is all that the program changes.";
  definition.why = std::string(why_threads) +
                   " With the class known at compile time, new and delete of tarn::pooled are a few instructions "
                   "inline, as those of a pool written by hand; but any thread may delete the object.";
  definition.unit = "object, of one processor's time";
  definition.parameters = {{"allocations", "objects that each thread makes", {200'000}, {20'000}, 1, 100'000'000}};
  definition.forms = mallocs();
  const std::vector<form> locked = locked_forms();
  definition.forms.insert(definition.forms.begin() + 1, locked.begin(), locked.end());
  definition.forms.insert(definition.forms.end() - 1, {"class pool, private", "class-pool", role::peer});
  definition.forms.push_back({"pooled", "pooled", role::ours});
  definition.forms.push_back({"recycle", "recycle", role::ours});
  sweep threads;
  threads.name = "threads";
  threads.title = "objects of 1,024 bytes, more and more threads";
  threads.x_label = "threads";
  threads.y_label = "ns an object, of one processor";
  threads.axis = threads_axis();
  threads.ratios = {{"one lock / pooled", "one lock", "pooled"},
                    {"glibc / pooled", "glibc", "pooled"},
                    {"best other / pooled", best_other, "pooled"}};
  definition.sweeps = {threads};
  definition.judge = [](const result& result) { return judge_threads(result, "one lock", "pooled"); };
  return definition;
}

}  // namespace tarn::lab
