#include "profiler/launch/filters.hpp"

#if defined(__x86_64__)
#include <linux/seccomp.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <compare>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/findings/waits/call_names.hpp"
#include "profiler/format/seccomp_filter.hpp"
#include "profiler/launch/traced_thread.hpp"

namespace tarn::command {
namespace {

namespace fs = std::filesystem;
using filter_code = std::vector<sock_filter>;

bool has_locked_memory(pid_t process) {
  constexpr std::string_view name = "VmLck:";
  std::ifstream file(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::atol(line.c_str() + name.size()) != 0;
  }
  return false;
}

// Returns the calls that the recorder makes, and those that load it.
std::vector<format::tested_call> needed_calls(pid_t process) {
  std::vector<format::tested_call> calls = {{SYS_memfd_create}, {SYS_pread64},        {SYS_newfstatat},
                                            {SYS_prlimit64},    {SYS_rt_sigprocmask}, {SYS_rt_sigpending},
                                            {SYS_tgkill},       {SYS_restart_syscall}};
  calls.insert(calls.end(), format::recorder_calls.begin(), format::recorder_calls.end());
  if (has_locked_memory(process)) calls.insert(calls.end(), {{SYS_munlock}, {SYS_mremap}});
  return calls;
}

// The mode of a thread, and how many filters it has, as /proc says (Linux 5.9; 0: unknown).
struct restrictions {
  long mode = 0, filters = 0;
  auto operator<=>(const restrictions&) const = default;
};
restrictions restrictions_in(const std::string& path) {
  constexpr std::string_view mode = "Seccomp:", filters = "Seccomp_filters:";
  std::ifstream file(path);
  restrictions result;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(mode)) result.mode = std::atol(line.c_str() + mode.size());
    if (line.starts_with(filters)) result.filters = std::atol(line.c_str() + filters.size());
  }
  return result;
}

// Returns the filters of a thread; nothing if the kernel does not show them.
std::optional<std::vector<filter_code>> filters_of(const remote_process& process, pid_t thread) {
  std::vector<filter_code> filters;
  const traced_thread stopped(process, thread);
  while (stopped.is_stopped()) {
    const auto get = [&](void* target) {
      return ::ptrace(PTRACE_SECCOMP_GET_FILTER, thread, reinterpret_cast<void*>(filters.size()), target);
    };
    const long instructions = get(nullptr);
    if (instructions < 0 && errno == ENOENT) break;  // that was the last one
    if (instructions < 0) return std::nullopt;
    filter_code code(static_cast<std::size_t>(instructions));
    if (get(code.data()) != instructions) return std::nullopt;
    filters.push_back(std::move(code));
  }
  return filters;
}

// Returns true if the process has the mount namespace of this one: the runtime of a container sets the same filter for
// all that it starts in there.
bool is_of_own_container(pid_t process) {
  std::error_code error;
  const fs::path namespace_path = fs::read_symlink("/proc/self/ns/mnt", error);
  return !namespace_path.empty() && namespace_path == fs::read_symlink(fmt::format("/proc/{}/ns/mnt", process), error);
}

// Makes the calls in a child, with arguments that the kernel refuses. Returns true if no filter answers first.
bool can_call(const std::vector<format::tested_call>& calls) {
  constexpr long invalid = -1;
  const pid_t child = ::fork();
  if (child == 0) {
    for (const format::tested_call& call : calls) {
      const long first = call.first_argument != 0 ? static_cast<long>(call.first_argument) : invalid;
      if (::syscall(call.number, first, invalid, invalid, invalid, invalid, invalid) == -1 &&
          (errno == EPERM || errno == EACCES || errno == ENOSYS))
        ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

[[noreturn]] void fail_forbidden(pid_t process, const std::string& call) {
  fail(exit_code::io_error,
       "process {} has restricted its system calls (seccomp): its filter forbids {}, which the recorder needs; record "
       "it from its start: tarn record -- PROGRAM",
       process, call);
}

}  // namespace

void require_allowed_calls(const remote_process& process) {
  const pid_t number = process.number();
  std::map<restrictions, pid_t> threads;  // one for each
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(fmt::format("/proc/{}/task", number), error)) {
    const restrictions thread_restrictions = restrictions_in(entry.path() / "status");
    if (thread_restrictions.mode != SECCOMP_MODE_DISABLED)
      threads.emplace(thread_restrictions, std::atoi(entry.path().filename().c_str()));
  }
  const std::vector<format::tested_call> calls = needed_calls(number);
  for (const auto& [restrictions, thread] : threads) {
    if (restrictions.mode == SECCOMP_MODE_STRICT) fail_forbidden(number, "all calls but read and write");
    if (const auto filters = filters_of(process, thread)) {
      for (const format::tested_call& call : calls) {
        if (!std::all_of(filters->begin(), filters->end(),
                         [&](const filter_code& code) { return format::allows(code.data(), code.size(), call); }))
          fail_forbidden(number, analyse::call_name(call.number));
      }
    } else if (restrictions.filters == 0 || restrictions != restrictions_in("/proc/self/status") ||
               !is_of_own_container(number) || !can_call(calls)) {
      fail(exit_code::io_error,
           "process {} has restricted its system calls (seccomp), by a filter that cannot be read from here; try the "
           "same in its container, or with sudo on the host",
           number);
    }
  }
}

}  // namespace tarn::command
#endif
