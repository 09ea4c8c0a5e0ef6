// Programs that this command asks for something: what is large, and only wanted now and then, is not linked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tarn::command {

struct helper_result {
  int code = 0;  // as a shell has it: 127 where there is no such program
  std::string output;
};

// Runs a program from PATH with `input` as its standard input and its errors on ours, or nowhere. Both ends of it are
// files in memory, which it may open again as /dev/stdin and /dev/stdout, and seek in. Throws a usage failure where
// there is no memory.
helper_result run_helper(const std::vector<std::string>& words, std::string_view input, bool shows_errors);

}  // namespace tarn::command
