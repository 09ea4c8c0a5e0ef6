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

constexpr std::array<std::string_view, 13> exec_launchers = {"env",     "nice",    "ionice", "nohup",   "setpriv",
                                                             "stdbuf",  "taskset", "chrt",   "numactl", "chroot",
                                                             "prlimit", "choom",   "linux64"};

template <std::size_t Count>
bool is_one_of(const std::string& path, const std::array<std::string_view, Count>& list) {
  const std::string_view name = std::string_view(path).substr(path.find_last_of('/') + 1);
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

bool is_launcher(const std::string& path) {
  if (is_one_of(path, names)) return true;
  try {
    const executable_file file(path, path);
    return file.kind() != executable_file::kind::elf && is_one_of(file.interpreter(), names);
  } catch (const failure&) {
    return false;
  }
}

bool execs_its_program(const std::string& path) { return is_one_of(path, exec_launchers); }

}  // namespace tarn::command
