// `tarn lab`: runs the experiments, each beside its original and its peers.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/base/output_file.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/cli/lab_compare.hpp"
#include "profiler/cli/lab_text.hpp"
#include "profiler/lab/json.hpp"
#include "profiler/lab/machine.hpp"
#include "profiler/lab/record.hpp"
#include "profiler/lab/run.hpp"
#include "profiler/launch/library.hpp"
#include "profiler/report/html/file.hpp"
#include "profiler/report/values.hpp"

// Defined by lab_template.S; empty if the build had no npm.
extern "C" const char tarn_lab_page_begin[], tarn_lab_page_end[];

namespace tarn::command {

std::string_view lab_template() {
  return {tarn_lab_page_begin, static_cast<std::size_t>(tarn_lab_page_end - tarn_lab_page_begin)};
}

namespace {

namespace fs = std::filesystem;

struct lab_request {
  std::vector<std::string> names, set;
  std::string json, html, record;
  std::uint64_t rounds = 0;  // 0: as the experiments define
  bool is_quick = false, lists_experiments = false;
};

std::string join(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

void print_parameter(const lab::parameter& parameter) {
  const std::string values = fmt::format("{}={}", parameter.name, join(parameter.usual));
  fmt::print("    {:<44} {}; quick {}; {} to {}\n", values, parameter.description, join(parameter.quick),
             parameter.minimum, parameter.maximum);
}

void list_experiments() {
  for (const lab::experiment& number : lab::experiments()) {
    fmt::print("{:<12} {}\n", number.name, number.claim);
    for (const lab::sweep& sweep : number.sweeps) print_parameter(sweep.axis);
    for (const lab::parameter& sweep : number.parameters) print_parameter(sweep);
  }
}

std::vector<const lab::experiment*> select_experiments(const std::vector<std::string>& names) {
  std::vector<const lab::experiment*> selected;
  std::string names_known;
  for (const lab::experiment& experiment : lab::experiments()) {
    names_known += (names_known.empty() ? "" : ", ") + experiment.name;
    if (names.empty() || std::find(names.begin(), names.end(), experiment.name) != names.end())
      selected.push_back(&experiment);
  }
  for (const std::string& name : names) {
    const bool is_known = std::any_of(selected.begin(), selected.end(),
                                      [&](const lab::experiment* experiment) { return experiment->name == name; });
    if (!is_known) fail(exit_code::usage, "unknown experiment {}; the experiments are {}", name, names_known);
  }
  return selected;
}

// The programs are in the build tree beside this command, or in libexec of an installed tree.
lab::run_folders find_folders(const std::string& program) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) fail(exit_code::missing, "cannot find the lab's programs: /proc is not mounted");
  lab::run_folders folders;
  folders.libraries = fs::path(find_library(lab::drop_in, {})).parent_path().string();
  for (const char* const folder : {".", TARN_PROGRAM_FOLDER}) {
    const fs::path folder_path = (self.parent_path() / folder).lexically_normal();
    if (!fs::exists(folder_path / ("lab-" + program), error)) continue;
    folders.programs = folder_path.string();
    return folders;
  }
  fail(exit_code::missing, "cannot find lab-{} in {}: install the package tarn-lab, or build with TARN_BUILD_LAB=ON",
       program, (self.parent_path() / TARN_PROGRAM_FOLDER).lexically_normal().string());
}

void write_text(const std::string& path, const std::string& text) {
  output_file file(path);
  file.put(text);
  file.end();
}

// Shows the progress only on a terminal, where it stays on one line.
class progress_line {
 public:
  void operator()(const std::string& text) {
    if (!is_shown_) return;
    print_error("\r\033[K{}", cut(text, text_width - 1));
    std::fflush(stderr);
  }
  ~progress_line() {
    if (is_shown_) std::fputs("\r\033[K", stderr);
  }

 private:
  bool is_shown_ = ::isatty(STDERR_FILENO) == 1;
};

int run_lab(const lab_request& request) {
  if (request.lists_experiments) {
    list_experiments();
    return 0;
  }
  if (!request.html.empty()) require_template(lab_template());
  const std::vector<const lab::experiment*> experiments = select_experiments(request.names);
  std::map<std::string, lab::settings> settings;
  try {
    settings = lab::read_settings(experiments, request.set);
  } catch (const lab::problem& problem) {
    fail(exit_code::usage, "{}", problem.what());
  }
  const lab::run_folders folders = find_folders(experiments.front()->program);
  const auto machine = lab::machine_facts();
  const bool shows_text = request.json != "-";
  if (shows_text) {
    std::string facts;
    for (const auto& [name, value] : machine) facts += (facts.empty() ? "" : "; ") + fmt::format("{} {}", name, value);
    fmt::print("{}\n", wrap_text(facts, "", text_width));
  }
  std::vector<lab::result> results;
  bool is_broken = false;
  for (const lab::experiment* const experiment : experiments) {
    lab::request options{request.is_quick, {}, settings[experiment->name]};
    if (request.rounds != 0) options.rounds = request.rounds;
    {
      progress_line line;
      results.push_back(lab::run(*experiment, options, folders, [&](const std::string& text) { line(text); }));
    }
    is_broken = is_broken || !results.back().failure.empty();
    if (shows_text) {
      fmt::print("{}", lab_text(results.back()));
      std::fflush(stdout);
    }
  }
  const nlohmann::ordered_json document = lab::as_json(results, request.is_quick, machine);
  if (!request.json.empty()) write_text(request.json, document.dump(1) + "\n");
  if (!request.html.empty()) {
    html_file page(request.html, lab_template());
    page.add(document.dump());
    page.end();
  }
  if (!request.record.empty()) {
    try {
      const std::string folder = lab::record(request.record, results, machine, request.is_quick);
      if (shows_text) fmt::print("stored in {}\n", folder);
    } catch (const lab::problem& problem) {
      fail(exit_code::io_error, "{}", problem.what());
    }
  }
  return is_broken ? static_cast<int>(exit_code::check_failed) : 0;
}

void add_compare(CLI::App& lab_command) {
  CLI::App* const command = lab_command.add_subcommand("compare", "Compare two stored runs.");
  const auto folders = std::make_shared<std::vector<std::string>>();
  command->add_option("FOLDERS", *folders, "two folders that --record wrote, the earlier one first")
      ->required()
      ->expected(2);
  command->callback([folders] {
    try {
      fmt::print("{}", compare_text(lab::read_record(folders->at(0)), lab::read_record(folders->at(1))));
    } catch (const lab::problem& problem) {
      fail(exit_code::io_error, "{}", problem.what());
    }
  });
}

}  // namespace

void add_lab(CLI::App& application) {
  CLI::App* const command =
      application.add_subcommand("lab", "Repeat published experiments on allocators beside their figures.");
  const auto request = std::make_shared<lab_request>();
  command->add_option("EXPERIMENT", request->names, "experiments to run; default all");
  command->add_flag("--list", request->lists_experiments, "list the experiments and their parameters, and exit");
  command->add_flag("--quick", request->is_quick, "smaller parameters: about a minute for all experiments");
  command->add_option("--rounds", request->rounds, "repetitions of each measurement; default 5, with --quick 3")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, lab::max_rounds));
  command->add_option("--set", request->set, "set a parameter: [EXPERIMENT.]KEY=N[,N...]; may be repeated")
      ->type_name("KEY=N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--json", request->json, "write the results as JSON; - prints them instead of text")
      ->type_name("FILE");
  command->add_option("--html", request->html, "write the results as one self-contained HTML page with charts")
      ->type_name("FILE");
  command->add_option("--record", request->record, "store the results as CSV in DIR/MACHINE/DATE")->type_name("DIR");
  add_compare(*command);
  command->footer("share/doc/tarn/guide/lab.md describes the experiments and the JSON.");
  command->callback([request, command] {
    if (!command->get_subcommands().empty()) return;
    if (const int code = run_lab(*request)) throw CLI::RuntimeError(code);
  });
}

}  // namespace tarn::command
