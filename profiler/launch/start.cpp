#include "profiler/launch/start.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "profiler/base/failure.hpp"

namespace tarn::command {

void set_environment(const std::string& name, const std::string& value) {
  if (::setenv(name.c_str(), value.c_str(), 1) != 0)
    fail(exit_code::no_memory, "{}: {}", name, system_error_text(errno));
}

void preload(const std::string& library) {
  const char* const others = std::getenv("LD_PRELOAD");
  set_environment("LD_PRELOAD", others == nullptr || *others == '\0' ? library : library + ':' + others);
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
