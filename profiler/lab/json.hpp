// Results as JSON; docs/guide/lab.md describes them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "profiler/lab/result.hpp"

namespace tarn::lab {

inline constexpr int json_version = 2;

const char* name_of(role value);
const char* name_of(claim_outcome value);  // "yes", "partly", "no", "unknown"

// Returns the output of `tarn lab --json`: {format, machine, quick, experiments}.
nlohmann::ordered_json as_json(const std::vector<result>& results, bool is_quick,
                               const std::vector<std::pair<std::string, std::string>>& machine);

}  // namespace tarn::lab
