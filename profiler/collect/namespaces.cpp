#include "profiler/collect/namespaces.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tarn::command {
namespace {

namespace fs = std::filesystem;

std::uint32_t pid_namespace_of(const std::string& process) {
  struct stat facts {};
  const bool is_found = ::stat(fmt::format("/proc/{}/ns/pid", process).c_str(), &facts) == 0;
  return is_found ? static_cast<std::uint32_t>(facts.st_ino) : 0;
}

// Returns the number of a process in its own namespace, which is the last of its numbers.
std::uint32_t innermost_number(const fs::path& folder) {
  std::ifstream status(folder / "status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    return static_cast<std::uint32_t>(std::strtoul(line.c_str() + line.find_last_of("\t ") + 1, nullptr, 10));
  }
  return 0;
}

}  // namespace

std::uint32_t own_pid_namespace() { return pid_namespace_of("self"); }

std::uint32_t own_number_of(pid_t process, std::uint32_t thread) {
  return innermost_number(fmt::format("/proc/{}/task/{}", process, thread));
}

std::optional<pid_t> find_process(const namespace_process& process) {
  if (process.pid_namespace == 0 || process.pid_namespace == own_pid_namespace())
    return static_cast<pid_t>(process.number);
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (innermost_number(entry.path()) == process.number && pid_namespace_of(name) == process.pid_namespace)
      return static_cast<pid_t>(std::atoi(name.c_str()));
  }
  return std::nullopt;
}

std::string name_of(const namespace_process& process, const std::optional<pid_t>& number, std::size_t index) {
  return number ? std::to_string(*number) : fmt::format("{}@{}.{}", process.number, process.pid_namespace, index);
}

}  // namespace tarn::command
