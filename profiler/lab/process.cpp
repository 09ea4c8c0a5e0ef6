#include "profiler/lab/process.hpp"

#include <unistd.h>

#include <array>
#include <string_view>

namespace tarn::lab {
namespace {

// This is the list of bench/runner/peers.py, and Tarn's own.
constexpr std::array<std::string_view, 8> tuning = {
    "LD_PRELOAD=", "GLIBC_TUNABLES=", "MALLOC_", "MIMALLOC_", "TCMALLOC_", "TBB_", "TARN_", "_RJEM_"};

std::vector<std::string> environment_of(const std::vector<std::string>& additional) {
  std::vector<std::string> variables = additional;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view word = *variable;
    bool is_tuning = false;
    for (const std::string_view prefix : tuning) is_tuning = is_tuning || word.starts_with(prefix);
    if (!is_tuning) variables.emplace_back(word);
  }
  return variables;
}

}  // namespace

process_result run_program(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                           std::chrono::seconds longest) {
  return command::run_helper(arguments, {}, false, environment_of(environment), longest);
}

std::string last_line(const std::string& errors) {
  const std::size_t end = errors.find_last_not_of("\n ");
  if (end == std::string::npos) return {};
  const std::size_t begin = errors.find_last_of('\n', end);
  return errors.substr(begin == std::string::npos ? 0 : begin + 1,
                       end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace tarn::lab
