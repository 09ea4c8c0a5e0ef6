// A program that is run to its end, and what it said.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace tarn::lab {

struct ended {
  int code = 0;          // as a shell has it: 127 where it could not be started, 128 + N by signal N
  bool is_late = false;  // it did not end in time, and was ended
  std::string output, errors;
};

// Runs words[0] (a path, or a name in PATH) with our environment, less what tunes an allocator, and `environment`
// (NAME=VALUE) added. No standard input. One thread at a time.
ended run_program(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                  std::chrono::seconds longest);

// The last line of a program's errors that is not empty, for a message of one line.
std::string last_line(const std::string& errors);

}  // namespace tarn::lab
