// The course of a run, for programs: docs/report.md has the schema.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analyse/analysis.hpp"
#include "analyse/history.hpp"

namespace tarn::command {

// Intervals of which the JSON of a report has a number each, at most.
constexpr std::size_t most_intervals = 128;

// Null where the recording has no moments.
nlohmann::json json_of_timeline(const analyse::analysis& of, const analyse::history& course);

}  // namespace tarn::command
