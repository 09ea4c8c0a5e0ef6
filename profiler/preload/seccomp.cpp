// Wraps prctl() and syscall(), by which programs and libseccomp restrict the system calls of the process. This file
// is compiled with tail calls: a call given to syscall() may return twice (vfork), and must find no frame of ours on
// the stack.
#include "profiler/preload/seccomp.hpp"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>

#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/base/raw_call.hpp"
#include "profiler/preload/base/recorder_clock.hpp"
#include "profiler/preload/base/seccomp_filter.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/lent_thread.hpp"
#include "profiler/preload/next_library_function.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/threads.hpp"
#include "profiler/preload/windows.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

extern "C" {
// The kernel reads this before each system call: 1 means that the call is dispatched to the recorder (exempt.S).
__attribute__((visibility("hidden"))) constinit unsigned char tarn_selector = 1;
}

namespace tarn::preload {

restriction restriction_by(long number, const long* arguments) noexcept {
  const bool uses_prctl = number == SYS_prctl && arguments[0] == PR_SET_SECCOMP;
  if (number != SYS_seccomp && !uses_prctl) return restriction::unrestricted;
  const auto is_mode = [&](long seccomp_mode, long prctl_mode) {
    return uses_prctl ? arguments[1] == prctl_mode : arguments[0] == seccomp_mode;
  };
  if (is_mode(SECCOMP_SET_MODE_STRICT, SECCOMP_MODE_STRICT)) return restriction::strict;
  if (!is_mode(SECCOMP_SET_MODE_FILTER, SECCOMP_MODE_FILTER) || arguments[2] == 0) return restriction::unrestricted;
  ask_for_no_thread();
  // The handler of SIGSYS makes a call to find readable memory, and one to return; a new thread turns its dispatch on.
  constexpr std::array<format::tested_call, 3> calls_of_dispatch = {
      {{SYS_rt_sigreturn}, {SYS_rt_sigprocmask}, {SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH}}};
  if (!filter_allows(arguments[2], calls_of_dispatch)) return restriction::all_calls;
  return filter_allows(arguments[2], format::recorder_calls) ? restriction::unrestricted : restriction::own_calls;
}

void calls_are_restricted(restriction restriction) noexcept {
  if (restriction == restriction::unrestricted || !is_attached() || !is_recorded()) return;
  if (is_lent()) return restrict_child();
  if (restriction == restriction::strict) stopped_at.store(clock_ticks(), std::memory_order_relaxed);
  set_memory_aside();
  set_region_aside();
  if (restriction != restriction::own_calls) {
    header().restricted.store(1, std::memory_order_relaxed);
    tarn_selector = 0;
  }
  process_is_restricted.store(true, std::memory_order_relaxed);
  if (restriction == restriction::own_calls) keep_window_open();
}
void calls_are_not_restricted() noexcept {
  if (is_lent()) return unrestrict_child();
  if (!is_restricted()) return;
  process_is_restricted.store(false, std::memory_order_relaxed);
  tarn_selector = 1;
  header().restricted.store(0, std::memory_order_relaxed);
  stopped_at.store(0, std::memory_order_relaxed);
}

}  // namespace tarn::preload

using namespace tarn::preload;

namespace {

// Both are variadic; the ABI passes words to them in the same way as to functions that are not.
constinit next_library_function<int, int, long, long, long, long> next_prctl("prctl", nullptr);
constinit next_library_function<long, long, long, long, long, long, long, long> next_syscall("syscall", nullptr);
[[gnu::constructor(101)]] void find_both() noexcept {
  next_prctl.find();
  next_syscall.find();
}

// Leaves restrictions from before this call in place; a call that fails ends none of them.
template <class Call>
auto restrict_by(restriction restriction, Call call) noexcept {
  const bool were_restricted = is_restricted();
  calls_are_restricted(restriction);
  const auto result = call();
  const int before = errno;
  if (result == -1 && !were_restricted) calls_are_not_restricted();
  errno = before;
  return result;
}

[[gnu::noinline]] long dispatch_syscall(long number, const long* arguments) noexcept {
  const dispatched_calls dispatched;
  return next_syscall()(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

[[gnu::noinline]] long restrict_by_syscall(restriction restriction, long number, const long* arguments) noexcept {
  return restrict_by(restriction, [&] {
    return next_syscall()(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
  });
}

}  // namespace

extern "C" {

TARN_EXPORT int prctl(int option, ...) noexcept {
  va_list list;
  va_start(list, option);
  long arguments[5] = {option};
  for (int index = 1; index < 5; ++index) arguments[index] = va_arg(list, long);
  va_end(list);
  const auto call = [&] { return next_prctl()(option, arguments[1], arguments[2], arguments[3], arguments[4]); };
  take_step();
  if (option == PR_SET_NAME) note_thread_name();
  if (option == PR_SET_SYSCALL_USER_DISPATCH) [[unlikely]] {
    const dispatched_calls dispatched;
    return call();
  }
  const restriction restriction = restriction_by(SYS_prctl, arguments);
  return restriction != restriction::unrestricted ? restrict_by(restriction, call) : call();
}

// Takes its arguments in the same registers and on the same stack as the variadic function that the program calls.
TARN_EXPORT long tarn_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept __asm__("syscall");
TARN_EXPORT long tarn_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  take_step();
  if (number == SYS_seccomp || number == SYS_prctl || number == SYS_rt_sigaction || number == SYS_sigaltstack)
      [[unlikely]] {
    const long arguments[6] = {a, b, c, d, e, f};
    if (number == SYS_prctl && a == PR_SET_NAME) note_thread_name();
    if (number != SYS_seccomp && (number != SYS_prctl || a == PR_SET_SYSCALL_USER_DISPATCH)) {
      return dispatch_syscall(number, arguments);
    }
    const restriction restriction = restriction_by(number, arguments);
    if (restriction != restriction::unrestricted) return restrict_by_syscall(restriction, number, arguments);
  }
  return next_syscall()(number, a, b, c, d, e, f);
}

}  // extern "C"
