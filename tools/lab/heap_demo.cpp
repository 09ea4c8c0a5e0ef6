#include <fmt/format.h>

#include <algorithm>

#include "lab/experiments.hpp"
#include "lab/machine.hpp"
#include "lab/result.hpp"

namespace tarn::lab {
namespace {

constexpr std::size_t by_threads = 0, by_size = 1;
constexpr const char* source_3 = "Improving Performance with Thread-Private Heaps, C/C++ Users Journal 9/1999";

parameter threads_axis() {
  return {"threads", "threads that allocate", {1, 2, 4, 8, 16, 32, 64}, {1, 4, 16}, 1, 256, true};
}

std::uint64_t most_threads(const result& of) {
  return *std::max_element(of.axes[by_threads].begin(), of.axes[by_threads].end());
}

// Returns how much longer an allocation takes with the most threads than with one thread per processor. Where
// processors share parts of a core, the second thread costs something that no heap can avoid.
double growth(const result& of, const std::string& form) {
  std::uint64_t least = most_threads(of);
  for (const std::uint64_t each : of.axes[by_threads]) {
    if (each >= cores()) least = std::min(least, each);
  }
  const auto few = of.ns(by_threads, form, least), many = of.ns(by_threads, form, most_threads(of));
  return few && many && *few > 0 ? *many / *few : 0;
}

// The claim of both experiments: behind one lock threads hold each other up, in heaps of their own they do not.
verdict judge_threads(const result& of, const std::string& shared, const std::string& own) {
  const std::vector<double> gains = of.ratios(by_threads, shared, own);
  if (gains.empty()) return {holds::unknown, "Neither the shared heap nor the private ones were measured."};
  const double gain = geometric_mean(gains), flat = growth(of, own), glibc = growth(of, "glibc");
  verdict told{gain >= 4 && flat < 3 ? holds::yes : gain >= 1.5 ? holds::partly : holds::no, {}};
  told.words = fmt::format(
      "Behind one lock an allocation takes {} the time that it takes in a heap of the thread's own; there it "
      "takes {} times as long beside {} threads as beside one for each processor. ",
      times_words(gains), two_digits(flat), most_threads(of));
  const std::vector<double> today = of.ratios(by_threads, "glibc", own), best = of.ratios(by_threads, best_other, own),
                            drop = of.ratios(by_threads, best_other, "tarn drop-in");
  if (glibc > 0) {
    told.words += fmt::format(
        "But the process's heap of today has a cache for each thread: glibc's takes {} times as long, and a private "
        "heap "
        "gains {} on it. ",
        two_digits(glibc), times_words(today));
  }
  told.words +=
      fmt::format("Tarn's takes {} times the time of the fastest other", two_digits(1 / geometric_mean(best)));
  told.words +=
      drop.empty() ? std::string(".") : fmt::format(", the drop-in {} times.", two_digits(1 / geometric_mean(drop)));
  told.words += of.where_slower(by_threads, own);
  return told;
}

verdict judge_heap_demo(const result& of) {
  verdict told = judge_threads(of, "one lock", "tarn::heap");
  if (told.whether == holds::unknown || of.axes[by_size].empty()) return told;
  // The crossover is where a private heap gains less than a half.
  std::uint64_t gains_at = 0, least_gain_at = 0;
  double most = 0;
  for (const std::uint64_t size : of.axes[by_size]) {
    const auto gain = of.ratio(by_size, "one arena", "tarn::heap", size);
    if (!gain) continue;
    most = std::max(most, *gain);
    if (*gain >= 1.5) gains_at = std::max(gains_at, size);
    if (*gain < 1.5) least_gain_at = std::max(least_gain_at, size);
  }
  if (most == 0) return told;
  told.words += fmt::format(
      " By size: against glibc with one arena and no cache, which is the article's heap today, private heaps are up to "
      "{} "
      "times faster",
      two_digits(most));
  told.words += least_gain_at > gains_at
                    ? fmt::format("; above {} bytes they gain little, as the kernel's work dominates.", gains_at)
                    : fmt::format(", still at {} bytes: no crossover as the article's, at 61,432.", gains_at);
  told.words += of.where_slower(by_size, "tarn::heap");
  return told;
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
    "between the "
    "processors, and a thread that sleeps must be woken. Every malloc of today therefore keeps a few free blocks for "
    "each thread, "
    "and its time hardly grows with threads; glibc's keeps seven of each size, up to 1,032 bytes, and shares arenas "
    "among threads "
    "beyond. The times are those of one processor: a line that stays level means that threads do not hold up each "
    "other. "
    "What is left for a private heap is what the look-up of the thread, the size and the owner cost, and to be given "
    "back whole.";

}  // namespace

experiment heap_demo() {
  experiment made;
  made.name = made.program = "heapdemo";
  made.source = source_3;
  made.claim =
      "With one shared heap time grows steeply with threads; private heaps stay flat, and are 9 to 43 times faster "
      "from 1 KB to "
      "just below 64 KB.";
  made.claimed =
      "HeapDemo's threads do nothing but allocate and free, 200,000 times each, on Windows NT 4. With the process's "
      "heap, one "
      "critical section around it, time grows steeply with threads; with a heap for each thread it does not. From 1 KB "
      "to just "
      "below 64 KB and four threads private heaps are 9 to 43 times faster; below 1 KB and above 61,432 bytes there is "
      "nothing to "
      "gain, there because the operating system's own work dominates.";
  made.why =
      std::string(why_threads) +
      " Above 128 KiB glibc would ask the kernel for each block, but it learns from the first free and keeps blocks "
      "up to 32 MiB; what the article met at 61,432 bytes is met by whoever still gives each block back.";
  made.unit = "allocation and its free, of one processor's time";
  made.parameters = {
      {"allocations", "of each thread; less where blocks are above 64 KiB", {200'000}, {20'000}, 1, 100'000'000}};
  made.forms = mallocs();
  const std::vector<form> locked = locked_forms();
  made.forms.insert(made.forms.begin() + 1, locked.begin(), locked.end());
  made.forms.insert(made.forms.end() - 1, {{"pmr pool, private", "private-pmr", role::peer},
                                           {"oneTBB, private", "private-tbb", role::peer, {}, "libtbb-dev"}});
  made.forms.push_back({"tarn::heap", "private-heap", role::ours});

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
  size.adjust = [](numbers& of, std::uint64_t x) {
    if (x > 65'536) of["allocations"] = std::max<std::uint64_t>(1, of["allocations"] * 65'536 / x);
  };
  size.ratios = {{"one arena / own heap", "one arena", "tarn::heap"},
                 {"one lock / own heap", "one lock", "tarn::heap"},
                 {"glibc / own heap", "glibc", "tarn::heap"}};
  size.original_ratios = {
      {"article: at least", "times", {{256, 1}, {1024, 9}, {4096, 9}, {16'384, 9}, {61'432, 9}, {65'536, 1}}},
      {"article: at most", "times", {{256, 1}, {1024, 43}, {4096, 43}, {16'384, 43}, {61'432, 43}, {65'536, 1}}}};
  made.sweeps = {threads, size};
  made.judge = judge_heap_demo;
  return made;
}

experiment heap_demo_2() {
  experiment made;
  made.name = made.program = "heapdemo2";
  made.source = source_3;
  made.claim = "A class of 1,024 bytes whose base class gives it the thread's own heap: time stays flat with threads.";
  made.claimed =
      "HeapDemo2's threads create and destroy an object of 1,024 bytes. An abstract base class with its own new and "
      "delete puts it "
      "on the thread's private heap; without the base class it comes from the heap of the process. One word in the "
      "class's "
      "declaration is all that the program changes.";
  made.why = std::string(why_threads) +
             " With the class known at compile time, new and delete of tarn::pooled are a few instructions inline, as "
             "those of a "
             "pool written by hand; but any thread may delete the object.";
  made.unit = "object, of one processor's time";
  made.parameters = {{"allocations", "objects that each thread makes", {200'000}, {20'000}, 1, 100'000'000}};
  made.forms = mallocs();
  const std::vector<form> locked = locked_forms();
  made.forms.insert(made.forms.begin() + 1, locked.begin(), locked.end());
  made.forms.insert(made.forms.end() - 1, {"class pool, private", "class-pool", role::peer});
  made.forms.push_back({"pooled", "pooled", role::ours});
  made.forms.push_back({"recycle", "recycle", role::ours});
  sweep threads;
  threads.name = "threads";
  threads.title = "objects of 1,024 bytes, more and more threads";
  threads.x_label = "threads";
  threads.y_label = "ns an object, of one processor";
  threads.axis = threads_axis();
  threads.ratios = {{"one lock / pooled", "one lock", "pooled"},
                    {"glibc / pooled", "glibc", "pooled"},
                    {"best other / pooled", best_other, "pooled"}};
  made.sweeps = {threads};
  made.judge = [](const result& of) { return judge_threads(of, "one lock", "pooled"); };
  return made;
}

}  // namespace tarn::lab
