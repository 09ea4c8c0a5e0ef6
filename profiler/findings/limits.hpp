// Names the limits of the recorder that a recording reached, with what is missing for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::command {

struct reached_limit {
  std::string limit;         // with its value, such as "call stacks (1,048,575)"
  std::uint64_t events = 0;  // that it left out; 0: not known
  std::string missing;       // what the recording lacks for it
  std::string help;          // what to do
};

std::vector<reached_limit> reached_limits(const format::recording& recording);

// Returns one line without its full stop; an empty text where no limit was reached.
std::string limits_text(const format::recording& recording);

}  // namespace tarn::command
