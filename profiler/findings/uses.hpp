// Compares the locks, system calls, CPU time and waits of two recordings of one program, function by function.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "profiler/findings/time/cpu.hpp"
#include "profiler/findings/time/time.hpp"
#include "profiler/findings/waits/locks.hpp"
#include "profiler/findings/waits/system_calls.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

// All locks of one type that one function takes, all its system calls of one name, the samples of the processor in it,
// or all its waits.
struct use {
  std::string operation;          // "mutex", "write", "runs", "waits"
  std::string function, file;     // without arguments; the module if it has no file. That of a sample is the innermost
                                  // function, all others are the first outside the C library
  std::uint64_t count = 0;        // acquisitions, calls; 0 for samples and waits
  std::uint64_t nanoseconds = 0;  // waiting time, time in the kernel, CPU time
  double deviation = 0;           // standard deviation of `count`, if that is an estimate
  double time_deviation = 0;      // the same of `nanoseconds`
  std::uint64_t waiting_ns = 0;   // of `nanoseconds`, those in calls that wait for other threads, time or events
  // Returns the relative error of `count`, not exceeded in 95 of 100 recordings; 0 if it is exact.
  double error() const;
};

struct use_change {
  std::optional<use> before, after;  // at least one of them is set
  bool is_relevant = false;  // its time differs as `min_ns` of compare() says, or its count as much as other work
  double saved_ns() const;   // below 0 if it costs more
};

struct use_difference {
  use before, after;                // sums of the whole program; `operation` and the locations are empty
  std::vector<use_change> changes;  // the largest by time first, then by count; without unchanged ones, and without
                                    // those of estimates that differ by chance
  bool has_other_times = false;     // the time of a change differs as `min_ns` of compare() says
  std::set<std::string> waiting_operations;  // the calls with `waiting_ns`
};

// Returns the system calls in any order.
std::vector<use> calls_in(const format::recording& recording, const call_findings& findings, symbols& symbols);
// Returns the locks, without condition variables, whose purpose is to be waited for.
std::vector<use> locks_in(const format::recording& recording, const lock_findings& findings, symbols& symbols);
// Returns the functions in which the processor was sampled.
std::vector<use> samples_in(const cpu_findings& findings);
// Returns the places where threads waited for anything but a processor.
std::vector<use> waits_in(const format::recording& recording, const time_findings& findings, symbols& symbols);

// Uses match if all three texts are equal; in a file of another name, if the other two are and no third file has such a
// use. A use has changed if its count differs, or if its time differs by at least `min_ns` and by a tenth of the larger
// one, as two runs of the same work seldom do.
use_difference compare(const std::vector<use>& before, const std::vector<use>& after, std::uint64_t min_ns);
// Returns true if the count of a location differs by 100 and by 1 % of all earlier counts. Two runs of the same work
// differ by less, for example by some calls of malloc that depend on the order of the threads.
bool is_other_work(const use_difference& uses);

}  // namespace tarn::analyse
