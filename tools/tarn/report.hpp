// The two forms of a report.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "analyse/analysis.hpp"

namespace tarn::command {

struct report_request {
  std::string path;
  bool as_json = false;
  bool calibrate = false;
  std::size_t top = 10;
  std::optional<analyse::category> only;
  bool by_stack = false;   // each call stack a site of its own
  double cpu_seconds = 0;  // of the program without a recorder; 0: not known

  bool wants(const analyse::site& of) const { return !only || of.is == *only; }
  const std::vector<analyse::site>& sites(const analyse::analysis& of) const {
    return by_stack ? of.heap().sites : of.places();
  }
};

void print_text(analyse::analysis& of, const report_request& request);
void print_json(analyse::analysis& of, const analyse::costs& prices, const report_request& request);

// The recording in `path`, with a line on standard error where it is damaged. Throws a usage failure.
format::recording read_recording(const std::string& path);

}  // namespace tarn::command
