#include "platform/call_watch.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "platform/sanitizer.hpp"

namespace tarn::platform {
namespace {

struct named_call {
  long number;
  const char* name;
};
constexpr named_call named_calls[] = {
#include <call_names.inc>  // made by CMake
};

}  // namespace

const char* call_name(long number) noexcept {
  for (const named_call& call : named_calls) {
    if (call.number == number) return call.name;
  }
  return nullptr;
}

#if defined(__x86_64__) && !TARN_HAS_SANITIZER

// It works as follows. Before each system call the kernel reads a byte of the thread, `gate`. While the gate is shut,
// the kernel sends SIGSYS instead of making the call, unless the call comes from the few instructions below.
//
//   1. The program makes a call while the gate is shut. The kernel sends SIGSYS, and `handle` runs.
//   2. `handle` opens the gate, tells the listener, makes the call with the arguments that it finds in the
//      registers, and puts the result where the caller will look for it.
//   3. It shuts the gate and returns by `tarn_call_watch_return`, whose rt_sigreturn the kernel lets through.
//
// The bytes of that return equal the C library's, because unwinders recognise a signal frame by them. So it has no
// unwind information.
extern "C" {
extern const char tarn_call_watch_first[], tarn_call_watch_last[];
void tarn_call_watch_return();
[[noreturn]] void tarn_call_watch_return_from(void* frame);
}
asm(R"(
  .pushsection .text.tarn_call_watch, "ax", @progbits
  .p2align 4
  .hidden tarn_call_watch_first, tarn_call_watch_last, tarn_call_watch_return, tarn_call_watch_return_from
  .globl tarn_call_watch_first, tarn_call_watch_last, tarn_call_watch_return, tarn_call_watch_return_from
tarn_call_watch_first:
  nop
tarn_call_watch_return:
  mov $15, %rax
  syscall
  ud2
tarn_call_watch_return_from:
  mov %rdi, %rsp
  mov $15, %rax
  syscall
  ud2
tarn_call_watch_last:
  .popsection
)");

namespace {

enum : char { is_open = 0, is_shut = 1 };  // the kernel's values

// volatile, because the kernel and a signal handler access it. It is never read for a thread that never watches.
constinit thread_local volatile char gate = is_open;
constinit thread_local call_listener listener = nullptr;

// The kernel's structures; the C library's differ.
using kernel_mask = std::uint64_t;
struct kernel_action {
  void (*function)(int, siginfo_t*, void*);
  unsigned long flags;
  void (*restorer)();
  kernel_mask mask;
};
constexpr unsigned long has_restorer = 0x04000000;
constexpr kernel_mask bit(int signal) noexcept { return kernel_mask{1} << (signal - 1); }

// The kernel ends a process that makes a call while its gate is shut and SIGSYS is blocked. A signal handler may block
// SIGSYS while it runs, and its return is a system call. So signals wait until the thread is no longer watched, or
// makes a call; that call is made with the program's own mask. Signals that an instruction causes cannot wait.
constexpr kernel_mask all_signals = ~kernel_mask{0};
constexpr kernel_mask watched_mask =
    all_signals & ~(bit(SIGSYS) | bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP));
constinit thread_local kernel_mask mask = 0;  // the program's own, while the thread is watched
constinit thread_local bool is_left = false;  // set by a call that returned twice

// The action for SIGSYS that the program had before.
using handler = void (*)(int, siginfo_t*, void*);
constinit std::atomic<handler> before = nullptr;

// Makes a system call without the C library, whose functions may be the watched ones.
long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}

template <class Pointer>
long word(Pointer* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}

void pass_on(int signal, siginfo_t* info, void* context) noexcept {
  const handler previous = before.load(std::memory_order_relaxed);
  constexpr std::uintptr_t by_default = 0, ignored = 1;  // SIG_DFL, SIG_IGN
  if (reinterpret_cast<std::uintptr_t>(previous) > ignored) {
    previous(signal, info, context);
  } else if (reinterpret_cast<std::uintptr_t>(previous) == by_default) {
    const kernel_action no_action{};
    call(SYS_rt_sigaction, SIGSYS, word(&no_action), 0, sizeof(kernel_mask));
    call(SYS_tgkill, call(SYS_getpid), call(SYS_gettid), SIGSYS);  // pending until this handler returns
  }
}

void handle(int signal, siginfo_t* info, void* context) noexcept {
  auto* const machine = static_cast<ucontext_t*>(context);
  greg_t* const registers = machine->uc_mcontext.gregs;
  constexpr int of_dispatch = 2;  // SYS_USER_DISPATCH, which the C library's header lacks
  if (info->si_code != of_dispatch) return pass_on(signal, info, context);
  const long number = registers[REG_RAX];
  // The handler of another signal returns. That is no call of the program, so it is not reported: the return leaves the
  // frame of that handler, and this one with it.
  if (number == SYS_rt_sigreturn) tarn_call_watch_return_from(reinterpret_cast<void*>(registers[REG_RSP]));

  gate = is_open;
  const int saved_errno = errno;
  listener(number, registers[REG_RDI], registers[REG_RSI], reinterpret_cast<const void*>(registers[REG_RIP]));
  errno = saved_errno;
  switch (number) {
    // These return twice, or on another stack. The program makes them itself, and is not watched from then on.
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork: {
      constexpr long bytes = 2;  // the length of the instruction
      registers[REG_RIP] -= bytes;
      std::memcpy(&machine->uc_sigmask, &mask, sizeof mask);  // the program's mask, which the child gets, too
      is_left = true;
      return;
    }
    case SYS_sigaltstack:  // the return would restore it
      registers[REG_RAX] = call(number, registers[REG_RDI], registers[REG_RSI]);
      call(number, 0, word(&machine->uc_stack));
      break;
    default:
      call(SYS_rt_sigprocmask, SIG_SETMASK, word(&mask), 0, sizeof mask);
      registers[REG_RAX] = call(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10],
                                registers[REG_R8], registers[REG_R9]);
      call(SYS_rt_sigprocmask, SIG_SETMASK, word(&all_signals), word(&mask), sizeof mask);
  }
  gate = is_shut;
}

// Installs the handler of SIGSYS at each call, because the program may have replaced it.
bool take_signal() noexcept {
  const kernel_action ours{handle, SA_SIGINFO | has_restorer, tarn_call_watch_return, all_signals};
  kernel_action previous{};
  if (call(SYS_rt_sigaction, SIGSYS, word(&ours), word(&previous), sizeof(kernel_mask)) != 0) return false;
  if (previous.function != handle) before.store(previous.function, std::memory_order_relaxed);
  return true;
}

long dispatch(bool is_on) noexcept {
  const long start = word(tarn_call_watch_first), end = word(tarn_call_watch_last);
  return is_on ? call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, start, end - start,
                      reinterpret_cast<long>(&gate))
               : call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF);
}

}  // namespace

bool watch_calls(call_listener new_listener) noexcept {
  gate = is_open;
  if (!take_signal() || dispatch(true) != 0) return false;
  listener = new_listener;
  is_left = false;
  call(SYS_rt_sigprocmask, SIG_SETMASK, word(&watched_mask), word(&mask), sizeof mask);
  gate = is_shut;
  return true;
}

void unwatch_calls() noexcept {
  gate = is_open;
  dispatch(false);
  if (!is_left) call(SYS_rt_sigprocmask, SIG_SETMASK, word(&mask), 0, sizeof mask);
}

unwatched::unwatched() noexcept : before_(gate) { gate = is_open; }
unwatched::~unwatched() { gate = before_; }

#else

bool watch_calls(call_listener) noexcept { return false; }
void unwatch_calls() noexcept {}
unwatched::unwatched() noexcept : before_(0) {}
unwatched::~unwatched() = default;

#endif

}  // namespace tarn::platform
