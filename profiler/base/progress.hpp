// Shows a progress line on a terminal, for work that takes long.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>

namespace tarn::command {

class progress {
 public:
  // Shows nothing before `patience` has passed, and nothing if `output` is no terminal.
  explicit progress(const char* task, std::FILE* output = stderr,
                    std::chrono::milliseconds patience = std::chrono::milliseconds(1000));
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  // Removes the line.
  ~progress();

  // Says how many of all are done. Costs one reading of the clock.
  void update(std::size_t count, std::size_t total);

 private:
  const char* task_;
  std::FILE* output_;
  bool is_shown_, has_line_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace tarn::command
