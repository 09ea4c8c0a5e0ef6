// The statistics as people and programs read them: a table, one line of JSON, or OpenMetrics; and where they are
// written.
//
// Runs while the process exits or inside malloc_stats(), so nothing here allocates, locks or uses stdio.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <tarn/statistics.hpp>
#include "base/options.hpp"
#include "base/text.hpp"
#include "front/advice.hpp"

namespace tarn::front {

// One heap in a report. `name` is the heap's own, any bytes; print_statistics() puts the thread's in place of an empty
// one. `thread` is the kernel's number of the
// thread it serves, 0 for none (abandoned, or of no thread).
struct heap_row {
  std::string_view name;
  std::uint64_t thread = 0;
  heap_statistics statistics;
};

// A report shows at most this many heaps and says how many it left out.
inline constexpr std::size_t most_heap_rows = 32;
// Room for the longest report there can be: every number of 20 digits, every byte of a name escaped.
inline constexpr std::size_t report_bytes = 128 * 1024;

// Whom the report is about. `program` may hold any bytes.
struct report_subject {
  std::string_view program;
  std::uint64_t process = 0;
};

// A table: a line for each heap, a line of sums, then the process. `heaps` beyond most_heap_rows are left out, and
// counted with those that process.heaps has in addition.
void append_table(base::text& report, const report_subject& subject, const process_statistics& process,
                  std::span<const heap_row> heaps, const advice& next) noexcept;

// The same as one JSON object on one line, so that several processes can append to one file.
void append_json(base::text& report, const report_subject& subject, const process_statistics& process,
                 std::span<const heap_row> heaps, const advice& next) noexcept;

// The same as an OpenMetrics exposition (openmetrics.io, version 1.0), which Prometheus and its like read: families
// tarn_heap_* with a sample for each heap shown, tarn_* for the process. One process to a file.
void append_openmetrics(base::text& report, const report_subject& subject, const process_statistics& process,
                        std::span<const heap_row> heaps, const advice& next) noexcept;

// Opens what print_statistics() writes to: options.stats_file, or a second descriptor of standard error, since many
// programs (coreutils) close theirs before a library's destructors run. Call once, while the process has one
// thread; does nothing when options.stats is off. An unusable file is reported on standard error, which is then used.
void open_statistics_output(const base::options& options) noexcept;

// Renders and writes the report in one write, in the form that options.stats asks for (a table if it is off, as for
// malloc_stats). Any thread; returns false, having written nothing, when another thread is just writing one.
bool print_statistics(const base::options& options, const process_statistics& process, std::span<const heap_row> heaps,
                      const advice& next) noexcept;

}  // namespace tarn::front
