// `tarn fleet`: questions to the Parquet files of many hosts. A script of Python asks them, because the engines, DuckDB
// and Spark, are modules of Python.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/base/helper_program.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/cli/option_text.hpp"
#include "profiler/report/html/file.hpp"

namespace tarn::command {
namespace {

namespace fs = std::filesystem;

struct fleet_request {
  std::string folder, query;
  std::string service, before, after, spark, memory;
  std::size_t top = 20;
  double confidence = 0.95;
  bool as_json = false;
  std::string page;  // the HTML report to write; empty: none
};

// The script is in the build tree beside this command, or in libexec of an installed tree.
std::string find_script() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) fail(exit_code::missing, "cannot find fleet.py: /proc is not mounted");
  for (const char* const folder : {".", TARN_PROGRAM_FOLDER}) {
    const fs::path script = (self.parent_path() / folder / "fleet/fleet.py").lexically_normal();
    if (fs::exists(script, error)) return script.string();
  }
  fail(exit_code::missing, "cannot find fleet/fleet.py in {}: install the package tarn-tools again",
       (self.parent_path() / TARN_PROGRAM_FOLDER).lexically_normal().string());
}

// Has the script answer all queries, and writes the page with the answers.
void write_page(const fleet_request& request, std::vector<std::string> command) {
  html_file page(request.page);
  command.insert(command.end(), {"--page", "--", request.folder});
  const helper_result result = run_helper(command, "", true);
  if (result.code == 127) fail(exit_code::missing, "python3 is needed: apt install python3");
  if (result.code != 0) throw CLI::RuntimeError(result.code);  // the script has said why
  page.add(result.output);
  page.end();
}

void run_fleet(const fleet_request& request) {
  if (request.query.empty() == request.page.empty())
    fail(exit_code::usage, "give either a QUERY or --html FILE; see tarn fleet --help");
  std::vector<std::string> command = {"python3",
                                      "-B",
                                      find_script(),
                                      "--service=" + request.service,
                                      "--before=" + request.before,
                                      "--after=" + request.after,
                                      "--spark=" + request.spark,
                                      "--memory=" + request.memory,
                                      fmt::format("--top={}", request.top),
                                      fmt::format("--confidence={}", request.confidence)};
  if (request.as_json) command.emplace_back("--json");
  if (!request.page.empty()) return write_page(request, std::move(command));
  command.insert(command.end(), {"--", request.folder, request.query});
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  fail(exit_code::missing, "python3 is needed: {}; apt install python3", system_error_text(errno));
}

}  // namespace

void add_fleet(CLI::App& application) {
  CLI::App* const command = application.add_subcommand("fleet", "Query the exported recordings of many hosts.");
  const auto request = std::make_shared<fleet_request>();
  command->add_option("FOLDER", request->folder, "Parquet files of tarn export; a path, or a URL such as s3://…")
      ->required();
  command->add_option("QUERY", request->query,
                      "versions, sites, regressions, remedies, outliers, or FILE.sql with a query of your own");
  command->add_option("--service", request->service, "only this service")->type_name("NAME");
  command->add_option("--before", request->before, "the earlier release of regressions")->type_name("VERSION");
  command->add_option("--after", request->after, "the later release")->type_name("VERSION");
  command->add_option("--top", request->top, "number of rows; default 20")->type_name("N")->check(refuse_negative);
  command
      ->add_option("--confidence", request->confidence,
                   "probability that all intervals of regressions hold together: higher finds fewer; default 0.95")
      ->type_name("P")
      ->check(refuse_unless_positive)
      ->check(CLI::Range(0.5, 0.999999));
  command->add_flag("--json", request->as_json, "print JSON instead of a table");
  command->add_option("--html", request->page, "write all answers, with distributions over the hosts, as one HTML page")
      ->type_name("FILE")
      ->excludes("--json");
  command
      ->add_option("--memory", request->memory,
                   "memory that DuckDB or Spark may take, such as 4GB; more is needed for many hosts")
      ->type_name("SIZE");
  command->add_option("--spark", request->spark, "run on Apache Spark instead of DuckDB, such as local[4]")
      ->type_name("MASTER");
  command->footer("share/doc/tarn/guide/fleet.md describes the queries. DuckDB is needed: pip install duckdb.");
  command->callback([request] { run_fleet(*request); });
}

}  // namespace tarn::command
