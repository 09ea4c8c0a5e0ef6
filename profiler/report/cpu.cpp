// The section on the processor: which functions it runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/findings/heap/wrappers.hpp"
#include "profiler/findings/time/cpu.hpp"
#include "profiler/report/sections.hpp"
#include "profiler/report/stack_text.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using analyse::cpu_findings;
using analyse::cpu_function;
using nlohmann::json;

double percent_of(std::uint64_t samples, const cpu_findings& findings) {
  return findings.samples == 0 ? 0 : 100.0 * static_cast<double>(samples) / static_cast<double>(findings.samples);
}

double seconds_of(std::uint64_t samples, const cpu_findings& findings) {
  return static_cast<double>(samples) * static_cast<double>(findings.interval_ns) * 1e-9;
}

// Says how much of the running time the samples stand for, where it is clearly less than all.
void print_coverage(analyse::analysis& analysis) {
  constexpr double full_share = 0.9, deviations = 3;
  const cpu_findings& findings = analysis.cpu();
  const double running_ns = static_cast<double>(analysis.time().whole.sums[format::running_ns]);
  const double expected = running_ns / static_cast<double>(findings.interval_ns);
  const double samples = static_cast<double>(findings.samples);
  if (findings.is_kernel_hidden || samples >= full_share * expected ||
      samples >= expected - deviations * std::sqrt(expected))
    return;
  fmt::print(
      "The samples cover {:.0f} % of the running time: threads that run for less than 5 ms in all, or for some 10 µs\n"
      "   at a time, have too few.\n",
      100 * samples / expected);
}

void print_brief_threads(const cpu_findings& findings) {
  constexpr double min_share = 0.01;
  const double share = findings.shares.share_of_brief();
  if (share < min_share) return;
  const std::uint64_t samples = findings.shares.samples_of_brief();
  fmt::print("Threads that ran for less than {:.0f} ms took {:.0f} % of the running time, and have {}.\n",
             static_cast<double>(findings.interval_ns) * 1e-6, 100 * share,
             samples == 0 ? "no sample: no function has that time, and each error contains it"
                          : count_text(samples, "sample") + ", which stand for all of it");
}

void print_cpu_summary(analyse::analysis& analysis) {
  const cpu_findings& findings = analysis.cpu();
  if (findings.interval_ns == 0) return;
  fmt::print("CPU: {}, {:.2f} s of CPU time", count_text(findings.samples, "sample"),
             seconds_of(findings.samples, findings));
  if (findings.is_kernel_hidden) {
    fmt::print("; that in the kernel is not sampled (kernel.perf_event_paranoid)");
  } else if (findings.kernel != 0) {
    fmt::print(", {:.0f} % in the kernel", percent_of(findings.kernel, findings));
  }
  if (findings.recorder != 0) fmt::print(", {:.1f} % in the recorder", percent_of(findings.recorder, findings));
  fmt::print(".\n");
  print_coverage(analysis);
  print_brief_threads(findings);
  if (findings.cut != 0) {
    fmt::print("{:.0f} % of their stacks are cut: the outermost callers are missing.\n",
               std::ceil(percent_of(findings.cut, findings)));
  }
  if (findings.without_python != 0) {
    fmt::print(
        "{:.0f} % of their stacks lack the Python functions: the program went on before they were read, or was "
        "changing them.\n",
        std::ceil(percent_of(findings.without_python, findings)));
  }
  if (findings.lost != 0) fmt::print("The kernel dropped {}.\n", count_text(findings.lost, "more record"));
}

void print_cpu(analyse::analysis& analysis, std::size_t top) {
  const cpu_findings& findings = analysis.cpu();
  if (findings.samples == 0) return;
  const auto& functions = findings.functions;
  // Instances of one template have one short name: those are shown with their template arguments.
  std::map<std::string, std::size_t> functions_by_title;
  for (const cpu_function& function : functions) ++functions_by_title[function_text(function.location, text_width)];
  const auto title_of = [&](const analyse::code_location& location, std::size_t columns) {
    const bool is_unique = functions_by_title[function_text(location, text_width)] == 1;
    return is_unique ? location_text(location, columns) : instance_text(location, columns);
  };
  const auto print_function = [&](const cpu_function& function) {
    const std::string figures =
        fmt::format("   {:>5.1f} % ± {:<4.1f} {:>5.1f} % ± {:<4.1f} {:>7}  ", 100 * function.self_share.share,
                    100 * function.self_share.error, 100 * function.total_share.share, 100 * function.total_share.error,
                    function.self);
    fmt::print("{}{}\n", figures, title_of(function.location, text_width - figures.size()));
  };
  fmt::print("\nCPU\n       self          total         samples\n");
  std::size_t index = 0;
  for (; index < std::min(top, functions.size()) && functions[index].self != 0; ++index)
    print_function(functions[index]);
  // What is left has less or nothing of its own, but what it calls may cost much.
  std::vector<const cpu_function*> callers;
  for (; index < functions.size(); ++index) {
    if (functions[index].total > functions[index].self && !analyse::is_runtime_module(functions[index].location.module))
      callers.push_back(&functions[index]);
  }
  std::stable_sort(callers.begin(), callers.end(),
                   [](const auto* a, const auto* b) { return a->total_share.share > b->total_share.share; });
  if (callers.size() > top) callers.resize(top);
  if (!callers.empty()) fmt::print("   Other functions, by what they and their callees take:\n");
  for (const cpu_function* const function : callers) print_function(*function);
}

json json_of_cpu(analyse::analysis& analysis, std::size_t top) {
  const cpu_findings& findings = analysis.cpu();
  if (findings.interval_ns == 0) return nullptr;
  json functions = json::array(), threads = json::array();
  for (std::size_t index = 0; index < std::min(top, findings.functions.size()); ++index) {
    const cpu_function& function = findings.functions[index];
    functions.push_back(json_of_location(function.location));
    functions.back().update({{"self", function.self},
                             {"total", function.total},
                             {"self_share", function.self_share.share},
                             {"total_share", function.total_share.share},
                             {"self_error", function.self_share.error},
                             {"total_error", function.total_share.error}});
  }
  for (const auto& [thread, samples] : findings.threads) threads.push_back({{"thread", thread}, {"samples", samples}});
  return {{"samples", findings.samples},
          {"interval_ns", findings.interval_ns},
          {"kernel", findings.kernel},
          {"kernel_hidden", findings.is_kernel_hidden},
          {"recorder", findings.recorder},
          {"cut", findings.cut},
          {"without_python", findings.without_python},
          {"lost", findings.lost},
          {"functions", functions},
          {"threads", threads}};
}

}  // namespace

const section cpu_section = {"cpu", print_cpu_summary, print_cpu, json_of_cpu};

}  // namespace tarn::command
