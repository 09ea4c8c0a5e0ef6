#include "profiler/fix/tidy.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

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
                    const std::vector<std::string>& units, const std::string& folder) const {
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
  verdict answer = verdict_of(result.output + '\n' + result.errors, check);
  if (answer.level == certainty::silent && result.code != 0) {
    answer = {certainty::failed, result.errors.substr(0, result.errors.find('\n')), {}};
  }
  return answer;
}

}  // namespace tarn::fix
