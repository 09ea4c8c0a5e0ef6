#include "profiler/collect/attach.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "profiler/base/failure.hpp"
#include "profiler/collect/region_file.hpp"
#include "profiler/format/region.hpp"
#include "profiler/launch/access.hpp"

namespace tarn::command {
namespace {

namespace fs = std::filesystem;

// Reads a variable of the environment that the process was started with; empty where it has none, or may not be read.
std::string variable_of(pid_t process, const std::string& name) {
  std::ifstream file(fmt::format("/proc/{}/environ", process), std::ios::binary);
  for (std::string setting; std::getline(file, setting, '\0');) {
    if (setting.starts_with(name + "=")) return setting.substr(name.size() + 1);
  }
  return {};
}

// The recorder makes the first region before all others, so the lowest descriptor is that region's.
std::string first_region_of(pid_t recorder) {
  std::error_code error;
  int first = -1;
  for (const fs::directory_entry& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", recorder), error)) {
    std::error_code error_of_link;
    if (!fs::read_symlink(entry.path(), error_of_link).string().starts_with("/memfd:tarn-record")) continue;
    const int number = std::atoi(entry.path().filename().c_str());
    first = first < 0 ? number : std::min(first, number);
  }
  return first < 0 ? std::string() : fmt::format("/proc/{}/fd/{}", recorder, first);
}

}  // namespace

recorded_process find_recorded_by(pid_t recorder) {
  const std::string path = first_region_of(recorder);
  if (path.empty()) return {};
  const region_file region(path);
  const pid_t process = region.first_thread();
  if (process == 0) return {};
  return {path, process};
}

std::string find_region(pid_t process) {
  require_readable(process);
  const std::string path = first_region_of(process);
  if (!path.empty() || variable_of(process, format::process_variable) != std::to_string(process)) return path;
  return variable_of(process, format::region_variable);
}

recorded_process find_recorded(pid_t process) {
  require_readable(process);
  if (const recorded_process recording = find_recorded_by(process); !recording.region.empty()) return recording;
  const std::string path = variable_of(process, format::region_variable);
  if (path.empty()) return {};
  const region_file first(path);
  if (variable_of(process, format::process_variable) == std::to_string(process)) return {path, process};
  const int descriptor = first.descriptor_of(static_cast<std::uint32_t>(process));
  if (descriptor < 0) {
    fail(exit_code::io_error,
         "process {} is a child of a recorded program but is not recorded itself; start with tarn record --follow -- "
         "PROGRAM",
         process);
  }
  return {path.substr(0, path.find_last_of('/') + 1) + std::to_string(descriptor), process};
}

}  // namespace tarn::command
