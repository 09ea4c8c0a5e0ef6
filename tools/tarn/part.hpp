// What part of a recording is asked for: --from and --to.
#pragma once

#include <string>

#include "format/interval.hpp"

namespace CLI {
class App;
}

namespace tarn::command {

struct part_request {
  std::string from, to;  // "2s", "500ms", "1.5min", "20%"; empty: the start, the end
  bool is_asked() const { return !from.empty() || !to.empty(); }
};

void add_part(CLI::App& to, part_request& into);

// Widened to moments of the recording. Throws a usage failure where it has none, or the words mean no part of it.
format::interval part_of(const format::recording& whole, const part_request& request);

}  // namespace tarn::command
