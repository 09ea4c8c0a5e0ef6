#include "memory/api/statistics_text.hpp"

#include "memory/api/statistics_fields.hpp"

namespace tarn::api {
namespace {

constexpr std::size_t max_name_bytes = 64;

// Holds the heaps to show, and the number of the others.
struct shown_heaps {
  std::span<const heap_row> rows;
  std::uint64_t left_out;

  shown_heaps(std::uint64_t heaps_now, std::span<const heap_row> all_rows) noexcept
      : rows(all_rows.size() > max_heap_rows ? all_rows.first(max_heap_rows) : all_rows), left_out(0) {
    const std::uint64_t heap_count = heaps_now > all_rows.size() ? heaps_now : all_rows.size();
    left_out = heap_count - rows.size();
  }
};

std::string_view clip(std::string_view name) noexcept {
  return name.size() > max_name_bytes ? std::string_view(name.data(), max_name_bytes) : name;
}

// Returns the present level: the two counters are read at different moments, so the later one may be ahead.
std::uint64_t difference(std::uint64_t larger, std::uint64_t less) noexcept {
  return larger > less ? larger - less : 0;
}

struct column {
  std::string_view title;
  std::size_t width;
};
constexpr std::size_t name_width = 20;
constexpr column columns[] = {
    {"thread", 9},        {"blocks", 13}, {"bytes", 16},           {"blocks now", 13}, {"bytes now", 15},
    {"remote frees", 14}, {"slabs", 8},   {"footprint bytes", 17}, {"peak bytes", 15},
};

void append_titles(base::text& report) noexcept {
  report.append("heap").pad_to(name_width);
  for (const auto& [title, width] : columns) {
    for (std::size_t column = title.size(); column < width; ++column) report.append(' ');
    report.append(title);
  }
  report.append('\n');
}

void append_row(base::text& report, std::string_view name, std::uint64_t thread, const heap_statistics& heap) noexcept {
  report.append_escaped(name, name_width - 3).pad_to(name_width);
  const std::uint64_t cells[] = {
      thread,
      heap.allocated_blocks,
      heap.allocated_bytes,
      difference(heap.allocated_blocks, heap.freed_blocks),
      difference(heap.allocated_bytes, heap.freed_bytes),
      heap.remote_frees,
      heap.slabs,
      heap.footprint_bytes,
      heap.peak_footprint_bytes,
  };
  static_assert(sizeof cells / sizeof cells[0] == sizeof columns / sizeof columns[0]);
  std::size_t position = 0;
  for (const std::uint64_t cell : cells) {
    const std::size_t width = columns[position].width;
    if (position++ == 0 && cell == 0) {
      for (std::size_t column = 1; column < width; ++column) report.append(' ');
      report.append('-');  // a heap of no thread
    } else {
      report.append(' ').decimal(cell, width - 1);
    }
  }
  report.append('\n');
}

// Writes a size in the form that an option takes.
void append_size(base::text& report, std::uint64_t bytes) noexcept {
  const bool is_in_mebibytes = bytes % (1u << 20) == 0;
  report.decimal(bytes >> (is_in_mebibytes ? 20 : 10)).append(is_in_mebibytes ? 'M' : 'K');
}

void append_advice(base::text& report, const advice& next) noexcept {
  if (next.initial == 0) return;
  report.append("advice: TARN_INITIAL=");
  append_size(report, next.initial);
  report.append(" TARN_INCREMENT=");
  append_size(report, next.increment);
  report.append("; TARN_LIMIT=");
  append_size(report, next.limit);
  report.append(" would have been enough");
  if (next.excess_heaps != 0) {
    report.append("; beyond this run's initial: ").decimal(next.excess_heaps);
    report.append(next.excess_heaps == 1 ? " heap, " : " heaps, ");
    report.decimal(next.excess_bytes).append(" bytes");
  }
  report.append('\n');
}

void append_json_heap(base::text& report, const heap_statistics& heap) noexcept {
  bool is_first = true;
  for (const auto& [name, member, kind] : heap_fields) {
    if (!is_first) report.append(',');
    is_first = false;
    report.json_string(name).append(':').decimal(heap.*member);
  }
}

}  // namespace

void append_table(base::text& report, const report_subject& subject, const process_statistics& process,
                  std::span<const heap_row> heaps, const advice& next) noexcept {
  const shown_heaps table(process.heaps, heaps);
  report.append("tarn: statistics of process ").decimal(subject.process).append(" (");
  report.append_escaped(subject.program, max_name_bytes).append(")\n");
  append_titles(report);
  for (const heap_row& row : table.rows) {
    append_row(report, row.name.empty() ? std::string_view("-") : row.name, row.thread, row.statistics);
  }
  if (table.left_out != 0) report.append("... and ").decimal(table.left_out).append(" more\n");
  append_row(report, "all heaps ever", 0, process.sums);
  if (process.waiting_frees != 0) {
    report.append("waiting frees: ").decimal(process.waiting_frees);
    report.append(process.waiting_frees == 1 ? " block, " : " blocks, ");
    report.decimal(process.waiting_bytes).append(" bytes, freed by other threads; the heaps above still show them\n");
  }
  report.append("footprint: ").decimal(process.footprint_bytes).append(" bytes, peak ");
  report.decimal(process.peak_footprint_bytes).append(" bytes\n");
  report.append("heaps: ").decimal(process.heaps).append(" now, for ").decimal(process.threads_started);
  report.append(process.threads_started == 1 ? " thread started; " : " threads started; ")
      .decimal(process.abandoned_heaps)
      .append(" abandoned, ");
  report.decimal(process.adopted_heaps).append(" adopted\n");
  report.append("purges: ").decimal(process.purges).append(", ").decimal(process.purged_bytes).append(" bytes\n");
  report.append("system calls: ").decimal(process.system_calls.sum()).append(" (");
  bool is_first = true;
  for (const auto& [name, member] : call_fields) {
    if (!is_first) report.append(", ");
    is_first = false;
    report.append(name).append(' ').decimal(process.system_calls.*member);
  }
  report.append(")\n");
  append_advice(report, next);
}

void append_json(base::text& report, const report_subject& subject, const process_statistics& process,
                 std::span<const heap_row> heaps, const advice& next) noexcept {
  const shown_heaps table(process.heaps, heaps);
  report.append("{\"program\":").json_string(clip(subject.program));
  report.append(",\"process\":").decimal(subject.process);
  report.append(",\"heap_rows\":[");
  bool is_first = true;
  for (const heap_row& row : table.rows) {
    if (!is_first) report.append(',');
    is_first = false;
    report.append("{\"name\":").json_string(clip(row.name)).append(",\"thread\":").decimal(row.thread).append(',');
    append_json_heap(report, row.statistics);
    report.append('}');
  }
  report.append("],\"heap_rows_left_out\":").decimal(table.left_out).append(",\"sums\":{");
  append_json_heap(report, process.sums);
  report.append('}');
  for (const auto& [name, member, kind] : process_fields) {
    report.append(',').json_string(name).append(':').decimal(process.*member);
  }
  report.append(",\"system_calls\":{");
  is_first = true;
  for (const auto& [name, member] : call_fields) {
    if (!is_first) report.append(',');
    is_first = false;
    report.json_string(name).append(':').decimal(process.system_calls.*member);
  }
  report.append("},\"advice\":{");
  is_first = true;
  for (const auto& [name, member] : advice_fields) {
    if (!is_first) report.append(',');
    is_first = false;
    report.json_string(name).append(':').decimal(next.*member);
  }
  report.append("}}\n");
}

}  // namespace tarn::api
