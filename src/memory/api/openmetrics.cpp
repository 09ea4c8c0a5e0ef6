// Writes the report as OpenMetrics text (https://openmetrics.io, version 1.0): all samples of a family stand together
// under its type, a counter's name ends in _total, and the last line is # EOF.
#include "memory/api/statistics_fields.hpp"
#include "memory/api/statistics_text.hpp"

namespace tarn::api {
namespace {

constexpr std::size_t max_label_bytes = 64;

// Labels are UTF-8 in which quotes, backslashes and newlines are escaped. A name may hold any bytes, so every byte
// that is not plain becomes an underscore.
void append_label(base::text& report, std::string_view name, std::string_view value) noexcept {
  report.append(name).append("=\"");
  for (std::size_t position = 0; position < value.size() && position < max_label_bytes; ++position) {
    const char byte = value[position];
    const bool is_plain = byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
    report.append(is_plain ? byte : '_');
  }
  report.append('"');
}

void append_family(base::text& report, std::string_view prefix, std::string_view name, field_kind kind) noexcept {
  report.append("# TYPE ").append(prefix).append(name);
  report.append(kind == field_kind::count ? " counter\n" : " gauge\n");
}

void append_name(base::text& report, std::string_view prefix, std::string_view name, field_kind kind) noexcept {
  report.append(prefix).append(name).append(kind == field_kind::count ? "_total" : "");
}

void append_value(base::text& report, std::uint64_t value) noexcept { report.append("} ").decimal(value).append('\n'); }

// Writes the labels of the process, which every sample has.
void append_process(base::text& report, const report_subject& subject) noexcept {
  report.append('{');
  append_label(report, "program", subject.program);
  report.append(",process=\"").decimal(subject.process).append('"');
}

}  // namespace

void append_openmetrics(base::text& report, const report_subject& subject, const process_statistics& process,
                        std::span<const heap_row> heaps, const advice& next) noexcept {
  const auto rows = heaps.first(heaps.size() < max_heap_rows ? heaps.size() : max_heap_rows);
  for (const auto& [name, member, kind] : heap_fields) {
    append_family(report, "tarn_heap_", name, kind);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      append_name(report, "tarn_heap_", name, kind);
      append_process(report, subject);
      // Names need not differ, and an ended thread has no number: the row makes the labels unique.
      report.append(",row=\"").decimal(row).append("\",thread=\"").decimal(rows[row].thread).append("\",");
      append_label(report, "heap", rows[row].name);
      append_value(report, rows[row].statistics.*member);
    }
  }
  const auto append_one = [&](std::string_view prefix, std::string_view name, field_kind kind, std::uint64_t value) {
    append_family(report, prefix, name, kind);
    append_name(report, prefix, name, kind);
    append_process(report, subject);
    append_value(report, value);
  };
  for (const auto& [name, member, kind] : heap_fields) append_one("tarn_all_heaps_", name, kind, process.sums.*member);
  for (const auto& [name, member, kind] : process_fields) append_one("tarn_", name, kind, process.*member);
  append_family(report, "tarn_", "system_calls", field_kind::count);
  for (const auto& [name, member] : call_fields) {
    append_name(report, "tarn_", "system_calls", field_kind::count);
    append_process(report, subject);
    report.append(',');
    append_label(report, "call", name);
    append_value(report, process.system_calls.*member);
  }
  for (const auto& [name, member] : advice_fields) append_one("tarn_advice_", name, field_kind::level, next.*member);
  report.append("# EOF\n");
}

}  // namespace tarn::api
