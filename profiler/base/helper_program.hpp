// Runs external helper programs: large ones that are only sometimes needed are not linked.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::command {

struct helper_result {
  int code = 0;          // as in a shell: 127 if there is no such program, 128 + N for signal N
  bool is_late = false;  // it did not end in time, and was ended
  std::string output, errors;
};

// Runs a program from PATH with `input` as its standard input, and its errors on ours or in the result. Input and
// output are files in memory, which it may reopen as /dev/stdin and /dev/stdout, and seek in. Throws a failure without
// memory.
helper_result run_helper(const std::vector<std::string>& command, std::string_view input, bool shows_errors);
// Runs it with this environment instead of ours; each entry is "NAME=VALUE". It is ended after `longest`.
helper_result run_helper(const std::vector<std::string>& command, std::string_view input, bool shows_errors,
                         const std::vector<std::string>& environment,
                         std::optional<std::chrono::milliseconds> longest = {});

// While one exists, SIGINT, SIGTERM and SIGHUP end the helper that runs, with all that it has started, and run_helper
// throws a failure. So what was created for it can be removed. A signal that was ignored stays ignored. Only one exists
// at a time.
class interruptible_helpers {
 public:
  interruptible_helpers();
  interruptible_helpers(const interruptible_helpers&) = delete;
  interruptible_helpers& operator=(const interruptible_helpers&) = delete;
  ~interruptible_helpers();

 private:
  struct old_actions;
  std::unique_ptr<old_actions> old_actions_;
};

}  // namespace tarn::command
