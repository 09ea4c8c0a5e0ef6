// Predicts what a filter of system calls does (seccomp). The recorder asks before its program sets one, and `tarn
// record` before it loads the recorder into a process that has one.
#pragma once

#include <linux/filter.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tarn::format {

struct tested_call {
  std::uint32_t number;
  std::uint64_t first_argument = 0;
};

// The calls that the recorder makes in a program, apart from those of the dispatch of system calls.
constexpr std::array<tested_call, 19> recorder_calls = {{{SYS_mmap},
                                                         {SYS_munmap},
                                                         {SYS_madvise},
                                                         {SYS_mprotect},
                                                         {SYS_sched_yield},
                                                         {SYS_nanosleep},
                                                         {SYS_gettid},
                                                         {SYS_getpid},
                                                         {SYS_getrusage},
                                                         {SYS_clock_gettime},
                                                         {SYS_sigaltstack},
                                                         {SYS_rt_sigaction},
                                                         {SYS_openat},
                                                         {SYS_read},
                                                         {SYS_close},
                                                         {SYS_fstat},
                                                         {SYS_fcntl},
                                                         {SYS_readlinkat},
                                                         {SYS_prctl, PR_GET_NAME}}};

// Returns true when the filter, a program of classic BPF, allows the call. It locks nothing and allocates nothing.
bool allows(const sock_filter* code, std::size_t count, const tested_call& tested) noexcept;

}  // namespace tarn::format
