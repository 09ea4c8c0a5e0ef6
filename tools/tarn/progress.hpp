// A line on a terminal that says how far something is, where it takes long.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>

namespace tarn::command {

class progress {
 public:
  // Shows nothing before `patience` has passed, nor where `to` is no terminal.
  explicit progress(const char* what, std::FILE* to = stderr,
                    std::chrono::milliseconds patience = std::chrono::milliseconds(1000));
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  // Takes the line away.
  ~progress();

  // So many are done of all. A look at the clock.
  void at(std::size_t done, std::size_t all);

 private:
  const char* what_;
  std::FILE* to_;
  bool shows_, has_line_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace tarn::command
