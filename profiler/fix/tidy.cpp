#include "profiler/fix/tidy.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "profiler/base/failure.hpp"
#include "profiler/base/helper_program.hpp"

namespace tarn::fix {

using command::exit_code;
using command::fail;

tidy::tidy(std::string program, std::string plugin, std::string build)
    : command_{std::move(program), "--load=" + plugin, "-p", std::move(build)} {
  const command::helper_result result =
      command::run_helper({command_[0], command_[1], "--checks=-*,tarn-*", "--list-checks"}, "", false);
  if (result.code == 127)
    fail(exit_code::missing, "there is no {}: install the Debian package clang-tidy-16, or name it by --clang-tidy",
         command_[0]);
  if (result.output.find("tarn-reserve") != std::string::npos) return;
  fail(exit_code::other_llvm, "{} cannot load {}, which is for LLVM 16: {}", command_[0], plugin,
       result.errors.substr(0, result.errors.find('\n')));
}

verdict tidy::judge(const std::string& check, const std::string& file, int line, std::uint64_t bytes,
                    const std::vector<std::string>& units, const std::string& folder, bool is_for_all_units) const {
  const std::string sites = folder + "/sites.json";
  const nlohmann::json site = {{"file", file}, {"line", line}, {"check", check}, {"bytes", bytes}};
  std::ofstream(sites) << nlohmann::json{{"sites", {site}}};
  const nlohmann::json option = {{"key", check + ".Sites"}, {"value", sites}};
  std::vector<std::string> arguments = command_;
  arguments.insert(arguments.end(),
                   {"--checks=-*,clang-diagnostic-error," + check, "--quiet", "--header-filter=.*",
                    "--config=" + nlohmann::json{{"CheckOptions", {option}}}.dump(),
                    "--extra-arg=-Wno-unknown-warning-option", "--export-fixes=" + folder + "/edits.yaml"});
  arguments.insert(arguments.end(), units.begin(), units.end());
  const command::helper_result result = command::run_helper(arguments, "", false);
  verdict answer = verdict_of(result.output + '\n' + result.errors, check, is_for_all_units);
  // Clang goes on without an argument that it does not know. Other errors have a position, or end it.
  const bool ignores_argument = result.output.find("error: unknown argument: ") != std::string::npos;
  if (answer.level == certainty::silent && result.code != 0 && !ignores_argument) {
    answer = {certainty::failed, result.errors.substr(0, result.errors.find('\n')), {}, {}};
  }
  return answer;
}

void tidy::ask_other_units(verdict& answer, const std::string& check, const std::string& folder) const {
  constexpr std::size_t max_units = 60;
  const std::size_t colon = answer.position.rfind(':');
  if (answer.level != certainty::proven || colon == std::string::npos) return;
  const std::string file = std::filesystem::weakly_canonical(answer.position.substr(0, colon));
  const auto review = [&](const std::string& reason) {
    answer.level = certainty::review;
    answer.text += "; " + reason;
  };
  const command::helper_result scanned = command::run_helper(
      {"clang-scan-deps-16", "--compilation-database=" + command_[3] + "/compile_commands.json"}, "", false);
  if (scanned.code == 127)
    return review("other units were not asked: there is no clang-scan-deps-16 (Debian package clang-tools-16)");
  if (scanned.code != 0)
    return review("other units were not asked: " + scanned.errors.substr(0, scanned.errors.find('\n')));
  const std::vector<std::string> units = units_with(scanned.output, file);
  if (units.size() < 2) return;
  if (units.size() > max_units)
    return review(fmt::format("{} units include {}, more than the {} that are asked", units.size(), file, max_units));
  const std::string own_folder = folder + "-units";
  std::filesystem::create_directory(own_folder);
  verdict unit_answer = judge(check, file, std::stoi(answer.position.substr(colon + 1)), 0, units, own_folder, true);
  if (unit_answer.level != certainty::proven) answer = std::move(unit_answer);
}

}  // namespace tarn::fix
