#pragma once

#include <string>

#include "profiler/export/formats.hpp"

namespace tarn::command {

// Returns the rows as a Parquet file, which DuckDB writes (docs/design/parquet.md). Throws a failure that says
// how to get DuckDB if there is none.
std::string as_parquet(const exports::profile& profile, const exports::row_labels& labels);

}  // namespace tarn::command
