#include "profiler/launch/start.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "profiler/base/failure.hpp"
#include "profiler/format/recorder_library.hpp"

namespace tarn::command {
namespace {

constexpr std::string_view separators = ": ";  // as the dynamic loader reads LD_PRELOAD

// Returns where the last recorder's library ends in the value of LD_PRELOAD; 0 if there is none.
std::size_t end_of_recorders(std::string_view libraries) {
  std::size_t last_end = 0;
  for (std::size_t begin = 0; begin < libraries.size();) {
    const std::size_t end = std::min(libraries.find_first_of(separators, begin), libraries.size());
    if (format::is_recorder_library(libraries.substr(begin, end - begin))) last_end = end;
    begin = end + 1;
  }
  return last_end;
}

}  // namespace

void set_environment(const std::string& name, const std::string& value) {
  if (::setenv(name.c_str(), value.c_str(), 1) != 0)
    fail(exit_code::no_memory, "{}: {}", name, system_error_text(errno));
}

void preload(const std::string& library) {
  const char* const others = std::getenv("LD_PRELOAD");
  const std::string_view before = others == nullptr ? "" : others;
  const std::size_t end = format::is_recorder_library(library) ? 0 : end_of_recorders(before);
  std::string names(before.substr(0, end));
  for (const std::string_view part : {std::string_view(library), before.substr(end)}) {
    if (!names.empty() && !part.empty() && separators.find(part.front()) == std::string_view::npos) names += ':';
    names += part;
  }
  set_environment("LD_PRELOAD", names);
}

void execute(const std::vector<std::string>& arguments, const std::string& program, start method) {
  std::vector<const char*> pointers;
  for (const std::string& word : arguments) pointers.push_back(word.c_str());
  pointers.push_back(nullptr);
  const char* file = program.c_str();
  if (method == start::through_shell) {
    pointers[0] = file;
    file = "/bin/sh";
    pointers.insert(pointers.begin(), file);
  }
  ::execv(file, const_cast<char* const*>(pointers.data()));
  fail(exit_code::cannot_run, "{}: {}", arguments.front(), system_error_text(errno));
}

}  // namespace tarn::command
