// Makes the timeline of a run, for programs; docs/reference/report-json.md has the schema.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "profiler/advise/analysis.hpp"
#include "profiler/findings/history.hpp"

namespace tarn::command {

// The largest number of intervals in the JSON of a report.
constexpr std::size_t most_intervals = 128;

// Returns null if the recording has no snapshots.
nlohmann::json json_of_timeline(const analyse::analysis& analysis, const analyse::history& history);

}  // namespace tarn::command
