#include <nlohmann/json.hpp>

#include "profiler/export/formats.hpp"
#include "profiler/export/frames.hpp"
#include "profiler/findings/heap/findings.hpp"

namespace tarn::exports {

std::vector<column> row_columns() {
  std::vector<column> columns = {
      {"program", column_type::text},   {"machine", column_type::text}, {"process", column_type::number},
      {"started", column_type::number}, {"source", column_type::text},  {"category", column_type::text},
      {"operation", column_type::text}, {"thread", column_type::text},  {"freed_by", column_type::text},
      {"function", column_type::text},  {"file", column_type::text},    {"line", column_type::number},
      {"stack", column_type::text}};
  for (const measure_info& measure : measures) columns.push_back({measure.name, column_type::number});
  return columns;
}

void write_rows(const profile& profile, const sink& output) {
  const format::recording& recording = profile.recording();
  frames frames(profile);
  for (const sample& sample : profile.samples()) {
    std::vector<analyse::code_location> stack;  // innermost first
    for (const std::uint32_t index : profile.stacks()[sample.site]) {
      const std::vector<analyse::code_location>& lines = *profile.locations()[index].lines;
      stack.insert(stack.end(), lines.begin(), lines.end());
    }
    const std::vector<analyse::code_location> own_frames = analyse::stack_of(std::move(stack));
    std::string whole;
    const std::vector<std::uint32_t> numbers = frames.stack_of(sample);
    for (std::size_t index = 1; index + 1 < numbers.size(); ++index) {
      whole += (whole.empty() ? "" : ";") + frames.list()[numbers[index]].name;
    }
    nlohmann::json row = {{"program", program_name(recording)},
                          {"machine", recording.program.machine},
                          {"process", recording.program.process},
                          {"started", recording.program.started},
                          {"source", name(sample.source)},
                          {"category", sample.category},
                          {"operation", sample.operation},
                          {"thread", thread_name(recording, sample.thread)},
                          {"freed_by", thread_name(recording, sample.freed_by)},
                          {"function", own_frames.empty() ? std::string(no_stack) : frame_name(own_frames.front())},
                          {"file", own_frames.empty() ? "" : own_frames.front().file},
                          {"line", own_frames.empty() ? 0 : own_frames.front().line},
                          {"stack", whole}};
    for (std::size_t index_of_measure = 0; index_of_measure < measure_count; ++index_of_measure)
      row[measures[index_of_measure].name] = sample.sums[index_of_measure];
    output(row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
  }
}

}  // namespace tarn::exports
