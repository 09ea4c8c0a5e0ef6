// `tarn report`: shows the findings of a recording, as text for a terminal, as JSON for programs and as an HTML report.
#include "profiler/report/report.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/cli/option_text.hpp"
#include "profiler/format/reader.hpp"
#include "profiler/launch/calibrate.hpp"
#include "profiler/report/html/file.hpp"

namespace tarn::command {

format::recording parse_recording(const std::string& path, const std::string& bytes) {
  try {
    format::recording recording = format::parse(bytes);
    if (!recording.damage.empty())
      print_error("tarn: {}: {}; the report covers the part before the damage\n", path, recording.damage);
    if (recording.damage.empty() && recording.has_ended && recording.work.is_missing())
      print_error(
          "tarn: {}: the cost of recording is missing at its end: the file was cut, or tarn record was killed; "
          "the recorder's time counts as the program's\n",
          path);
    return recording;
  } catch (const format::unreadable& reason) {
    fail(exit_code::io_error, "{}: {}", path, reason.what());
  }
}

std::string recording_content(const std::string& path) {
  try {
    return format::content_of(path);
  } catch (const format::unreadable& reason) {
    const bool is_missing = ::access(path.c_str(), F_OK) != 0 && errno == ENOENT;
    fail(exit_code::io_error, "{}{}", reason.what(),
         is_missing ? fmt::format("; make a recording with: tarn record{} -- PROGRAM",
                                  path == report_request().path ? "" : " -o " + path)
                    : "");
  }
}

format::recording read_recording(const std::string& path) { return parse_recording(path, recording_content(path)); }

void replay_dearest(analyse::analysis& analysis, const std::vector<analyse::site>& sites) {
  constexpr std::size_t max_replays = 10;
  try {
    analysis.replay(sites, max_replays, replays_of);
  } catch (const failure& reason) {
    print_error("tarn: {}; predictions use the cost model only\n", reason.what());
  }
}

namespace {

// Fails if none of the requested sources was recorded.
void require_sources(const report_request& request, const format::recording& recording) {
  const auto is_recorded = [&](const std::string& source) {
    if (source == "cpu") return recording.cpu.interval_ns != 0;
    return recording.program.has_source(source == "syscalls" ? "system calls" : source);
  };
  if (request.sources.empty() || std::any_of(request.sources.begin(), request.sources.end(), is_recorded)) return;
  fail(exit_code::usage, "{} has no {}; record the program with tarn record --{}", request.path,
       fmt::join(request.sources, " and no "), fmt::join(request.sources, " --"));
}

// Removes the other sources, so that the report is the one of a recording without them.
void keep_only(const std::vector<std::string>& sources, format::recording& recording) {
  if (sources.empty()) return;
  const auto wants = [&](std::string_view name) {
    return std::find(sources.begin(), sources.end(), name) != sources.end();
  };
  if (!wants("heap")) {
    recording.cells.clear();
    for (format::thread_facts& thread : recording.threads)
      thread.unknown = thread.allocations = thread.frees = thread.bytes = 0;
  }
  if (!wants("locks")) {
    recording.acquisitions.clear();
    recording.waits.clear();
    recording.orders.clear();
  }
  if (!wants("syscalls")) recording.calls.clear();
  if (!wants("cpu")) recording.cpu = {};
  std::erase_if(recording.program.sources, [&](const std::string& source) {
    return !wants(source.starts_with("system calls") ? "syscalls" : std::string_view(source));
  });
}

void report(const report_request& request) {
  if (request.hides_names && request.page.empty()) fail(exit_code::usage, "--redact needs --html OUT");
  if (!request.page.empty()) require_template();
  std::string bytes = recording_content(request.path);
  format::recording recording = parse_recording(request.path, bytes);
  std::optional<format::recording> whole;
  if (request.part.is_asked()) {
    const format::interval interval = part_of(recording, request.part);
    whole = std::exchange(recording, format::part_of(recording, bytes, interval));
  }
  require_sources(request, recording);
  keep_only(request.sources, recording);
  if (whole) bytes.clear();  // a part has no timeline
  analyse::analysis analysis(std::move(recording), machine_costs(request.must_calibrate),
                             {.bytes = std::move(bytes),
                              .measured_cpu_ns = request.cpu_seconds * 1e9,
                              .whole = whole ? &*whole : nullptr,
                              .wrappers = request.wrappers,
                              .separates_stacks = request.separates_stacks});
  whole.reset();
  if (!request.is_quick) replay_dearest(analysis, analysis.sites());
  if (!request.page.empty()) return write_html(analysis, request);
  request.as_json ? print_json(analysis, request) : print_text(analysis, request);
}

}  // namespace

void add_report(CLI::App& application) {
  CLI::App* const command =
      application.add_subcommand("report", "Show what the sites of a recording cost, and what each fix saves.");
  const auto request = std::make_shared<report_request>();
  command->add_option("FILE", request->path, "recording to report on; default tarn.rec");
  CLI::Option* const as_json =
      command->add_flag("--json", request->as_json, "print JSON (share/doc/tarn/reference/report-json.md)");
  command->add_option("--html", request->page, "write an HTML report of all sites, in one file")
      ->type_name("OUT")
      ->excludes(as_json);
  command->add_flag("--redact", request->hides_names,
                    "leave paths, arguments, your names and source lines out of the HTML report");
  command->add_option("--top", request->top, "number of sites to show; default 10")
      ->type_name("N")
      ->check(refuse_negative);
  std::vector<std::string> categories;
  for (std::size_t index = 0; index < analyse::category_count; ++index)
    categories.emplace_back(analyse::name(static_cast<analyse::heap_category>(index)));
  command
      ->add_option_function<std::string>(
          "--category",
          [request, categories](const std::string& name) {
            request->only = static_cast<analyse::heap_category>(std::find(categories.begin(), categories.end(), name) -
                                                                categories.begin());
          },
          "show only heap sites of one category: same-thread (freed by the thread that allocates), cross-thread (freed "
          "by others), start-up (allocated before other threads start), kept (not freed)")
      ->type_name("NAME")
      ->check(CLI::IsMember(categories));
  command->add_option("--source", request->sources, "show only these of the recorded sources; default: all of them")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false)  // else it would take FILE, too
      ->check(CLI::IsMember({"heap", "locks", "syscalls", "cpu"}));
  command->add_flag("--alternatives", request->has_alternatives,
                    "show also the remedies that could be taken instead of a site's first one");
  command
      ->add_option("--start", request->part.begin, "leave out everything before this time of the run: 2s, 500ms, 20%")
      ->type_name("TIME");
  command->add_option("--end", request->part.end, "leave out everything after this time of the run")->type_name("TIME");
  command
      ->add_option("--wrapper", request->wrappers,
                   "function that only allocates for its callers, such as os::malloc of the JVM; may be repeated")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)  // as above
      ->type_name("NAME");
  command->add_flag("--stacks", request->separates_stacks, "show one site for each call stack, not for each function");
  command
      ->add_option("--cpu-seconds", request->cpu_seconds,
                   "CPU seconds of the program in a run without tarn, instead of the estimate of what recording cost")
      ->check(refuse_unless_positive)
      ->type_name("SECONDS");
  command->add_flag("--calibrate", request->must_calibrate, "measure the cost model of this machine again");
  command->add_flag("--quick", request->is_quick, "predict with the cost model only, without replaying trace excerpts");
  command->callback([request] { report(*request); });
}

}  // namespace tarn::command
