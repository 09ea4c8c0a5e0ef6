// `tarn diff`: shows the changes between two recordings, site by site, with the predicted beside what came.
#include "profiler/cli/diff.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/cli/option_text.hpp"
#include "profiler/findings/heap/replaced.hpp"
#include "profiler/launch/calibrate.hpp"
#include "profiler/report/html/file.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/views.hpp"

namespace tarn::command {
namespace {

using comparison::diff_request;
using comparison::side;

// Fails if the sites of one recording have no names and those of the other one have: they would all count as gone or as
// new. Most often the change was built in the place of the recorded program.
void require_names(const side& side, const std::string& path, const format::recording& counterpart) {
  for (const format::module_facts* module : unreadable_modules(side.analysis.recording())) {
    const bool is_in_both =
        std::any_of(counterpart.modules.begin(), counterpart.modules.end(), [&](const format::module_facts& candidate) {
          return candidate.path == module->path && candidate.build_id == module->build_id;
        });
    const auto is_nameless = [&](const auto& site) { return site.function.empty() && site.file == module->path; };
    const auto has_nameless = [&](const auto& places) {
      return std::any_of(places.begin(), places.end(), is_nameless);
    };
    if (is_in_both || !(has_nameless(side.sums) || has_nameless(side.locks) || has_nameless(side.calls) ||
                        has_nameless(side.samples) || has_nameless(side.waits)))
      continue;
    fail(exit_code::io_error,
         "{} cannot be compared, because its functions have no names: {} {} since the program loaded it; put the "
         "recorded build back, or next time record a copy of the program (cp server server.before)",
         path, module->path, ::access(module->path.c_str(), F_OK) == 0 ? "was replaced" : "is gone");
  }
}

void diff(const diff_request& request) {
  if (!request.cpu_seconds.empty() && request.cpu_seconds.size() != 2) {
    fail(exit_code::usage, "--cpu-seconds needs two numbers, such as --cpu-seconds 12.3,10.9");
  }
  if (request.hides_names && request.page.empty()) fail(exit_code::usage, "--redact needs --html OUT");
  if (!request.page.empty()) require_template();
  const bool has_cpu_seconds = !request.cpu_seconds.empty();
  const analyse::cost_model costs = machine_costs(false);
  side before(request.before, costs, has_cpu_seconds ? request.cpu_seconds[0] : 0);
  side after(request.after, costs, has_cpu_seconds ? request.cpu_seconds[1] : 0);
  if (!before.has_heap() || !after.has_heap()) {  // what only one of them has is not compared
    before.sums.clear();
    after.sums.clear();
  }
  require_names(before, request.before, after.analysis.recording());
  require_names(after, request.after, before.analysis.recording());
  const comparison::whole_comparison whole = {
      before, after, analyse::compare(before.sums, after.sums), {before, after}, comparison::compared(before, after)};
  if (!request.page.empty()) {
    write_difference(whole, request);
  } else if (request.as_json) {
    print_json(whole, request);
  } else {
    print_text(whole, request);
  }
}

}  // namespace

void add_diff(CLI::App& application) {
  CLI::App* const command =
      application.add_subcommand("diff", "Compare two recordings: what was saved, and what was predicted.");
  const auto request = std::make_shared<diff_request>();
  command->add_option("BEFORE", request->before, "recording before the change")->required();
  command->add_option("AFTER", request->after, "recording of the same work after the change")->required();
  CLI::Option* const as_json =
      command->add_flag("--json", request->as_json, "print JSON (share/doc/tarn/reference/report-json.md)");
  command->add_option("--html", request->page, "write an HTML report of all changes, in one file")
      ->type_name("OUT")
      ->excludes(as_json);
  command->add_flag("--redact", request->hides_names,
                    "leave paths, arguments, your names and the text of remedies out of the HTML report");
  command->add_option("--top", request->top, "number of changes to show; default 10")
      ->type_name("N")
      ->check(refuse_negative);
  command
      ->add_option("--cpu-seconds", request->cpu_seconds,
                   "CPU seconds of both programs without a recorder, if you measured them")
      ->delimiter(',')
      ->check(refuse_unless_positive)
      ->type_name("BEFORE,AFTER");
  command->callback([request] { diff(*request); });
}

}  // namespace tarn::command
