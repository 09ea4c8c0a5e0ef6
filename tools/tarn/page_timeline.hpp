// What a page has of the course of a run: of each cell what each interval added, so that it can be restricted to any
// part (docs/report-page.md has the schema).
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "analyse/history.hpp"
#include "tarn/page_stacks.hpp"

namespace tarn::command {

// In as many intervals as there is room for: at most 96, and fewer where there would be more than some hundred thousand
// points.
analyse::history page_history(const format::recording& of, std::string_view bytes);

// Of sites, locks and calls as `stacks` has them all. Null where there are no intervals.
nlohmann::json page_timeline(const analyse::history& of, const format::recording& in, page_stacks& stacks,
                             const analyse::lock_findings& locks, const analyse::call_findings& calls);

}  // namespace tarn::command
