#include "profiler/launch/launchers.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "profiler/base/failure.hpp"
#include "profiler/launch/executable_file.hpp"

namespace tarn::command {
namespace {

constexpr std::array<std::string_view, 34> names = {
    "sh",      "bash",      "dash",      "zsh",     "ksh",     "mksh",      "fish",    "busybox", "env",
    "nice",    "ionice",    "nohup",     "setsid",  "setpriv", "stdbuf",    "taskset", "chrt",    "numactl",
    "unshare", "nsenter",   "chroot",    "time",    "timeout", "flock",     "prlimit", "choom",   "script",
    "tini",    "dumb-init", "catatonit", "runuser", "su",      "eatmydata", "linux64"};

bool is_named(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.find_last_of('/') + 1);
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_launcher(const std::string& path) {
  if (is_named(path)) return true;
  try {
    const executable_file file(path, path);
    return file.kind() != executable_file::kind::elf && is_named(file.interpreter());
  } catch (const failure&) {
    return false;
  }
}

}  // namespace tarn::command
