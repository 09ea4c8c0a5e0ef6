// Counts what a program does, by a tool that Debian has.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "lab/experiment.hpp"

namespace tarn::lab {

// A program's words, and what its environment has beside ours.
struct job {
  std::vector<std::string> words, environment = {};
  std::string preload = {};  // a library's path, or empty
};

struct counted {
  std::map<std::string, double> counts;
  std::string why_not;  // one line: no tool, no permission
};

// strace: "system calls". valgrind: "allocations", "frees", "bytes"; of the whole program, its start included.
counted run_counted(counter by, const job& of, std::chrono::seconds longest);

// What valgrind's memcheck said of the heap; empty where it said nothing.
std::map<std::string, double> read_heap_summary(const std::string& errors);
// The last line of strace's table.
std::map<std::string, double> read_call_summary(const std::string& table);

}  // namespace tarn::lab
