// Wraps prctl() and syscall(), by which programs and libseccomp restrict the system calls of the process. This file
// is compiled with jumps for last calls: a call given to syscall() may return twice (vfork), and must find nothing of
// ours on the stack.
#include "record/seccomp.hpp"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

#include "record/behind.hpp"
#include "record/entry.hpp"
#include "record/memory.hpp"
#include "record/raw_call.hpp"
#include "record/region.hpp"
#include "record/seccomp_filter.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

extern "C" {
// The kernel reads this before each system call: 1 means that the call is dispatched to the recorder (exempt.S).
__attribute__((visibility("hidden"))) constinit unsigned char tarn_selector = 1;
}

namespace tarn::record {

restriction restriction_by(long number, const long* words) noexcept {
  const bool by_prctl = number == SYS_prctl && words[0] == PR_SET_SECCOMP;
  if (number != SYS_seccomp && !by_prctl) return restriction::none;
  const auto is_mode = [&](long of_seccomp, long of_prctl) {
    return by_prctl ? words[1] == of_prctl : words[0] == of_seccomp;
  };
  if (is_mode(SECCOMP_SET_MODE_STRICT, SECCOMP_MODE_STRICT)) return restriction::strict;
  if (!is_mode(SECCOMP_SET_MODE_FILTER, SECCOMP_MODE_FILTER) || words[2] == 0) return restriction::none;
  // The handler of SIGSYS asks what it may read and ends with a call; a new thread asks to be dispatched.
  if (!filter_allows(words[2], {{SYS_rt_sigreturn}, {SYS_rt_sigprocmask}, {SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH}}))
    return restriction::all_calls;
  const bool allows_own = filter_allows(words[2], {{SYS_mmap},
                                                   {SYS_munmap},
                                                   {SYS_madvise},
                                                   {SYS_sched_yield},
                                                   {SYS_gettid},
                                                   {SYS_getpid},
                                                   {SYS_getrusage},
                                                   {SYS_openat},
                                                   {SYS_read},
                                                   {SYS_close},
                                                   {SYS_fstat},
                                                   {SYS_fcntl},
                                                   {SYS_readlinkat},
                                                   {SYS_prctl, PR_GET_NAME}});
  return allows_own ? restriction::none : restriction::own_calls;
}

void calls_are_restricted(restriction how) noexcept {
  if (how == restriction::none || !is_attached() || !is_recorded()) return;
  if (how == restriction::strict) end_recording();
  set_memory_aside();
  if (how != restriction::own_calls) {
    header().restricted.store(1, std::memory_order_relaxed);
    tarn_selector = 0;
  }
  restricted.store(true, std::memory_order_relaxed);
}
void calls_are_not_restricted() noexcept {
  if (!is_restricted()) return;
  restricted.store(false, std::memory_order_relaxed);
  tarn_selector = 1;
  header().restricted.store(0, std::memory_order_relaxed);
  resume_recording();
}

}  // namespace tarn::record

using namespace tarn::record;

namespace {

// Both are variadic; the ABI passes words to them in the same way as to functions that are not.
constinit behind_us<int, int, long, long, long, long> behind_prctl("prctl", nullptr);
constinit behind_us<long, long, long, long, long, long, long, long> behind_syscall("syscall", nullptr);
[[gnu::constructor(101)]] void find_both() noexcept {
  behind_prctl.find();
  behind_syscall.find();
}

// Leaves restrictions from before this call in place; a call that fails ends none of them.
template <class Call>
auto restrict_by(restriction how, Call call) noexcept {
  const bool were_restricted = is_restricted();
  calls_are_restricted(how);
  const auto result = call();
  const int before = errno;
  if (result == -1 && !were_restricted) calls_are_not_restricted();
  errno = before;
  return result;
}

[[gnu::noinline]] long restrict_by_syscall(restriction how, long number, const long* words) noexcept {
  return restrict_by(
      how, [&] { return behind_syscall()(number, words[0], words[1], words[2], words[3], words[4], words[5]); });
}

}  // namespace

extern "C" {

TARN_EXPORT int prctl(int option, ...) noexcept {
  va_list all;
  va_start(all, option);
  long words[5] = {option};
  for (int at = 1; at < 5; ++at) words[at] = va_arg(all, long);
  va_end(all);
  const auto call = [&] { return behind_prctl()(option, words[1], words[2], words[3], words[4]); };
  const restriction how = restriction_by(SYS_prctl, words);
  return how != restriction::none ? restrict_by(how, call) : call();
}

// Takes its arguments in the same registers and on the same stack as the variadic function that the program calls.
TARN_EXPORT long tarn_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept __asm__("syscall");
TARN_EXPORT long tarn_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  if (number == SYS_seccomp || number == SYS_prctl) [[unlikely]] {
    const long words[6] = {a, b, c, d, e, f};
    const restriction how = restriction_by(number, words);
    if (how != restriction::none) return restrict_by_syscall(how, number, words);
  }
  return behind_syscall()(number, a, b, c, d, e, f);
}

}  // extern "C"
