// What the programs of the lab share. Each is called as
//   lab-NAME FORM key=value…    does the work of one form once, warm-up included, and prints one line of JSON:
//     {"units": 1000, "ns": 12345, "processor_ns": 12000, "checksum": "0123456789abcdef", "malloc": FILE, "counts":
//     {"calls": 7}}
//   lab-NAME --forms            the forms that this build has, one a line: peers that were not there are not there
// An unknown form or key, or a value out of bounds: one line on standard error, and exit 2.
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

/// One key of a program. A number, unless `is_text`.
struct parameter {
  std::string_view name;
  std::uint64_t usual = 0;  // where the command line does not say
  std::uint64_t least = 1, most = 1'000'000'000;
  bool is_text = false;  // then it is empty where the command line does not say
};

/// What the command line says.
class settings {
 public:
  /// Ends the program with one line and exit 2 where the words are not as `known` wants them.
  settings(std::string_view program, std::initializer_list<parameter> known,
           const std::vector<std::string_view>& words);

  /// Both end the program where the program has no such key.
  std::uint64_t operator[](std::string_view name) const;
  const std::string& text(std::string_view name) const;

 private:
  struct value {
    parameter of;
    std::uint64_t number;
    std::string text;
  };
  const value& at(std::string_view name, bool is_text) const;
  std::vector<value> values_;
};

/// What a form did. The checksum depends on the settings alone, never on the form: it is what says that the work was
/// done, and was the same. Counts are what this form did for it, by name: "calls", "locks", "bytes" …
struct outcome {
  std::uint64_t units = 0;
  std::int64_t ns = 0, processor_ns = 0;  // of all units together; the processor's of all threads together
  std::uint64_t checksum = 0;
  std::vector<std::pair<std::string, double>> counts = {};
};

/// Wall and processor time from its construction, or from the last start().
class stopwatch {
 public:
  void start() noexcept {
    processor_ = bench::processor_ns();
    wall_ = bench::now_ns();
  }
  void stop(outcome& of) const noexcept {
    of.ns = bench::now_ns() - wall_;
    of.processor_ns = bench::processor_ns() - processor_;
  }

 private:
  std::int64_t processor_ = bench::processor_ns(), wall_ = bench::now_ns();
};

struct form {
  std::string_view name;
  outcome (*run)(const settings& wanted);
};

/// All of a program but its work: reads the command line, runs the form, prints its line. Returns the exit code.
/// `program` is its name after "lab-".
int main_of(int count, char** words, std::string_view program, std::initializer_list<parameter> known,
            std::initializer_list<form> forms);

/// One line on standard error, and exit 3: what the form needs is not there.
[[noreturn]] void give_up(std::string_view program, std::string_view why);

}  // namespace lab
