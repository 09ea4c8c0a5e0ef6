// Describes an experiment of the lab: its claim, its work, the forms that do it, and how its figures are judged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tarn::lab {

// The origin of a form. `original` is the source's own form, or the one that the source compared with.
enum class role { original, peer, ours };

// One of the forms that do the same work.
struct form {
  std::string name;  // shown in tables and JSON
  std::string word;  // the form's name on the program's command line
  role origin = role::peer;
  std::string library = {};                   // preloaded: a file name that the loader knows, or `drop_in`
  std::string package = {};                   // the Debian package that has it
  std::vector<std::string> environment = {};  // NAME=VALUE: its settings
  std::vector<std::string> settings = {};     // more arguments for the program
};
inline constexpr const char* drop_in = "libtarn-malloc.so";

// A number that can be set. A list gives the x values of a sweep.
struct parameter {
  std::string name, description;
  std::vector<std::uint64_t> usual, quick;
  std::uint64_t minimum = 1, maximum = 1;
  bool is_list = false;
};

// Figures that the source printed. `ratio` is that of its two curves at each x.
struct original_curve {
  std::string name, unit;
  std::vector<std::pair<double, double>> points;
};

// The time of the form `dividend` divided by that of `divisor`, at each x. "best other" stands for the fastest of the
// others.
struct ratio {
  std::string name, dividend, divisor;
};
inline constexpr const char* best_other = "best other";

using numbers = std::map<std::string, std::uint64_t>;

// One axis, and all forms at each of its values.
struct sweep {
  std::string name;  // name of the axis: the program's key
  std::string title, x_label, y_label;
  parameter axis;
  numbers fixed = {};  // further arguments for the program, beside the experiment's parameters
  std::vector<original_curve> originals = {}, original_ratios = {};
  std::vector<ratio> ratios = {};
  std::vector<std::string> only = {};                                   // names of forms; empty: all
  void (*adjust)(numbers& program_numbers, std::uint64_t x) = nullptr;  // reduces the work where a unit is expensive
  std::string program = {};                                             // empty: the experiment's own
  std::optional<std::vector<std::string>> parameters =
      {};                                 // the experiment's parameters that the program gets; all if empty
  std::vector<std::string> x_names = {};  // labels of x = 1, 2, …, where x is no number
  bool is_of_cores = false;               // x processors are needed
  bool is_exact = false;                  // every round gives the same result: one is enough
  bool is_counted = false;                // counted by the experiment's counter, at its first x

  std::string x_name(std::uint64_t x) const {
    return x >= 1 && x <= x_names.size() ? x_names[x - 1] : std::to_string(x);
  }
};

enum class claim_outcome { yes, partly, no, unknown };

struct verdict {
  claim_outcome outcome = claim_outcome::unknown;
  std::string text;
};

struct result;

// Selects the counter of one further run of each form and x: system calls by strace, heap calls and bytes by valgrind.
enum class counter { no_counter, strace, valgrind };

struct experiment {
  std::string name, program, source;
  std::string claim;                  // one line
  std::string claimed, why;           // for the page: the original's claim, and the reason for today's result
  std::string unit;                   // the unit that ns refer to
  std::vector<parameter> parameters;  // each has one value
  std::vector<form> forms;            // the first is the base of the bars
  std::vector<sweep> sweeps;
  std::vector<std::string> counts = {};  // shown as columns, by the names that the program uses
  counter counted_by = counter::no_counter;
  std::uint64_t quick_rounds = 3;
  bool makes_file = false;  // the form "make" makes a file, whose path all forms get as file=
  verdict (*judge)(const result& result) = nullptr;
};

// Returns all experiments in the order in which they run.
const std::vector<experiment>& experiments();

// Returns forms for the C library's malloc, its packaged peers with the settings that their makers advise for speed,
// and the drop-in. Each does the program's form `word`.
std::vector<form> mallocs(const std::string& word = "malloc");

}  // namespace tarn::lab
