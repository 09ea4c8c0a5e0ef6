// Counts the calls or instructions of a program, with a tool from Debian.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "profiler/lab/experiment.hpp"

namespace tarn::lab {

// A program's arguments, and the variables added to its environment.
struct job {
  std::vector<std::string> arguments, environment = {};
  std::string preload = {};  // path of a library, or empty
};

struct count_result {
  std::map<std::string, double> counts;
  std::string why_not;  // one line: no tool, no permission
};

// Counts "system calls" with strace, or "allocations", "frees" and "bytes" with valgrind, over the whole program with
// its start.
count_result run_counted(counter tool, const job& job, std::chrono::seconds longest);

// Reads the heap summary of valgrind's memcheck; empty if there is none.
std::map<std::string, double> read_heap_summary(const std::string& errors);
// Reads the last line of strace's table.
std::map<std::string, double> read_call_summary(const std::string& table);

}  // namespace tarn::lab
