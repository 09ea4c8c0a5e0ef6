// The common parts of the lab's programs. Each is called as
//   lab-NAME FORM key=value…    does the work of one form once, warm-up included, and prints one line of JSON:
//     {"units": 1000, "ns": 12345, "processor_ns": 12000, "checksum": "0123456789abcdef", "malloc": FILE, "counts":
//     {"calls": 7}}
//   lab-NAME --forms            lists the forms of this build, one a line; forms of missing peers are left out
// An unknown form or key, or a value out of bounds, prints one line on standard error and exits with 2.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/process.hpp"
#include "bench/work.hpp"

namespace lab {

using bench::keep;
using bench::mark;
using bench::marked;

/// One key of a program: a number, unless `is_text`.
struct parameter {
  std::string_view name;
  std::uint64_t usual = 0;  // the default
  std::uint64_t minimum = 1, maximum = 1'000'000'000;
  bool is_text = false;  // the default is an empty text
};

/// The values of the command line.
class settings {
 public:
  /// Ends the program with one line and exit 2 when the words do not match `parameters`.
  settings(std::string_view program, std::initializer_list<parameter> parameters,
           const std::vector<std::string_view>& assignments);

  /// Both end the program when it has no such key.
  std::uint64_t operator[](std::string_view name) const;
  const std::string& text(std::string_view name) const;

 private:
  struct value {
    parameter definition;
    std::uint64_t number;
    std::string text;
  };
  const value& find(std::string_view name, bool is_text) const;
  std::vector<value> values_;
};

/// The result of a form. The checksum depends only on the settings, never on the form: it proves that the same work
/// was done. Counts are the form's costs by name: "calls", "locks", "bytes" …
struct outcome {
  std::uint64_t units = 0;
  std::int64_t ns = 0, processor_ns = 0;  // all units together; processor_ns: all threads together
  std::uint64_t checksum = 0;
  std::vector<std::pair<std::string, double>> counts = {};
};

/// Measures wall and CPU time from its construction, or from the last start().
class stopwatch {
 public:
  void start() noexcept {
    processor_ = bench::processor_ns();
    wall_ = bench::now_ns();
  }
  void stop(outcome& result) const noexcept {
    result.ns = bench::now_ns() - wall_;
    result.processor_ns = bench::processor_ns() - processor_;
  }

 private:
  std::int64_t processor_ = bench::processor_ns(), wall_ = bench::now_ns();
};

struct form {
  std::string_view name;
  outcome (*run)(const settings& parameters);
};

/// Does everything of a program except its work: reads the command line, runs the form, prints its line. Returns the
/// exit code. `program` is the name after "lab-".
int main_of(int count, char** arguments, std::string_view program, std::initializer_list<parameter> parameters,
            std::initializer_list<form> forms);

/// Prints one line on standard error and exits with 3: something that the form needs is missing.
[[noreturn]] void give_up(std::string_view program, std::string_view why);

}  // namespace lab
