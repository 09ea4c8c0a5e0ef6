// What is known of system calls by their number, where it matters for counting them.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

namespace tarn::record {

struct call_facts {
  static constexpr std::uint8_t none = 0xff;
  std::uint8_t size_at = none;  // the argument that says how many bytes are asked for
  bool returns_bytes = false;   // the result is how many were given
  std::uint8_t question = 0;    // the arguments of a call that only asks, as bits: equal ones, mostly equal answers
  std::uint8_t path_at = none;  // one of them is the address of a text
  bool operator==(const call_facts&) const = default;
};

constexpr call_facts bytes_of(std::uint8_t size_at) { return {size_at, true, 0, call_facts::none}; }
constexpr call_facts question_of(std::uint8_t arguments, std::uint8_t path_at = call_facts::none) {
  return {call_facts::none, false, arguments, path_at};
}
// A question without arguments, as getpid.
constexpr std::uint8_t asks_nothing = 0x80;

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
    case SYS_recvmsg: return bytes_of(call_facts::none);  // asked for in a list: what was given counts

#if defined(SYS_stat)
    case SYS_stat:
    case SYS_lstat:
    case SYS_readlink: return question_of(0b1, 0);
    case SYS_access:
    case SYS_open: return question_of(0b11, 0);
#endif
    case SYS_openat:
    case SYS_faccessat: return question_of(0b111, 1);
#if defined(SYS_newfstatat)
    case SYS_newfstatat: return question_of(0b1011, 1);
#endif
    case SYS_statx: return question_of(0b1111, 1);
    case SYS_readlinkat: return question_of(0b11, 1);
    case SYS_statfs: return question_of(0b1, 0);
    case SYS_fstat:
    case SYS_getsockname:
    case SYS_getpeername:
    case SYS_clock_gettime:
    case SYS_getrusage:
    case SYS_sched_getaffinity: return question_of(0b1);
    case SYS_ioctl:
    case SYS_fcntl:
    case SYS_getsockopt:
    case SYS_prlimit64: return question_of(0b111);
    case SYS_getpid:
    case SYS_getppid:
    case SYS_gettid:
    case SYS_getuid:
    case SYS_geteuid:
    case SYS_getgid:
    case SYS_getegid:
    case SYS_getcwd:
    case SYS_uname:
    case SYS_sysinfo:
    case SYS_gettimeofday: return question_of(asks_nothing);
    default: return {};
  }
}

}  // namespace tarn::record
