#pragma once

#include <string>

#include "exports/profile.hpp"

namespace tarn::command {

// The rows as a Parquet file, which DuckDB writes (docs/design/parquet.md). Throws a usage failure that says how to
// get it where there is none.
std::string as_parquet(const exports::profile& of);

}  // namespace tarn::command
