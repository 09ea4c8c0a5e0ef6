#include "profiler/lab/count.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "profiler/lab/process.hpp"

namespace tarn::lab {
namespace {

// Parses 1,234,567 before `unit`.
double number_before(std::string_view text, std::string_view unit) {
  std::size_t end = text.find(unit);
  if (end == text.npos) return -1;
  std::string digits;
  while (end > 0 && (text[end - 1] == ',' || (text[end - 1] >= '0' && text[end - 1] <= '9'))) {
    --end;
    if (text[end] != ',') digits.insert(digits.begin(), text[end]);
  }
  return digits.empty() ? -1 : std::strtod(digits.c_str(), nullptr);
}

}  // namespace

std::map<std::string, double> read_heap_summary(const std::string& errors) {
  const std::size_t begin = errors.find("total heap usage: ");
  if (begin == std::string::npos) return {};
  const std::string_view line = std::string_view(errors).substr(begin, errors.find('\n', begin) - begin);
  const double allocations = number_before(line, " allocs"), frees = number_before(line, " frees"),
               bytes = number_before(line, " bytes");
  if (allocations < 0 || frees < 0 || bytes < 0) return {};
  return {{"allocations", allocations}, {"frees", frees}, {"bytes", bytes}};
}

std::map<std::string, double> read_call_summary(const std::string& table) {
  const std::size_t total = table.rfind(" total");
  if (total == std::string::npos) return {};
  const std::size_t begin = table.rfind('\n', total);
  std::vector<double> columns;  // % time, seconds, us/call, calls, and errors if there were any
  const char* position = table.c_str() + (begin == std::string::npos ? 0 : begin);
  for (char* end = nullptr;; position = end) {
    const double number = std::strtod(position, &end);
    if (end == position) break;
    columns.push_back(number);
  }
  if (columns.size() < 4) return {};
  return {{"system calls", columns[3]}};
}

count_result run_counted(counter tool_kind, const job& job, std::chrono::seconds longest) {
  const bool uses_strace = tool_kind == counter::strace;
  const std::string tool = uses_strace ? "strace" : "valgrind";
  std::vector<std::string> arguments = {tool};
  std::vector<std::string> environment = job.environment;
  if (uses_strace) {
    arguments.insert(arguments.end(), {"-f", "-c", "-U", "time-percent,time-total,time-avg,calls,errors,name"});
    // The tool itself must not run on the allocator under test.
    if (!job.preload.empty()) arguments.insert(arguments.end(), {"-E", "LD_PRELOAD=" + job.preload});
  } else {
    arguments.emplace_back("--tool=memcheck");
    arguments.emplace_back("--leak-check=no");
    if (!job.preload.empty()) environment.push_back("LD_PRELOAD=" + job.preload);
  }
  arguments.insert(arguments.end(), job.arguments.begin(), job.arguments.end());
  const process_result process = run_program(arguments, environment, longest);
  if (process.code == 127) return {{}, fmt::format("no {0} (Debian package {0}): nothing is counted by it", tool)};
  count_result result{uses_strace ? read_call_summary(process.errors) : read_heap_summary(process.errors), {}};
  if (process.code != 0 || result.counts.empty()) {
    result.counts.clear();
    result.why_not =
        fmt::format("{} counts nothing here: {}", tool, process.is_late ? "no end" : last_line(process.errors));
  }
  return result;
}

}  // namespace tarn::lab
