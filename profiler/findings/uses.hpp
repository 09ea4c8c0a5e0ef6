// Compares the locks and system calls of two recordings of one program, function by function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/findings/locks.hpp"
#include "profiler/findings/system_calls.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

// All locks of one type that one function takes, or all its system calls of one name.
struct use {
  std::string operation;          // "mutex", "write"
  std::string function, file;     // without arguments; the first outside the C library; the module if it has no file
  std::uint64_t count = 0;        // acquisitions, calls
  std::uint64_t nanoseconds = 0;  // waiting time, or time in the kernel
  double deviation = 0;           // standard deviation of `count`, if that is an estimate
};

struct use_change {
  std::optional<use> before, after;  // at least one of them is set
  double saved_ns() const;           // below 0 if it costs more
};

struct use_difference {
  use before, after;                // sums of the whole program; `operation` and the locations are empty
  std::vector<use_change> changes;  // the largest by time first, then by count; without unchanged ones, and without
                                    // those of estimates that differ by chance
};

// Returns the system calls in any order.
std::vector<use> calls_in(const format::recording& recording, const call_findings& findings, symbols& symbols);
// Returns the locks, without condition variables, whose purpose is to be waited for.
std::vector<use> locks_in(const format::recording& recording, const lock_findings& findings, symbols& symbols);

// Uses match if all three texts are equal.
use_difference compare(const std::vector<use>& before, const std::vector<use>& after);
// Returns true if the count of a location differs by 100 and by 1 % of all earlier counts. Two runs of the same work
// differ by less, for example by some calls of malloc that depend on the order of the threads.
bool is_other_work(const use_difference& uses);

}  // namespace tarn::analyse
