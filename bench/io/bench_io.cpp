// Measures what tarn::io costs beside the alternatives, in one interleaved run:
//   bench-io [--rounds N] [--text BYTES] [--form TEXT] [--check] [GROUP...]
//   groups: count pipe lines log memo batch kills
// --form: only forms whose name has the text, for strace -f -c.
// In each round every form of a group runs once. The figure is the least processor time of the rounds, which keeps
// other work on the machine out of it. Next to it are the median, and the read and write calls of one run (except
// those of io_uring, which only strace -f -c counts). A round of two threads counts only if both had a processor all
// the time. The results of all forms are compared.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
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
  double least() const { return ns.empty() ? 0 : *std::min_element(ns.begin(), ns.end()); }
  double median() const {
    std::vector<double> sorted = ns;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[sorted.size() / 2];
  }
};

// Returns the number of read- and write-like calls of this process so far.
std::uint64_t calls() {
  std::ifstream from("/proc/self/io");
  std::uint64_t sum = 0, value = 0;
  for (std::string word; from >> word >> value;) sum += word == "syscr:" || word == "syscw:" ? value : 0;
  return sum;
}

// Returns false when two forms do not agree.
bool run(const group& of, const settings& wanted, std::vector<result>& results) {
  for (const form& each : of.forms) results.push_back({each.name, {}, 0});
  std::uint64_t expected = 0;
  bool is_first = true, agree = true;
  for (int round = 0; round < wanted.rounds; ++round) {
    for (std::size_t at = 0; at < of.forms.size(); ++at) {
      const std::size_t now = (at + static_cast<std::size_t>(round)) % of.forms.size();
      const form& each = of.forms[now];
      if (each.is_slow && round >= 2) continue;
      const std::uint64_t before = calls();
      outcome got = each.run();
      for (int again = 0; again < wanted.patience && !got.is_fair; ++again) got = each.run();
      results[now].calls = calls() - before - 2;  // two of them come from calls() itself
      if (got.is_fair) results[now].ns.push_back(got.processor_ns);
      if (!each.has_result) continue;
      if (is_first) expected = got.result, is_first = false;
      if (got.result != expected) {
        fmt::print(stderr, "bench-io: {}: {} is not {}\n", each.name, got.result, expected);
        agree = false;
      }
    }
  }
  fmt::print("\n{}, {}\n", of.title, of.unit);
  for (const result& each : results) {
    if (each.ns.empty()) {
      fmt::print("  {:<46} no round was fair\n", each.name);
      continue;
    }
    fmt::print("  {:<46} {:>12.2f} ({:.2f}){:>12} calls\n", each.name, each.least() / of.scale,
               each.median() / of.scale, each.calls);
  }
  for (const goal& each : of.goals) {
    if (wanted.is_check) break;
    const auto time = [&](const std::string& name) {
      return std::find_if(results.begin(), results.end(), [&](const result& one) { return one.name == name; })->least();
    };
    const double ratio = time(each.of) / time(each.over);
    const bool is_reached = each.is_most ? ratio <= each.wanted : ratio >= each.wanted;
    const bool is_known = !each.is_of_threads || time(each.of) > 0;
    fmt::print("  {} {}: {:.2f}, wanted {} {:.2f}\n",
               !is_known    ? "unknown"
               : is_reached ? "reached"
                            : "MISSED ",
               each.words, ratio, each.is_most ? "at most" : "at least", each.wanted);
    if (!is_known)
      fmt::print("          (the machine did other work: in no round did both threads have a processor)\n");
  }
  return agree;
}

}  // namespace

int main(int count, char** words) {
  settings wanted;
  std::vector<std::string> groups;
  std::string only;
  for (int at = 1; at < count; ++at) {
    const std::string word = words[at];
    if (word == "--rounds" && at + 1 < count) {
      wanted.rounds = std::max(1, std::atoi(words[++at]));
    } else if (word == "--text" && at + 1 < count) {
      wanted.text_bytes = std::strtoull(words[++at], nullptr, 10);
    } else if (word == "--form" && at + 1 < count) {
      only = words[++at];
    } else if (word == "--check") {
      wanted = {.rounds = 1,
                .is_check = true,
                .count_bytes = 300'000,
                .text_bytes = 300'000,
                .lines = 200,
                .look_ups = 2000,
                .files = 600,
                .kills = 10,
                .patience = 0};
    } else if (word[0] != '-') {
      groups.push_back(word);
    } else {
      fmt::print(stderr,
                 "usage: bench-io [--rounds N] [--text BYTES] [--form TEXT] [--check] [count pipe lines log memo batch "
                 "kills]\n");
      return 2;
    }
  }
  const idle_thread second;  // stdio and mutexes take short cuts in a process of one thread, and servers are none
  const folder here;
  bool agree = true;
  for (const auto& [name, make] :
       std::vector<std::pair<std::string, group (*)(const settings&, const folder&)>>{{"count", count_group},
                                                                                      {"pipe", pipe_group},
                                                                                      {"lines", lines_group},
                                                                                      {"log", log_group},
                                                                                      {"memo", memo_group},
                                                                                      {"batch", batch_group}}) {
    if (!groups.empty() && std::find(groups.begin(), groups.end(), name) == groups.end()) continue;
    std::vector<result> results;
    group made = make(wanted, here);
    if (!only.empty()) {
      std::erase_if(made.forms, [&](const form& each) { return each.name.find(only) == std::string::npos; });
      made.goals.clear();
    }
    agree = run(made, wanted, results) && agree;
  }
  if (only.empty() && (groups.empty() || std::find(groups.begin(), groups.end(), "kills") != groups.end())) {
    agree = run_kills(wanted, here) && agree;
  }
  return agree ? 0 : 1;
}
