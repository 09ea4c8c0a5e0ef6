// What an experiment of the lab is: whose claim, which work, who does it, and how the figures are judged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tarn::lab {

// Whose a form is. `original`: as the source wrote it, or what it measured against.
enum class role { original, peer, ours };

// One of those that do the same work.
struct form {
  std::string name;  // as tables and JSON show it
  std::string word;  // the form's name to the program
  role is = role::peer;
  std::string library = {};                   // preloaded: a file name that the loader knows, or `drop_in`
  std::string package = {};                   // Debian's, for where it is missing
  std::vector<std::string> environment = {};  // NAME=VALUE: its settings
  std::vector<std::string> settings = {};     // more words to the program
};
inline constexpr const char* drop_in = "libtarn-malloc.so";

// A number that can be set. Lists are the x values of a sweep.
struct parameter {
  std::string name, what;
  std::vector<std::uint64_t> usual, quick;
  std::uint64_t least = 1, most = 1;
  bool is_list = false;
};

// Figures that the source printed. `ratio`: of its two curves, at each x.
struct original_curve {
  std::string name, unit;
  std::vector<std::pair<double, double>> points;
};

// Time of `over` divided by that of `under`, at each x. "best other" stands for the fastest of them.
struct ratio {
  std::string name, over, under;
};
inline constexpr const char* best_other = "best other";

using numbers = std::map<std::string, std::uint64_t>;

// One axis, all forms at each of its values.
struct sweep {
  std::string name;  // of its axis: the key to the program
  std::string title, x_label, y_label;
  parameter axis;
  numbers fixed = {};  // what else the program is told, beside the experiment's parameters
  std::vector<original_curve> originals = {}, original_ratios = {};
  std::vector<ratio> ratios = {};
  std::vector<std::string> only = {};                              // names of forms; empty: all
  void (*adjust)(numbers& of_program, std::uint64_t x) = nullptr;  // less work where a unit is dear
  std::string program = {};                                        // empty: the experiment's
  std::optional<std::vector<std::string>> parameters =
      {};                                 // which of the experiment's its program is told; all if none
  std::vector<std::string> x_names = {};  // of x = 1, 2, …, where the numbers mean nothing
  bool is_of_cores = false;               // x processors are needed
  bool is_exact = false;                  // each round would say the same: one is enough
  bool is_counted = false;                // by the experiment's counter, at its first x

  std::string x_name(std::uint64_t x) const {
    return x >= 1 && x <= x_names.size() ? x_names[x - 1] : std::to_string(x);
  }
};

enum class holds { yes, partly, no, unknown };

struct verdict {
  holds whether = holds::unknown;
  std::string words;
};

struct result;

// What is counted, in one more run of each form and x: system calls by strace, heap calls and bytes by valgrind.
enum class counter { none, strace, valgrind };

struct experiment {
  std::string name, program, source;
  std::string claim;                  // one line
  std::string claimed, why;           // for the page: what the original claimed; why it is as it is today
  std::string unit;                   // of which ns are given
  std::vector<parameter> parameters;  // each with one value
  std::vector<form> forms;            // the first is the base of the bars
  std::vector<sweep> sweeps;
  std::vector<std::string> counts = {};  // shown as columns of their own, by the names that the program has for them
  counter counted_by = counter::none;
  std::uint64_t quick_rounds = 3;
  bool makes_file = false;  // the form "make" makes one, whose path all forms are told as file=
  verdict (*judge)(const result& of) = nullptr;
};

// All of them, in the order in which they run.
const std::vector<experiment>& experiments();

// The C library's malloc, and its packaged peers with the settings that their makers advise for speed, and the
// drop-in: each does the program's form `word`.
std::vector<form> mallocs(const std::string& word = "malloc");

}  // namespace tarn::lab
