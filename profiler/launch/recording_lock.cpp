#include "profiler/launch/recording_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "profiler/base/failure.hpp"

namespace tarn::command {
namespace {

// Returns the process that has locked the file by flock(); 0 where the kernel does not show it, as that of another
// container.
pid_t holder_of_lock(int file) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) return 0;
  const std::string identity = fmt::format("{:02x}:{:02x}:{}", major(facts.st_dev), minor(facts.st_dev), facts.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream columns(line);
    std::string number, kind, manner, access, process, locked_file;
    columns >> number >> kind >> manner >> access >> process >> locked_file;
    if (kind == "FLOCK" && locked_file == identity) return std::atoi(process.c_str());
  }
  return 0;
}

}  // namespace

int lock_for_recording(pid_t process, const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) fail(exit_code::io_error, "{}: {}", path, system_error_text(errno));
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  const pid_t holder = holder_of_lock(file);
  ::close(file);
  fail_in_use(process, holder);
}

void fail_in_use(pid_t process, pid_t recorder) {
  const std::string owner =
      recorder > 0 ? fmt::format("the tarn record of process {}", recorder) : "another tarn record";
  fail(exit_code::io_error, "process {} is recorded already, by {}; end that first", process, owner);
}

}  // namespace tarn::command
