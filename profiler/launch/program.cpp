#include "profiler/launch/program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "profiler/base/failure.hpp"
#include "profiler/launch/executable_file.hpp"

namespace tarn::command {
namespace {

// Returns the PATH that execvp uses when the environment has none.
std::string default_path() {
  std::string path(::confstr(_CS_PATH, nullptr, 0), '\0');
  if (path.empty()) return "/bin:/usr/bin";
  ::confstr(_CS_PATH, path.data(), path.size());
  path.resize(path.size() - 1);  // drops the terminating null
  return path;
}

bool is_directory(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Returns 0 if `path` may be executed, else the errno of the refusal.
int execution_error(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return errno;
  if (is_directory(path)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

[[noreturn]] void refuse(const std::string& name, const std::string& path, int error) {
  const std::string display_name = name == path ? name : name + ": " + path;
  if (error == ENOENT || error == ENOTDIR) fail(exit_code::not_found, "{}: {}", display_name, system_error_text(error));
  if (error == EISDIR) fail(exit_code::cannot_run, "{}: is a directory", display_name);
  if (error == EACCES && ::access(path.c_str(), F_OK) == 0)
    fail(exit_code::cannot_run, "{}: is not executable", display_name);
  fail(exit_code::cannot_run, "{}: {}", display_name, system_error_text(error));
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.empty()) fail(exit_code::not_found, "the program's name is empty");
  if (name.find('/') != std::string::npos) {
    if (const int error = execution_error(name)) refuse(name, name, error);
    return name;
  }
  const char* const path_variable = std::getenv("PATH");
  const std::string folders = path_variable != nullptr ? path_variable : default_path();
  std::string refused_path;
  int refusal = 0;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = folders.find(':', begin);
    const std::string folder = folders.substr(begin, end == std::string::npos ? end : end - begin);
    // An empty entry means the current folder, as in execvp.
    const std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder.c_str(), name);
    const int error = execution_error(candidate);
    if (error == 0) return candidate;
    if (error == EACCES && refused_path.empty() && ::access(candidate.c_str(), F_OK) == 0)
      refused_path = candidate, refusal = error;
  }
  if (!refused_path.empty()) refuse(name, refused_path, refusal);
  fail(exit_code::not_found, "{}: not found in PATH", name);
}

start check_preloadable(const std::string& name, const std::string& path, const char* library) {
  constexpr int max_interpreters = 5;  // the kernel follows no more `#!` lines in a row
  std::string file = path;
  std::string display_name = name;
  start method = start::directly;
  for (int followed = 0;; ++followed) {
    const executable_file executable(display_name, file);
    if (executable.kind() == executable_file::kind::elf) {
      executable.check_elf(library);
      return method;
    }
    if (followed == max_interpreters) fail(exit_code::cannot_run, "{}: too many interpreters in a row", name);
    if (executable.kind() == executable_file::kind::text) {
      // The kernel does not pass such an interpreter to a shell.
      if (followed != 0) fail(exit_code::cannot_run, "{}: neither an ELF program nor a script", display_name);
      method = start::through_shell;
    }
    file = executable.interpreter();
    const int error = execution_error(file);
    const std::string reason = error == EISDIR   ? "is a directory"
                               : error == EACCES ? "is not executable"
                                                 : system_error_text(error);
    if (error != 0) fail(exit_code::cannot_run, "{}: its interpreter {}: {}", display_name, file, reason);
    display_name = fmt::format("{}: its interpreter {}", name, file);
  }
}

}  // namespace tarn::command
