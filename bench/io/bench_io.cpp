// Measures the cost of tarn::io and of the alternatives, in one interleaved run:
//   bench-io [--rounds N] [--text BYTES] [--form TEXT] [--check] [GROUP...]
//   groups: count pipe lines log memo batch kills
// --form: only forms whose name has the text, for strace -f -c.
// In each round every form of a group runs once. The figure is the least CPU time of the rounds, which keeps
// other work on the machine out of it. Next to it are the median, and the read and write calls of one run (except
// those of io_uring, which only strace -f -c counts). A round of two threads counts only if both had a processor all
// the time. Forms that have a result must all have the same one.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "batches.hpp"
#include "files.hpp"
#include "kills.hpp"
#include "logs.hpp"
#include "memos.hpp"
#include "settings.hpp"

namespace {

using namespace bench_io;

struct result {
  std::string name;
  std::vector<double> ns;
  std::uint64_t calls = 0;
  double minimum() const { return ns.empty() ? 0 : *std::min_element(ns.begin(), ns.end()); }
  double median() const {
    std::vector<double> sorted = ns;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[sorted.size() / 2];
  }
};

// Returns the number of read- and write-like calls of this process so far.
std::uint64_t calls() {
  std::ifstream counters("/proc/self/io");
  std::uint64_t sum = 0, value = 0;
  for (std::string word; counters >> word >> value;) sum += word == "syscr:" || word == "syscw:" ? value : 0;
  return sum;
}

// Returns false when two forms do not agree.
bool run(const group& rows, const settings& parameters, std::vector<result>& results) {
  for (const form& row : rows.forms) results.push_back({row.name, {}, 0});
  std::uint64_t expected = 0;
  bool is_first = true, agrees_with_all = true;
  for (int round = 0; round < parameters.rounds; ++round) {
    for (std::size_t turn = 0; turn < rows.forms.size(); ++turn) {
      const std::size_t now = (turn + static_cast<std::size_t>(round)) % rows.forms.size();
      const form& row = rows.forms[now];
      if (row.is_slow && round >= 2) continue;
      const std::uint64_t before = calls();
      outcome measured = row.run();
      for (int attempt = 0; attempt < parameters.patience && !measured.is_fair; ++attempt) measured = row.run();
      results[now].calls = calls() - before - 2;  // two of them come from calls() itself
      if (measured.is_fair) results[now].ns.push_back(measured.processor_ns);
      if (!row.has_result) continue;
      if (is_first) expected = measured.result, is_first = false;
      if (measured.result != expected) {
        fmt::print(stderr, "bench-io: {}: the result is {}, and that of the first form is {}\n", row.name,
                   measured.result, expected);
        agrees_with_all = false;
      }
    }
  }
  fmt::print("\n{}, {}\n", rows.title, rows.unit);
  for (const result& row : results) {
    if (row.ns.empty()) {
      fmt::print("  {:<46} no round was fair\n", row.name);
      continue;
    }
    fmt::print("  {:<46} {:>12.2f} ({:.2f}){:>12} calls\n", row.name, row.minimum() / rows.scale,
               row.median() / rows.scale, row.calls);
  }
  for (const goal& target : rows.goals) {
    if (parameters.is_check) break;
    const auto time = [&](const std::string& name) {
      return std::find_if(results.begin(), results.end(),
                          [&](const result& candidate) { return candidate.name == name; })
          ->minimum();
    };
    const double ratio = time(target.measured) / time(target.baseline);
    const bool is_reached = target.is_most ? ratio <= target.ratio : ratio >= target.ratio;
    const bool is_known = !target.is_of_threads || time(target.measured) > 0;
    fmt::print("  {} {}: {:.2f}, the goal is {} {:.2f}\n",
               !is_known    ? "unknown"
               : is_reached ? "reached"
                            : "MISSED ",
               target.description, ratio, target.is_most ? "at most" : "at least", target.ratio);
    if (!is_known)
      fmt::print("          (the machine did other work: in no round did both threads have a processor)\n");
  }
  return agrees_with_all;
}

}  // namespace

int main(int count, char** arguments) {
  settings parameters;
  std::vector<std::string> groups;
  std::string only;
  for (int position = 1; position < count; ++position) {
    const std::string word = arguments[position];
    if (word == "--rounds" && position + 1 < count) {
      parameters.rounds = std::max(1, std::atoi(arguments[++position]));
    } else if (word == "--text" && position + 1 < count) {
      parameters.text_bytes = std::strtoull(arguments[++position], nullptr, 10);
    } else if (word == "--form" && position + 1 < count) {
      only = arguments[++position];
    } else if (word == "--check") {
      parameters = {.rounds = 1,
                    .is_check = true,
                    .count_bytes = 300'000,
                    .text_bytes = 300'000,
                    .lines = 200,
                    .look_ups = 2000,
                    .files = 600,
                    .kills = 10,
                    .patience = 0};
    } else if (const std::string_view all_groups = " count pipe lines log memo batch kills ";
               word[0] != '-' && all_groups.find(" " + std::string(word) + " ") != std::string_view::npos) {
      groups.push_back(word);
    } else {
      fmt::print(stderr,
                 "usage: bench-io [--rounds N] [--text BYTES] [--form TEXT] [--check] [count pipe lines log memo batch "
                 "kills]\n");
      return 2;
    }
  }
  const idle_thread second;  // stdio and mutexes take short cuts in a process of one thread, which servers are not
  const folder work_folder;
  bool agrees_with_all = true;
  for (const auto& [name, make] :
       std::vector<std::pair<std::string, group (*)(const settings&, const folder&)>>{{"count", count_group},
                                                                                      {"pipe", pipe_group},
                                                                                      {"lines", lines_group},
                                                                                      {"log", log_group},
                                                                                      {"memo", memo_group},
                                                                                      {"batch", batch_group}}) {
    if (!groups.empty() && std::find(groups.begin(), groups.end(), name) == groups.end()) continue;
    std::vector<result> results;
    group rows = make(parameters, work_folder);
    if (!only.empty()) {
      std::erase_if(rows.forms, [&](const form& row) { return row.name.find(only) == std::string::npos; });
      rows.goals.clear();
    }
    agrees_with_all = run(rows, parameters, results) && agrees_with_all;
  }
  if (only.empty() && (groups.empty() || std::find(groups.begin(), groups.end(), "kills") != groups.end())) {
    agrees_with_all = run_kills(parameters, work_folder) && agrees_with_all;
  }
  return agrees_with_all ? 0 : 1;
}
