// Makes the timeline of the HTML report: what each interval added to each counter, so that the HTML report can
// restrict itself to any part (docs/reference/page-data.md has the schema).
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "profiler/findings/history.hpp"
#include "profiler/report/html/stacks.hpp"

namespace tarn::command {

// Uses as many intervals as there is room for: at most 96, and fewer if there would be more than some hundred
// thousand points.
analyse::history html_history(const format::recording& recording, std::string_view bytes);

// Covers the sites, locks and calls of `stacks`. Returns null if there are no intervals.
nlohmann::json html_timeline(const analyse::history& history, const format::recording& recording, html_stacks& stacks,
                             const analyse::lock_findings& locks, const analyse::call_findings& calls);

}  // namespace tarn::command
