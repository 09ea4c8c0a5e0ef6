#include <nlohmann/json.hpp>

#include "analyse/findings.hpp"
#include "exports/formats.hpp"
#include "exports/frames.hpp"

namespace tarn::exports {

std::vector<column> row_columns() {
  std::vector<column> all = {
      {"program", column_type::text},   {"machine", column_type::text}, {"process", column_type::number},
      {"started", column_type::number}, {"source", column_type::text},  {"category", column_type::text},
      {"what", column_type::text},      {"thread", column_type::text},  {"freed_by", column_type::text},
      {"function", column_type::text},  {"file", column_type::text},    {"line", column_type::number},
      {"stack", column_type::text}};
  for (const measure_info& each : measures) all.push_back({each.name, column_type::number});
  return all;
}

void write_rows(const profile& of, const sink& to) {
  const format::recording& in = of.recorded();
  frames known(of);
  for (const sample& each : of.samples()) {
    std::vector<analyse::place> stack;  // innermost first
    for (const std::uint32_t place : of.stacks()[each.site]) {
      const std::vector<analyse::place>& lines = *of.locations()[place].lines;
      stack.insert(stack.end(), lines.begin(), lines.end());
    }
    const std::vector<analyse::place> own = analyse::stack_of(std::move(stack));
    std::string whole;
    const std::vector<std::uint32_t> numbers = known.of(each);
    for (std::size_t at = 1; at + 1 < numbers.size(); ++at) {
      whole += (whole.empty() ? "" : ";") + known.all()[numbers[at]].name;
    }
    nlohmann::json row = {{"program", program_name(in)},
                          {"machine", in.program.machine},
                          {"process", in.program.process},
                          {"started", in.program.started},
                          {"source", name(each.from)},
                          {"category", each.category},
                          {"what", each.what},
                          {"thread", thread_name(in, each.thread)},
                          {"freed_by", thread_name(in, each.freed_by)},
                          {"function", own.empty() ? std::string(no_stack) : frame_name(own.front())},
                          {"file", own.empty() ? "" : own.front().file},
                          {"line", own.empty() ? 0 : own.front().line},
                          {"stack", whole}};
    for (std::size_t which = 0; which < measure_count; ++which) row[measures[which].name] = each.counted[which];
    to(row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
  }
}

}  // namespace tarn::exports
