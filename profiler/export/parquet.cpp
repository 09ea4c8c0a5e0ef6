#include "profiler/export/parquet.hpp"

#include <string_view>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/base/helper_program.hpp"
#include "profiler/export/formats.hpp"

namespace tarn::command {
namespace {

std::string statement() {
  std::string columns;
  for (const exports::column& column : exports::row_columns()) {
    columns += fmt::format("{}'{}': '{}'", columns.empty() ? "" : ", ", column.name,
                           column.type == exports::column_type::text ? "VARCHAR" : "BIGINT");
  }
  return fmt::format(
      "COPY (SELECT * FROM read_json('/dev/stdin', format = 'newline_delimited', maximum_object_size = 1000000000, "
      "columns = {{{}}})) TO '/dev/stdout' (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)",
      columns);
}

}  // namespace

std::string as_parquet(const exports::profile& profile, const exports::row_labels& labels) {
  std::string rows;
  exports::write_rows(profile, labels, [&](std::string_view row) { rows += row; });
  const std::string sql = statement();
  constexpr std::string_view magic = "PAR1";
  const std::vector<std::vector<std::string>> programs = {
      {"duckdb", "-batch", "-c", sql},
      {"python3", "-c", "import sys\ntry: import duckdb\nexcept ImportError: sys.exit(127)\nduckdb.sql(sys.argv[1])",
       sql}};
  for (const std::vector<std::string>& command : programs) {
    helper_result result = run_helper(command, rows, true);
    if (result.code == 127) continue;
    if (result.code == 0 && result.output.starts_with(magic)) return std::move(result.output);
    fail(exit_code::io_error, "{} could not write Parquet: exit code {}", command.front(), result.code);
  }
  fail(exit_code::missing,
       "DuckDB is needed to write Parquet; pip install duckdb, or use --format rows, which DuckDB reads elsewhere");
}

}  // namespace tarn::command
