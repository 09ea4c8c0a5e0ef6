// The section on the processor: which functions it runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "profiler/findings/cpu.hpp"
#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using analyse::cpu_findings;
using analyse::cpu_function;
using nlohmann::json;

double percent_of(std::uint64_t samples, const cpu_findings& found) {
  return found.samples == 0 ? 0 : 100.0 * static_cast<double>(samples) / static_cast<double>(found.samples);
}

double seconds_of(std::uint64_t samples, const cpu_findings& found) {
  return static_cast<double>(samples) * static_cast<double>(found.interval_ns) * 1e-9;
}

void print_cpu_summary(analyse::analysis& analysis) {
  const cpu_findings& found = analysis.cpu();
  if (found.interval_ns == 0) return;
  fmt::print("CPU: {}, {:.2f} s of processor time", counted(found.samples, "sample"), seconds_of(found.samples, found));
  if (found.is_kernel_hidden) {
    fmt::print("; that in the kernel is not sampled (kernel.perf_event_paranoid)");
  } else if (found.kernel != 0) {
    fmt::print(", {:.0f} % in the kernel", percent_of(found.kernel, found));
  }
  if (found.recorder != 0) fmt::print(", {:.1f} % in the recorder", percent_of(found.recorder, found));
  fmt::print(".\n");
  if (found.cut != 0) {
    fmt::print("{:.0f} % of their stacks are cut: the outermost callers are missing.\n",
               std::ceil(percent_of(found.cut, found)));
  }
  if (found.lost != 0) fmt::print("The kernel had no room for {}.\n", counted(found.lost, "more record"));
}

void print_cpu(analyse::analysis& analysis, std::size_t top) {
  const cpu_findings& found = analysis.cpu();
  if (found.samples == 0) return;
  fmt::print("\nCPU\n       self          total         samples\n");
  for (std::size_t index = 0; index < std::min(top, found.functions.size()); ++index) {
    const cpu_function& function = found.functions[index];
    if (function.self == 0) break;
    const std::string figures = fmt::format(
        "   {:>5.1f} % ± {:<4.1f} {:>5.1f} % ± {:<4.1f} {:>7}  ", percent_of(function.self, found),
        100 * function.self_error, percent_of(function.total, found), 100 * function.total_error, function.self);
    fmt::print("{}{}\n", figures, place_text(function.location, text_width - figures.size()));
  }
}

json json_of_cpu(analyse::analysis& analysis, std::size_t top) {
  const cpu_findings& found = analysis.cpu();
  if (found.interval_ns == 0) return nullptr;
  json functions = json::array(), threads = json::array();
  for (std::size_t index = 0; index < std::min(top, found.functions.size()); ++index) {
    const cpu_function& function = found.functions[index];
    functions.push_back(json_of_location(function.location));
    functions.back().update({{"self", function.self},
                             {"total", function.total},
                             {"self_error", function.self_error},
                             {"total_error", function.total_error}});
  }
  for (const auto& [thread, samples] : found.threads) threads.push_back({{"thread", thread}, {"samples", samples}});
  return {{"samples", found.samples},   {"interval_ns", found.interval_ns},
          {"kernel", found.kernel},     {"kernel_hidden", found.is_kernel_hidden},
          {"recorder", found.recorder}, {"cut", found.cut},
          {"lost", found.lost},         {"functions", functions},
          {"threads", threads}};
}

}  // namespace

const section cpu_section = {"cpu", print_cpu_summary, print_cpu, json_of_cpu};

}  // namespace tarn::command
