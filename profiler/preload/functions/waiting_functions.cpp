// Wraps the functions of the C library that wait in one system call, so that no long wait is missed (long_calls.hpp).
// hooked_functions.S has hooks for the others, which cost less.
#include <sys/syscall.h>

#include <utility>

#include "profiler/preload/base/recorder_clock.hpp"
#include "profiler/preload/count_calls.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/lent_thread.hpp"
#include "profiler/preload/next_library_function.hpp"
#include "profiler/preload/records/call_facts.hpp"
#include "profiler/preload/records/long_calls.hpp"
#include "profiler/preload/records/open_use.hpp"
#include "profiler/preload/windows.hpp"

#define TARN_EXPORT __attribute__((visibility("default"), noinline))

namespace tarn::preload {

constinit thread_local awaited_call own_awaited_call = {};

namespace {

// Each function takes at most six words, which the ABI passes in the same way as the arguments that it declares.
struct call_arguments {
  long word[6];
};
using waiting_function = next_library_function<long, long, long, long, long, long, long>;

// Without sampling each call is dispatched.
bool times_calls() noexcept {
  return records(format::call_kind) && header().interval != 0 &&
         header().restricted.load(std::memory_order_relaxed) == 0;
}

// Keeps the key of the last calls of this thread, so that most calls need no walk of the stack to say where they are.
struct awaited_site {
  std::uintptr_t address, stack;
  std::uint32_t number;
  std::uint64_t key;
};
constexpr std::size_t site_bits = 3;
constinit thread_local awaited_site known_sites[std::size_t{1} << site_bits] = {};

[[gnu::noinline]] void find_site(awaited_site& target_site, std::uint32_t number, const caller& caller) noexcept {
  if (is_lent()) return;
  entry guard;
  if (!guard || guard.self().shared_lock() != nullptr) return;
  target_site = {caller.address, caller.stack, number, format::cell_key(site_from(guard.self(), caller), number)};
}

// Notes that the thread is about to wait. Returns null where that cannot be noted.
format::open_use* begin_wait(std::uint32_t number, const caller& caller, std::uint64_t now) noexcept {
  const std::uintptr_t mixed = (caller.address ^ caller.stack ^ number) * 0x9e3779b97f4a7c15ULL;
  awaited_site& site = known_sites[mixed >> (64 - site_bits)];
  if (site.address != caller.address || site.stack != caller.stack || site.number != number) [[unlikely]] {
    site = {};
    find_site(site, number, caller);
  }
  thread* const self = thread::current_if_known();
  if (site.key == 0 || self == nullptr || self->shared_lock() != nullptr) return nullptr;
  open(self->counts().call, site.key, now);
  return &self->counts().call;
}

[[gnu::noinline]] void note_long_call(std::uint32_t number, const caller& caller, const call_arguments& arguments,
                                      long result, std::uint64_t ticks) noexcept {
  if (!times_calls() || !is_own_process()) return;
  const work_timer timer(format::window_ticks);
  entry guard;
  if (!guard) return;
  count_long_call(guard.self(), caller, number, arguments.word, result, ticks);
}

// This is not noexcept: a thread that waits may be cancelled, which unwinds through this and its caller.
[[gnu::always_inline]] inline long await(long (*function)(long, long, long, long, long, long), std::uint32_t number,
                                         const caller& caller, const call_arguments& arguments) {
  const long(&word)[6] = arguments.word;
  take_step();
  if (!times_calls()) return function(word[0], word[1], word[2], word[3], word[4], word[5]);
  const awaited_call before = std::exchange(own_awaited_call, awaited_call{.number = number});
  const std::uint64_t begun = clock_ticks();
  format::open_use* const open_call = begin_wait(number, caller, begun);
  const long result = function(word[0], word[1], word[2], word[3], word[4], word[5]);
  const std::uint64_t ticks = clock_ticks() - begun;
  if (open_call != nullptr) close(*open_call);
  const bool is_counted = own_awaited_call.is_in_window;
  own_awaited_call = before;
  if (ticks >= long_ticks && !is_counted) [[unlikely]]
    note_long_call(number, caller, arguments, result, ticks);
  return result;
}

}  // namespace

long await_futex(futex_function function, const caller& caller, const long (&arguments)[3]) {
  return await(reinterpret_cast<waiting_function::function>(reinterpret_cast<void*>(function)), SYS_futex, caller,
               {{arguments[0], arguments[1], arguments[2], 0, 0, 0}});
}

void begin_waits_anew() noexcept {
  for (awaited_site& site : known_sites) site = {};
}

}  // namespace tarn::preload

using namespace tarn::preload;

// Defines the wrapper of a function that waits in the system call of that number.
#define TARN_WAIT(name, number)                                                                           \
  static constinit waiting_function next_##name(#name, nullptr);                                          \
  [[gnu::constructor(101)]] static void find_##name() noexcept { next_##name.find(); }                    \
  extern "C" TARN_EXPORT long tarn_##name(long a, long b, long c, long d, long e, long f) __asm__(#name); \
  extern "C" TARN_EXPORT long tarn_##name(long a, long b, long c, long d, long e, long f) {               \
    return await(next_##name(), number, TARN_CALLER(), {{a, b, c, d, e, f}});                             \
  }

TARN_WAIT(nanosleep, SYS_clock_nanosleep)
TARN_WAIT(clock_nanosleep, SYS_clock_nanosleep)
TARN_WAIT(usleep, SYS_clock_nanosleep)
TARN_WAIT(sleep, SYS_clock_nanosleep)
TARN_WAIT(poll, SYS_poll)
TARN_WAIT(__poll_chk, SYS_poll)
TARN_WAIT(ppoll, SYS_ppoll)
TARN_WAIT(__ppoll_chk, SYS_ppoll)
TARN_WAIT(select, SYS_pselect6)
TARN_WAIT(pselect, SYS_pselect6)
TARN_WAIT(epoll_wait, SYS_epoll_wait)
TARN_WAIT(epoll_pwait, SYS_epoll_pwait)
TARN_WAIT(accept, SYS_accept)
TARN_WAIT(accept4, SYS_accept4)
TARN_WAIT(connect, SYS_connect)
TARN_WAIT(recv, SYS_recvfrom)
TARN_WAIT(recvfrom, SYS_recvfrom)
TARN_WAIT(recvmsg, SYS_recvmsg)
TARN_WAIT(fsync, SYS_fsync)
TARN_WAIT(fdatasync, SYS_fdatasync)
TARN_WAIT(flock, SYS_flock)
TARN_WAIT(pthread_join, SYS_futex)
TARN_WAIT(pthread_barrier_wait, SYS_futex)
TARN_WAIT(wait, SYS_wait4)
TARN_WAIT(waitpid, SYS_wait4)
TARN_WAIT(wait3, SYS_wait4)
TARN_WAIT(wait4, SYS_wait4)
TARN_WAIT(waitid, SYS_waitid)
TARN_WAIT(pause, SYS_pause)
TARN_WAIT(sigsuspend, SYS_rt_sigsuspend)
TARN_WAIT(sigwait, SYS_rt_sigtimedwait)
TARN_WAIT(sigwaitinfo, SYS_rt_sigtimedwait)
TARN_WAIT(sigtimedwait, SYS_rt_sigtimedwait)
