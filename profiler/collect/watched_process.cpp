#include "profiler/collect/watched_process.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tarn::command {
namespace {

// Copies the structure of the kernel's <linux/pidfd.h>, because Debian 12 has an older version of that header.
struct pidfd_info {
  std::uint64_t mask;  // the wanted fields; after the call the filled ones
  std::uint64_t cgroup;
  std::uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
  std::int32_t exit_code;
};
static_assert(sizeof(pidfd_info) == 64);
constexpr std::uint64_t exit_wanted = 1U << 3;
constexpr unsigned long get_info = _IOWR(0xff, 11, pidfd_info);

}  // namespace

watched_process::watched_process(std::uint32_t process)
    : descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, process, 0))) {}

watched_process::~watched_process() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool watched_process::has_ended() const {
  pollfd descriptor{descriptor_, POLLIN, 0};
  return descriptor_ < 0 || ::poll(&descriptor, 1, 0) == 1;
}

std::optional<int> watched_process::status() const {
  pidfd_info info{};
  info.mask = exit_wanted;
  if (descriptor_ < 0 || ::ioctl(descriptor_, get_info, &info) != 0 || (info.mask & exit_wanted) == 0) {
    return std::nullopt;
  }
  return info.exit_code;
}

}  // namespace tarn::command
