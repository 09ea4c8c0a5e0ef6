// Makes the timeline of the HTML report: the increase of each counter in each interval, so that the HTML report can
// show any part of the run (docs/reference/page-data.md has the schema).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "profiler/report/html/stacks.hpp"

namespace tarn::command {

// Covers the sites, locks and calls of `stacks`, in as many intervals as there is room for: at most 96, and fewer if
// there would be more than some hundred thousand points. Returns null if there are no intervals.
nlohmann::json html_timeline(analyse::analysis& analysis, html_stacks& stacks);

}  // namespace tarn::command
