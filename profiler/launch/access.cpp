#include "profiler/launch/access.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "profiler/base/failure.hpp"

namespace tarn::command {
namespace {

std::string name_of_user(uid_t user) {
  const passwd* const entry = ::getpwuid(user);
  return entry != nullptr ? entry->pw_name : fmt::format("user {}", user);
}

bool may_trace_other_users() {
  constexpr std::string_view name = "CapEff:";
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return (std::stoull(line.substr(name.size()), nullptr, 16) >> CAP_SYS_PTRACE & 1) != 0;
  }
  return false;
}

// Returns 0 where the kernel has no Yama.
int ptrace_scope() {
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  return scope;
}

void require_process(pid_t process) {
  if (::kill(process, 0) != 0 && errno == ESRCH) fail(exit_code::io_error, "process {} does not exist", process);
}

// Returns the remedy for a refusal of the kernel.
const char* cure() {
  return ::geteuid() == 0 ? "root of a container has too few capabilities for it" : "try the same command with sudo";
}

// Throws a failure if the kernel's Yama forbids `action` to this process.
void fail_by_scope(pid_t process, const char* action, const char* command) {
  switch (const int scope = ptrace_scope()) {
    case 0: return;
    case 1:
      fail(exit_code::io_error,
           "no permission to {} process {}: kernel.yama.ptrace_scope is 1, so only its parents and root may; try sudo "
           "{} --pid {}, or sudo sysctl kernel.yama.ptrace_scope=0",
           action, process, command, process);
    case 2:
      fail(exit_code::io_error,
           "no permission to {} process {}: kernel.yama.ptrace_scope is 2, so only root may; try sudo {} --pid {}",
           action, process, command, process);
    default:
      fail(exit_code::io_error, "no permission to {} process {}: kernel.yama.ptrace_scope is {}, so nobody may", action,
           process, scope);
  }
}

// Returns 0 where there is none.
pid_t number_in_status(pid_t process, std::string_view name) {
  std::ifstream file(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::atoi(line.c_str() + name.size());
  }
  return 0;
}

}  // namespace

void require_proc() {
  if (::access("/proc/self/fd", F_OK) == 0) return;
  fail(exit_code::missing,
       "/proc is not mounted here, through which a program gets its recorder; mount it: mount -t proc proc /proc");
}

// Checks whether the process may be read. The kernel compares the effective user with the owner for a file in /proc,
// and the real user for memory (process_vm_readv).
void require_readable(pid_t process) {
  require_process(process);
  const int file = ::open(fmt::format("/proc/{}/environ", process).c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) ::close(file);
  if (file >= 0 || (errno != EACCES && errno != EPERM && errno != ENOENT)) return;  // a kernel thread, or ended
  struct stat facts {};
  if (::stat(fmt::format("/proc/{}", process).c_str(), &facts) != 0) {
    require_process(process);  // it may have ended meanwhile; otherwise it is hidden
    fail(exit_code::io_error, "no permission to inspect process {} as {}; {}", process, name_of_user(::geteuid()),
         cure());
  }
  if (facts.st_uid == ::geteuid()) {
    fail(exit_code::io_error,
         "no permission to inspect process {}, although it belongs to {}: it has capabilities, changed its user, or "
         "cleared PR_SET_DUMPABLE; {}",
         process, name_of_user(facts.st_uid), cure());
  }
  fail(exit_code::io_error, "no permission to inspect process {} of {} as {}; {}", process, name_of_user(facts.st_uid),
       name_of_user(::geteuid()), cure());
}

pid_t tracer_of(pid_t process) { return number_in_status(process, "TracerPid:"); }
pid_t process_of_thread(pid_t thread) { return number_in_status(thread, "Tgid:"); }

void fail_unreadable_memory(pid_t process, int error) {
  require_process(process);
  fail_by_scope(process, "read the memory of", "tarn top");
  fail(exit_code::io_error, "no permission to read the memory of process {} as {}: {}; {}", process,
       name_of_user(::getuid()), system_error_text(error), cure());
}

void fail_untraceable(pid_t process, int error) {
  require_process(process);
  if (const pid_t tracer = tracer_of(process); tracer != 0) {
    fail(exit_code::io_error, "process {} is traced by process {} (gdb, strace, tarn record); end that first", process,
         tracer);
  }
  fail_by_scope(process, "trace", "tarn record");
  if (may_trace_other_users()) {
    fail(exit_code::io_error,
         "no permission to trace process {}, although this one has CAP_SYS_PTRACE: {}; a security module (AppArmor, "
         "SELinux) forbids it, or the process is of another user namespace",
         process, system_error_text(error));
  }
  fail(exit_code::io_error,
       "no permission to trace process {} as {}: {}; it has capabilities or another user, or this is a container "
       "without --cap-add=SYS_PTRACE; {}",
       process, name_of_user(::getuid()), system_error_text(error), cure());
}

}  // namespace tarn::command
