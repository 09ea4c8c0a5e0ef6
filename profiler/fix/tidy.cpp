#include "profiler/fix/tidy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "profiler/base/failure.hpp"
#include "profiler/fix/text.hpp"

namespace tarn::fix {
namespace {

using command::exit_code;
using command::fail;

nlohmann::json site_of(const question& question, const std::string& check) {
  return {{"file", question.file}, {"line", question.line}, {"check", check}, {"bytes", question.bytes}};
}

}  // namespace

tidy::tidy(std::string program, std::string plugin, std::string build)
    : command_{std::move(program), "--load=" + plugin, "-p", std::move(build)} {
  const std::string path = command_[3] + "/compile_commands.json";
  const std::string commands = content_of(path);
  if (commands.empty())
    fail(exit_code::no_compile_commands, "cannot read {}: for CMake, configure with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
         path);
  units_ = units_of(commands, path);
  const command::helper_result result =
      command::run_helper({command_[0], command_[1], "--checks=-*,tarn-*", "--list-checks"}, "", false);
  if (result.code == 127)
    fail(exit_code::missing, "there is no {}: install the Debian package clang-tidy-16, or name it by --clang-tidy",
         command_[0]);
  if (result.output.find("tarn-reserve") != std::string::npos) return;
  fail(exit_code::other_llvm, "{} cannot load {}, which is for LLVM 16: {}", command_[0], plugin,
       first_line(result.errors));
}

std::vector<tidy::answer> tidy::answers_of(const std::vector<run>& runs, const std::string& folder) const {
  // xargs starts as many as there are processors. Each run has the same number of arguments: the first names its files.
  std::string input;
  std::size_t argument_count = 0;
  for (std::size_t index = 0; index < runs.size(); ++index) {
    const nlohmann::json options = {{{"key", "Sites"}, {"value", runs[index].sites}},
                                    {{"key", "Edits"}, {"value", folder}}};
    std::vector<std::string> arguments = {fmt::format("{}/{}", folder, index)};
    arguments.insert(arguments.end(), command_.begin(), command_.end());
    arguments.insert(arguments.end(),
                     {"--checks=-*,clang-diagnostic-error,tarn-sites,tarn-*.*", "--quiet", "--header-filter=.*",
                      "--config=" + nlohmann::json{{"CheckOptions", options}}.dump(),
                      "--extra-arg=-Wno-unknown-warning-option", runs[index].asked_unit.file});
    argument_count = arguments.size();
    for (const std::string& argument : arguments) input += argument + '\0';
  }
  const char* const script = R"(name=$1; shift; "$@" >"$name.out" 2>"$name.err" </dev/null; echo $? >"$name.code")";
  const command::helper_result result =
      command::run_helper({"xargs", "-0", "-n", std::to_string(argument_count), "-P",
                           std::to_string(std::max(1U, std::thread::hardware_concurrency())), "sh", "-c", script, "sh"},
                          input, false);
  if (result.code != 0) fail(exit_code::missing, "xargs (Debian package findutils): {}", first_line(result.errors));
  std::vector<answer> answers;
  for (std::size_t index = 0; index < runs.size(); ++index) {
    const unit& asked_unit = runs[index].asked_unit;
    const std::string name = fmt::format("{}/{}", folder, index), errors = content_of(name + ".err");
    answer& next = answers.emplace_back();
    next.output = with_whole_paths(fmt::format("{}\n{}", content_of(name + ".out"), errors), asked_unit.folder);
    // Clang goes on without an argument that it does not know. Other errors have a position, or end it.
    const bool ignores_argument = next.output.find("error: unknown argument: ") != std::string::npos;
    const std::string code = content_of(name + ".code");
    constexpr int first_signal_code = 129;  // of a shell
    next.has_crashed = std::atoi(code.c_str()) >= first_signal_code;
    if (next.has_crashed) {
      next.problem = "clang-tidy crashed, exit code " + first_line(code);
    } else if (code != "0\n" && !ignores_argument) {
      next.problem = "clang-tidy cannot compile it: " + first_line(errors);
    }
  }
  return answers;
}

void tidy::ask(const std::vector<question>& questions, const std::string& folder,
               const std::function<void(std::size_t)>& show, bool must_agree) {
  std::filesystem::create_directory(folder);
  std::map<unit, nlohmann::json> sites;
  for (std::size_t index = 0; index < questions.size(); ++index) {
    // A unit with several commands is there as often.
    for (const unit& asked_unit : std::set<unit>(questions[index].units.begin(), questions[index].units.end()))
      sites[asked_unit].push_back(site_of(questions[index], fmt::format("{}.{}", questions[index].check, index)));
  }
  std::vector<run> runs;
  const auto add_run = [&](const unit& asked_unit, const nlohmann::json& entries) {
    run& added = runs.emplace_back(run{asked_unit, {}, fmt::format("{}/sites-{}.json", folder, runs.size())});
    for (const nlohmann::json& entry : entries) added.checks.push_back(entry.at("check"));
    std::ofstream(added.sites) << nlohmann::json{{"sites", entries}};
  };
  for (const auto& [asked_unit, entries] : sites) add_run(asked_unit, entries);
  std::map<std::pair<unit, std::string>, answer> answers;  // by unit and check
  const std::size_t part = 3 * std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
    end = std::min(begin + part, runs.size());
    const std::vector<run> next_runs(runs.begin() + static_cast<std::ptrdiff_t>(begin),
                                     runs.begin() + static_cast<std::ptrdiff_t>(end));
    const std::vector<answer> next_answers = answers_of(next_runs, folder);
    for (std::size_t index = 0; index < next_runs.size(); ++index) {
      const run& unit_run = next_runs[index];
      if (next_answers[index].has_crashed && unit_run.checks.size() > 1) {
        // One site is the reason: the halves are asked again.
        const nlohmann::json entries = nlohmann::json::parse(content_of(unit_run.sites)).at("sites");
        const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(entries.size() / 2);
        add_run(unit_run.asked_unit, nlohmann::json(std::vector<nlohmann::json>(entries.begin(), middle)));
        add_run(unit_run.asked_unit, nlohmann::json(std::vector<nlohmann::json>(middle, entries.end())));
        continue;
      }
      for (const std::string& check : unit_run.checks)
        answers.insert_or_assign({unit_run.asked_unit, check}, next_answers[index]);
    }
    std::size_t answered = 0;
    for (std::size_t index = 0; index < questions.size(); ++index) {
      const std::string check = fmt::format("{}.{}", questions[index].check, index);
      answered +=
          std::all_of(questions[index].units.begin(), questions[index].units.end(), [&](const unit& asked_unit) {
            return answers.contains({asked_unit, check});
          });
    }
    show(answered);
  }
  for (std::size_t index = 0; index < questions.size(); ++index) {
    const std::string check = fmt::format("{}.{}", questions[index].check, index);
    std::vector<verdict> unit_verdicts;
    for (const unit& asked_unit : questions[index].units) {
      // A unit with several commands answers for each of them.
      const bool has_several = std::count(units_.begin(), units_.end(), asked_unit) > 1;
      unit_verdicts.push_back(verdict_in(answers.at({asked_unit, check}), check, must_agree || has_several));
    }
    verdict& result = verdicts_[questions[index]] = united_verdict(unit_verdicts);
    result.edits = fmt::format("{}/{}", folder, check);
    if (result.level != certainty::proven || questions[index].unasked.empty()) continue;
    result.level = certainty::review;
    result.text += "; other units were not asked: " + questions[index].unasked;
  }
}

verdict tidy::verdict_in(const answer& unit_answer, const std::string& check, bool must_agree) {
  if (unit_answer.has_crashed) return {certainty::failed, unit_answer.problem};
  verdict result = verdict_of(unit_answer.output, check, must_agree);
  if (result.level == certainty::silent && !unit_answer.problem.empty())
    result = {certainty::failed, unit_answer.problem};
  return result;
}

std::vector<unit> tidy::units_including(const std::string& file, std::string& problem) {
  constexpr std::size_t max_units = 60;
  if (!rules_)
    rules_ = command::run_helper(
        {"clang-scan-deps-16", "--compilation-database=" + command_[3] + "/compile_commands.json"}, "", false);
  const auto [entry, is_new] = including_units_.try_emplace(file, units_);
  std::vector<unit>& result = entry->second;
  if (is_new && rules_->code == 0) {
    const std::vector<std::string> files = units_with(rules_->output, file);
    std::erase_if(result,
                  [&](const unit& next) { return std::find(files.begin(), files.end(), next.file) == files.end(); });
  }
  if (result.size() > max_units)
    problem = rules_->code == 0
                  ? fmt::format("{} units include {}, more than the {} that are asked", result.size(), file, max_units)
              : rules_->code == 127 ? "there is no clang-scan-deps-16 (Debian package clang-tools-16)"
                                    : first_line(rules_->errors);
  return result;
}

void tidy::ask_other_units(verdict& first_answer, const std::string& check) {
  if (first_answer.level != certainty::proven) return;
  // A template may make objects of several classes in one line: each unit is asked about all of them at once.
  std::vector<question> questions;
  for (const std::string& class_line : first_answer.places) {
    const std::size_t colon = class_line.rfind(':');
    if (colon == std::string::npos) continue;
    question class_question{check, class_line.substr(0, colon), std::stoi(class_line.substr(colon + 1)), 0, {}};
    std::string problem;
    class_question.units = units_including(class_question.file, problem);
    if (!problem.empty()) {
      first_answer.level = certainty::review;
      first_answer.text += "; other units were not asked: " + problem;
      return;
    }
    if (class_question.units.size() > 1) questions.push_back(std::move(class_question));
  }
  const auto show_nothing = [](std::size_t) {};
  ask(questions, first_answer.edits + "-units", show_nothing, true);
  for (const question& next : questions) {
    const verdict& unit_answer = verdicts_.at(next);
    if (unit_answer.level == certainty::proven) continue;
    first_answer = unit_answer;
    return;
  }
}

}  // namespace tarn::fix
