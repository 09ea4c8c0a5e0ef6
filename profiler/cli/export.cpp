// `tarn export`: writes a recording in the formats of other tools.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/base/output_file.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/cli/labels.hpp"
#include "profiler/export/formats.hpp"
#include "profiler/export/gzip.hpp"
#include "profiler/export/parquet.hpp"
#include "profiler/export/push.hpp"
#include "profiler/launch/calibrate.hpp"
#include "profiler/report/html/file.hpp"
#include "profiler/report/report.hpp"

namespace tarn::command {
namespace {

struct export_request {
  std::string path, format, measure, output = "-";
  std::string push;  // the store
  std::vector<std::string> labels;
};

// Describes one output format. `is_text`: it may be shown on a terminal. `has_rows`: it has labels and remedies.
struct export_format {
  const char* name;
  bool is_text;
  void (*write)(const exports::profile& profile, exports::measure weight, const exports::row_labels& labels,
                const exports::sink& sink);
  bool has_rows = false;
};
constexpr std::array export_formats = {
    export_format{"collapsed", true,
                  [](const auto& profile, exports::measure weight, const auto&, const auto& sink) {
                    exports::write_collapsed(profile, weight, sink);
                  }},
    export_format{"firefox", true,
                  [](const auto& profile, exports::measure, const auto&, const auto& sink) {
                    sink(exports::as_firefox(profile));
                  }},
    export_format{"parquet", false,
                  [](const auto& profile, exports::measure, const auto& labels, const auto& sink) {
                    sink(as_parquet(profile, labels));
                  },
                  true},
    export_format{"perfetto", false,
                  [](const auto& profile, exports::measure, const auto&, const auto& sink) {
                    sink(exports::as_perfetto(profile));
                  }},
    export_format{"pprof", false,
                  [](const auto& profile, exports::measure, const auto&, const auto& sink) {
                    sink(exports::gzip(exports::as_pprof(profile, exports::time_of(profile))));
                  }},
    export_format{"rows", true,
                  [](const auto& profile, exports::measure, const auto& labels, const auto& sink) {
                    exports::write_rows(profile, labels, sink);
                  },
                  true},
    export_format{"speedscope", true,
                  [](const auto& profile, exports::measure, const auto&, const auto& sink) {
                    exports::write_speedscope(profile, sink);
                  }},
};

// Returns the measure that was named; else bytes where they were recorded, else the first recorded measure.
exports::measure measure_of(const export_request& request, const exports::profile& profile) {
  const auto has = [&](exports::measure measure) {
    return std::find(profile.used_measures().begin(), profile.used_measures().end(), measure) !=
           profile.used_measures().end();
  };
  if (request.measure.empty()) return has(exports::bytes) ? exports::bytes : profile.used_measures().front();
  const auto match = std::find_if(exports::measures.begin(), exports::measures.end(),
                                  [&](const auto& measure) { return measure.name == request.measure; });
  return static_cast<exports::measure>(match - exports::measures.begin());
}

// Returns the cost model of this machine. Without one, rows have no costs of the heap and no savings.
analyse::cost_model known_costs() {
  try {
    return machine_costs(false);
  } catch (const failure& reason) {
    print_error("tarn: costs of the heap and savings are written as 0, because they are unknown: {}\n", reason.what());
    return {};
  }
}

void run_push(const export_request& request) {
  analyse::analysis analysis(read_recording(request.path));
  push(exports::profile(analysis), request.push, labels_of(request.labels));
}

void run_export(const export_request& request) {
  if (!request.push.empty()) return run_push(request);
  if (request.format.empty())
    fail(exit_code::usage, "--format FORMAT or --push URL is required; see tarn export --help");
  const export_format& format =
      *std::find_if(export_formats.begin(), export_formats.end(),
                    [&](const export_format& candidate) { return candidate.name == request.format; });
  if (!request.measure.empty() && request.format != "collapsed") {
    fail(exit_code::usage, "--measure works with --format collapsed only; {} contains all measures", request.format);
  }
  if (!format.is_text && request.output == "-" && ::isatty(STDOUT_FILENO) == 1) {
    fail(exit_code::usage, "{} is binary and cannot be written to a terminal; use -o FILE or a pipe", request.format);
  }
  if (!request.labels.empty() && !format.has_rows)
    fail(exit_code::usage, "--label works with --format parquet and rows, and with --push, only");
  keep_recording(request.output);
  const exports::row_labels labels = labels_of(request.labels);
  analyse::analysis analysis(read_recording(request.path), format.has_rows ? known_costs() : analyse::cost_model());
  const exports::profile profile(analysis);
  output_file file(request.output);
  format.write(profile, measure_of(request, profile), labels, [&](std::string_view part) { file.put(part); });
  file.end();
}

}  // namespace

void add_export(CLI::App& application) {
  CLI::App* const command =
      application.add_subcommand("export", "Convert a recording for flame graphs, profilers and databases.");
  const auto request = std::make_shared<export_request>();
  std::vector<std::string> formats, names;
  for (const export_format& format : export_formats) formats.emplace_back(format.name);
  for (const exports::measure_info& measure : exports::measures) names.emplace_back(measure.name);
  command->add_option("FILE", request->path, "recording to convert")->required();
  command->add_option("--format", request->format, "output format")->type_name("FORMAT")->check(CLI::IsMember(formats));
  command->add_option("-o,--output", request->output, "file to write; default standard output")->type_name("FILE");
  command
      ->add_option(
          "--measure", request->measure,
          fmt::format("measure for --format collapsed, which contains one: {}; default bytes", fmt::join(names, ", ")))
      ->type_name("NAME")
      ->check(CLI::IsMember(names));
  add_label_option(*command, request->labels);
  command->add_option("--push", request->push, "send the profile to the Pyroscope server at URL")
      ->type_name("URL")
      ->excludes("--format")
      ->excludes("--output")
      ->excludes("--measure");
  command->footer("share/doc/tarn/guide/export.md lists the tools that open each format.");
  command->callback([request] { run_export(*request); });
}

}  // namespace tarn::command
