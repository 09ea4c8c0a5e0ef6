// Formats the statistics for people and programs as a table, one line of JSON, or OpenMetrics, and writes them.
//
// This code runs while the process exits or inside malloc_stats(), so nothing here allocates, locks or uses stdio.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <tarn/statistics.hpp>
#include "base/options.hpp"
#include "base/text.hpp"
#include "memory/api/advice.hpp"

namespace tarn::api {

// Describes one heap in a report. `name` is the heap's own name and may hold any bytes; print_statistics() replaces
// an empty one by the thread's name. `thread` is the kernel's number of the thread that the heap serves; 0 for none
// (an abandoned heap, or one of no thread).
struct heap_row {
  std::string_view name;
  std::uint64_t thread = 0;
  heap_statistics statistics;
};

// A report shows at most this many heaps and says how many it left out.
inline constexpr std::size_t max_heap_rows = 32;
// Has room for the longest possible report: every number of 20 digits, every byte of a name escaped.
inline constexpr std::size_t report_bytes = 128 * 1024;

// Names the process that the report describes. `program` may hold any bytes.
struct report_subject {
  std::string_view program;
  std::uint64_t process = 0;
};

// Appends a table: a line for each heap, a line of sums, then the process. Heaps beyond max_heap_rows are left out,
// and counted with those that process.heaps has in addition.
void append_table(base::text& report, const report_subject& subject, const process_statistics& process,
                  std::span<const heap_row> heaps, const advice& next) noexcept;

// Appends one JSON object on one line, so that several processes can append to one file.
void append_json(base::text& report, const report_subject& subject, const process_statistics& process,
                 std::span<const heap_row> heaps, const advice& next) noexcept;

// Appends an OpenMetrics exposition (openmetrics.io, version 1.0), which Prometheus and similar tools read: families
// tarn_heap_* with a sample for each heap shown, and tarn_* for the process. Each process needs a file of its own.
void append_openmetrics(base::text& report, const report_subject& subject, const process_statistics& process,
                        std::span<const heap_row> heaps, const advice& next) noexcept;

// Opens the output of print_statistics(): options.stats_file, or a second descriptor of standard error, since many
// programs (coreutils) close theirs before a library's destructors run. Call it once, while the process has one
// thread; it does nothing when options.stats is off. It reports an unusable file on standard error, which is then
// used.
void open_statistics_output(const base::options& options) noexcept;

// Renders the report and writes it in one write, in the form that options.stats asks for (a table if it is off, as for
// malloc_stats). Any thread may call it; returns false without writing when another thread is writing a report.
bool print_statistics(const base::options& options, const process_statistics& process, std::span<const heap_row> heaps,
                      const advice& next) noexcept;

}  // namespace tarn::api
