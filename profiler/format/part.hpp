// Holds the part of a recording that --start and --end ask for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/format/interval.hpp"

namespace tarn::command {

struct part_request {
  std::string begin, end;  // "2s", "500ms", "1.5min", "20%"; empty: the start or the end of the recording
  bool is_asked() const { return !begin.empty() || !end.empty(); }
};

// Returns the nanoseconds of "2s", "500ms", "1.5min" or, of `whole_ns`, "20%". Throws a failure for any other text.
std::uint64_t time_of(std::string_view text, std::uint64_t whole_ns);

// Returns the requested part, widened to snapshots of the recording. Throws a failure where the recording has
// no snapshot, or where the times name no part of it.
format::interval part_of(const format::recording& whole, const part_request& request);

}  // namespace tarn::command
