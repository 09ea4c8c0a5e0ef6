// The facts about each system call, by its number, that the counts need.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

namespace tarn::preload {

struct call_facts {
  static constexpr std::uint8_t no_argument = 0xff;
  std::uint8_t size_at = no_argument;  // the argument with the number of bytes asked for
  bool returns_bytes = false;          // the result is the number of bytes transferred
  std::uint8_t query_arguments = 0;    // a bit for each argument that decides a query's answer; 0: not a query
  std::uint8_t path_at = no_argument;  // the argument among them that points to a path
  bool operator==(const call_facts&) const = default;
};

constexpr call_facts bytes_of(std::uint8_t size_at) { return {size_at, true, 0, call_facts::no_argument}; }
constexpr call_facts query_of(std::uint8_t arguments, std::uint8_t path_at = call_facts::no_argument) {
  return {call_facts::no_argument, false, arguments, path_at};
}
// Marks a query without arguments, such as getpid.
constexpr std::uint8_t without_arguments = 0x80;

constexpr call_facts facts_of_call(long number) noexcept {
  switch (number) {
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_sendto:
    case SYS_recvfrom:
    case SYS_getdents64: return bytes_of(2);
    case SYS_getrandom: return bytes_of(1);
    case SYS_sendfile: return bytes_of(3);
    case SYS_splice:
    case SYS_copy_file_range: return bytes_of(4);
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_preadv2:
    case SYS_pwritev2:
    case SYS_sendmsg:
    case SYS_recvmsg: return bytes_of(call_facts::no_argument);  // the sizes are in a list, so only the result counts

#if defined(SYS_stat)
    case SYS_stat:
    case SYS_lstat:
    case SYS_readlink: return query_of(0b1, 0);
    case SYS_access:
    case SYS_open: return query_of(0b11, 0);
#endif
    case SYS_openat:
    case SYS_faccessat: return query_of(0b111, 1);
#if defined(SYS_newfstatat)
    case SYS_newfstatat: return query_of(0b1011, 1);
#endif
    case SYS_statx: return query_of(0b1111, 1);
    case SYS_readlinkat: return query_of(0b11, 1);
    case SYS_statfs: return query_of(0b1, 0);
    case SYS_fstat:
    case SYS_getsockname:
    case SYS_getpeername:
    case SYS_clock_gettime:
    case SYS_getrusage:
    case SYS_getpgid:
    case SYS_getsid:
    case SYS_getpriority:
    case SYS_sched_getscheduler:
    case SYS_sched_getaffinity: return query_of(0b1);
#if defined(SYS_getpgrp)
    case SYS_getpgrp: return query_of(without_arguments);
#endif
    case SYS_ioctl:
    case SYS_fcntl:
    case SYS_getsockopt:
    case SYS_prlimit64: return query_of(0b111);
    case SYS_getpid:
    case SYS_getppid:
    case SYS_gettid:
    case SYS_getuid:
    case SYS_geteuid:
    case SYS_getgid:
    case SYS_getegid:
    case SYS_getresuid:
    case SYS_getresgid:
    case SYS_getcwd:
    case SYS_uname:
    case SYS_sysinfo:
    case SYS_gettimeofday: return query_of(without_arguments);
    default: return {};
  }
}

}  // namespace tarn::preload
